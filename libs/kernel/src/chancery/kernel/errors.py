"""The four kinds of failure; the class of an error says what happens next.

Tree::

    ChanceryError
    ├── Rejected        the input or state forbids it: never retry
    │   ├── NotFound    it does not exist, or the caller may not know that it does
    │   ├── Denied      the credential is missing, expired, revoked or forged
    │   └── TooLarge    a size bound was exceeded
    ├── Conflict        another writer won: reload, then decide again
    ├── Unavailable     a dependency is away: retry later
    └── Corrupt         stored bytes do not verify: stop and tell an operator
"""

from __future__ import annotations


class ChanceryError(Exception):
    """Something known went wrong; `code` is stable, `detail` is safe to show to the caller.

    `detail` never holds content, a title, a secret or text of another library. `field` names the
    input that has to change (dotted path), when one does.
    """

    code: str = "error"

    def __init__(self, detail: str, *, field: str | None = None, code: str | None = None) -> None:
        """Keep the facts as attributes; `code` overrides the one of the class."""
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.code = code if code is not None else type(self).code


class Rejected(ChanceryError):
    """The request breaks a rule; repeating it changes nothing."""

    code = "rejected"


class NotFound(Rejected):
    """The thing does not exist, or the caller may not learn whether it does."""

    code = "not_found"


class Denied(Rejected):
    """The credential does not authenticate the caller."""

    code = "unauthenticated"


class TooLarge(Rejected):
    """The input exceeds a size bound."""

    code = "too_large"


class Conflict(ChanceryError):
    """Another writer or an earlier request won; the state moved or the key was used before."""

    code = "conflict"


class Unavailable(ChanceryError):
    """A dependency did not answer in time; nothing was decided."""

    code = "unavailable"


class Corrupt(ChanceryError):
    """Stored bytes, an event or a proof do not verify."""

    code = "corrupt"
