"""What can go wrong in retrieval, beyond the kinds of the kernel."""

from __future__ import annotations

from chancery.kernel.errors import Unavailable


class IndexBroken(Unavailable):
    """A tenant's search index cannot be read; it is dropped and built again from the log."""

    code = "index_broken"

    def __init__(self, tenant: str) -> None:
        """Keep whose index it is."""
        super().__init__("the search index is being built again")
        self.tenant = tenant


class IndexInUse(Unavailable):
    """Another process writes to this index folder; each retrieval needs a folder of its own."""

    code = "index_in_use"
