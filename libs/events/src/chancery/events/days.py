"""Days of the calendar as texts, YYYY-MM-DD, which sort as the days do."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final

from pydantic import AfterValidator, Field

DATE_PATTERN: Final = r"^\d{4}-\d{2}-\d{2}$"
"""The form in contracts, where `\\d` is 0-9; the validator here takes other digits for it too."""


def on_the_calendar(day: str) -> str:
    """Return a text of this form that is a day.

    Raises:
        ValueError: there is no such day, or its digits are not 0-9.
    """
    try:
        is_day = day.isascii() and date.fromisoformat(day).isoformat() == day
    except ValueError:
        is_day = False
    if not is_day:
        message = "must be a day of the calendar, as YYYY-MM-DD"
        raise ValueError(message)
    return day


def known_day(stated: str | None) -> str | None:
    """Return what a source's date says, None when it is no day: the log has some from before."""
    if stated is None:
        return None
    try:
        return on_the_calendar(stated)
    except ValueError:
        return None


Day = Annotated[str, Field(pattern=DATE_PATTERN), AfterValidator(on_the_calendar)]
"""A day of the calendar, YYYY-MM-DD."""
