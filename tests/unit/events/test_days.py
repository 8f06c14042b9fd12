"""A date is a day of the calendar in digits 0-9; what the log has besides counts as none."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from chancery.events.authority import AuthoritySet
from chancery.events.commands import DeclareSource
from chancery.events.days import Day, known_day

DAY: TypeAdapter[str] = TypeAdapter(Day)
NONE = (
    "\N{FULLWIDTH DIGIT TWO}024-01-01",
    "202\N{ARABIC-INDIC DIGIT FOUR}-01-01",
    "2024-02-31",
    "2023-02-29",
    "0000-00-00",
    "0000-01-01",
    "2024-13-01",
    "9999-99-99",
)


@pytest.mark.req("CR-11")
@pytest.mark.parametrize("day", NONE)
def test_what_is_no_day_is_refused_and_counts_as_none_where_it_stands(day: str) -> None:
    with pytest.raises(ValidationError):
        DAY.validate_python(day)
    with pytest.raises(ValidationError):
        DeclareSource(workspace_id="w", source_id="s", title="T", date=day)
    assert known_day(day) is None
    # The log may hold it: reading must not fail.
    assert AuthoritySet(authority="normative", date=day).date == day


@pytest.mark.parametrize("day", ["2024-02-29", "0001-01-01", "9999-12-31"])
def test_a_day_is_taken_as_it_is(day: str) -> None:
    assert DAY.validate_python(day) == day
    assert known_day(day) == day


@pytest.mark.parametrize("form", ["20240229", "2024-W09-4", "2024-2-29", "2024-02-29\n", ""])
def test_another_form_is_no_day(form: str) -> None:
    with pytest.raises(ValidationError):
        DAY.validate_python(form)
    assert known_day(form) is None


def test_no_date_is_none() -> None:
    assert known_day(None) is None
