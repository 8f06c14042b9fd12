"""What can go wrong while evidence is selected."""

from __future__ import annotations

from chancery.kernel.errors import Corrupt, TooLarge, Unavailable


class NotAdmitted(Unavailable):
    """The run's admission cannot be read yet; without it nothing may be selected."""

    code = "not_admitted"


class UnreadableMaterial(Corrupt):
    """A blob of the run has its hash but not its form."""

    code = "unreadable_material"


class TooManyQueries(Unavailable):
    """One principal has more statements here than may run or wait at a time."""

    code = "sql_too_many_queries"

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__("too many of your statements run or wait; try again when some have ended")


class Busy(Unavailable):
    """The statements of others kept this one waiting for too long."""

    code = "sql_busy"

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__("all query workers are busy; try again")


class InputTooLarge(TooLarge):
    """The snapshots of one statement hold more bytes than a query may load."""

    code = "sql_input_too_large"


class Abandoned(Unavailable):
    """The caller has gone; nobody reads this."""

    code = "sql_abandoned"

    def __init__(self) -> None:
        """Say what happened, for the log."""
        super().__init__("the caller has gone, so the statement was ended")
