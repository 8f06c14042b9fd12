"""What can go wrong in retrieval, beyond the kinds of the kernel."""

from __future__ import annotations

from chancery.kernel.errors import Rejected, Unavailable


class IndexBroken(Unavailable):
    """A tenant's search index cannot be read; it is dropped and built again from the log."""

    code = "index_broken"

    def __init__(self, tenant: str) -> None:
        """Keep whose index it is."""
        super().__init__("the search index is being built again")
        self.tenant = tenant


class TooManyWords(Rejected):
    """The query has more distinct words than are searched; none of them is passed over."""

    code = "too_many_words"

    def __init__(self, words_max: int) -> None:
        """Say how many there may be."""
        message = (
            f"the query has more than {words_max} distinct words, not counting words such as"
            " `the`; send fewer"
        )
        super().__init__(message, field="query")


class IndexInUse(Unavailable):
    """Another process writes to this index folder; each retrieval needs a folder of its own."""

    code = "index_in_use"
