"""What can go wrong in indexing, beyond the kinds of the kernel."""

from __future__ import annotations

import math

from chancery.kernel.errors import Conflict, Corrupt, Rejected


class LogMoved(Conflict):
    """Another worker appended to this resource's subject first; `last` is where it stands now."""

    code = "index_log_moved"


class LeaseLost(Conflict):
    """Another process has taken up the work, or may do so by now."""

    code = "lease_lost"


class UnreadableHistory(Corrupt):
    """An event of the resource cannot be read by this build, so nothing is concluded from it."""

    code = "unreadable_history"


class NeverDeclared(Corrupt):
    """A revision was published for a resource that the log does not declare."""

    code = "never_declared"


class MeasureColumnMissing(Rejected):
    """A declared measure names a column that the snapshot does not have, or that does not fit."""

    code = "measure_column_missing"


class PolicyColumnMissing(Rejected):
    """The dataset's policy hides or filters a column that the snapshot does not have."""

    code = "policy_column_missing"


class RefreshedRecently(Rejected):
    """The same was asked for less than a minute ago; it is done already, or being done."""

    code = "refreshed_recently"

    def __init__(self, *, wait_s: float) -> None:
        """Say when to come back."""
        super().__init__(f"this was refreshed just now; ask again in {math.ceil(wait_s)} s")
