"""What the folds share: refusing events that contradict an aggregate."""

from __future__ import annotations

from typing import TypeVar

from chancery.authority.errors import BrokenRule
from chancery.events.envelope import EventData

_T = TypeVar("_T")


def require(rule: str, *, holds: bool) -> None:
    """Refuse the event unless the rule holds.

    Raises:
        BrokenRule: naming the rule.
    """
    if not holds:
        raise BrokenRule(f"the event breaks the rule: {rule}")


def existing(state: _T | None) -> _T:
    """Return the state that an event needs to be there.

    Raises:
        BrokenRule: when the aggregate has no event yet.
    """
    if state is None:
        message = "the event breaks the rule: the aggregate was created before"
        raise BrokenRule(message)
    return state


def foreign(data: EventData) -> BrokenRule:
    """Return the refusal of an event that does not belong to the aggregate."""
    message = f"the event {type(data).TYPE} does not belong to this aggregate"
    return BrokenRule(message, field="type")
