"""The failures of the release service.

Tree::

    Rejected
    ├── UnstorableText     the request holds text that the database does not take
    ├── PolicyNotCurrent   the request pins a policy revision that does not hold
    ├── RunVoid            the event belongs to no run, or repeats it wrongly
    └── InvalidSelection   what a selector proposed does not stand up to release's own records
        └── OtherBuild     another build made it, and this one cannot answer for it
    Conflict
    ├── RunStillOpen       a run is retried only after it has ended
    ├── KeyReused          the idempotency key named another request before
    ├── OtherQuestion      the request pair began a run with another content
    └── AlreadySealed      another release of the generation was first
    Unavailable
    ├── BehindLog          the projection has not passed a position in time
    ├── LogRegressed       the log ends before what was read of it: another store was restored
    ├── LogUnchecked       the bus was away, and its log was not compared since
    ├── NotChecked         an examination could not look at a result here and now
    └── NotTheWriter       the checkpoint was moved by another process
    Corrupt
    ├── DigestDiffers      a rebuilt projection was not built from the same messages
    ├── ForeignLog         the stream is not the one that the projection was built from
    ├── ResultFault        a sealed result is not what its snapshot gives
    └── SealedRowDamaged   a sealed row does not verify
"""

from __future__ import annotations

from chancery.kernel.errors import Conflict, Corrupt, Rejected, Unavailable


class KeyReused(Conflict):
    """The Idempotency-Key was used before with another body."""

    code = "idempotency_key_reused"


class OtherQuestion(Conflict):
    """The pair of source and revision began a run with another question or other bounds."""

    code = "other_question"


class RunStillOpen(Conflict):
    """The run has not ended; a retry is a generation after that."""

    code = "run_open"


class AlreadySealed(Conflict):
    """Another release of the same generation of the run was committed first."""

    code = "already_sealed"


class UnstorableText(Rejected):
    """The request holds text that the database does not take."""

    code = "unreadable_text"


class PolicyNotCurrent(Rejected):
    """The request pins a policy revision or mode that the workspace's policy does not have now."""

    code = "policy_not_current"


class InvalidSelection(Rejected):
    """A proposed fact is not exactly what release's own records hold; the whole is refused."""

    code = "invalid_selection"


class OtherBuild(InvalidSelection):
    """A value comes from a build of another version, which says nothing against the evidence."""

    code = "other_build"


class RunVoid(Rejected):
    """The event belongs to no run, or to a lease that is not the run's current one."""

    code = "run_void"


class BehindLog(Unavailable):
    """The projection has not passed a position of the log in time; nothing was decided."""

    code = "projection_behind"


class LogRegressed(Unavailable):
    """The log ends before what this process has read of it; nothing that it says may be told."""

    code = "log_regressed"


class LogUnchecked(Unavailable):
    """The bus was away; whether it came back with the same log is not known yet."""

    code = "log_unchecked"


class NotChecked(Unavailable):
    """A result could not be run again here and now; `code` is why. It is no pass."""

    code = "not_checked"


class NotTheWriter(Unavailable):
    """Another process moved the checkpoint; this one stops writing the projection."""

    code = "projection_taken"


class DigestDiffers(Corrupt):
    """A rebuilt projection was not built from the same messages as the live one."""

    code = "digest_differs"


class ForeignLog(Corrupt):
    """The stream is not the one that the projection was built from."""

    code = "log_different"


class ResultFault(Corrupt):
    """A sealed result does not verify; `code` is the finding, `where` says what of it."""

    code = "result_differs"

    def __init__(self, code: str, **where: str) -> None:
        """Keep what an examination tells."""
        super().__init__("a sealed result does not verify", code=code)
        self.where = where


class SealedRowDamaged(Corrupt):
    """A sealed row does not verify against its receipt."""

    code = "sealed_row_damaged"
