"""The failures that decisions and folds end in.

Tree::

    Rejected
    ├── NotPermitted   a member without the right; told without a name
    └── ScopeTooWide   a decision would rest on more than 900 aggregates
    Conflict
    ├── SnapshotMoved  another snapshot was published after the one that was to be continued
    └── Withdrawn      a publication would let something withdrawn serve again, unasked
    Corrupt
    └── BrokenRule     an event on the log contradicts its aggregate
"""

from __future__ import annotations

from chancery.kernel.errors import Conflict, Corrupt, Rejected


class NotPermitted(Rejected):
    """The caller sees the thing but lacks the right to change it."""

    code = "not_permitted"


class ScopeTooWide(Rejected):
    """The decision would rest on more aggregates than one cut can name."""

    code = "scope_too_wide"


class SnapshotMoved(Conflict):
    """What was to be continued is not the newest snapshot any more: read it again."""

    code = "snapshot_moved"


class Withdrawn(Conflict):
    """A publication alone does not undo a withdrawal: that has to be asked for by name."""

    code = "withdrawn"

    def __init__(self, kind: str) -> None:
        """Name the fix, as HTTP, the bus and the command line spell it."""
        message = (
            f"the {kind} is withdrawn; to let it serve again, publish with restore=true"
            " (on the command line --restore)"
        )
        super().__init__(message, field="restore")


class BrokenRule(Corrupt):
    """An event breaks a rule inside its aggregate; the aggregate is frozen until it is repaired."""

    code = "broken_rule"
