"""Dates and times are shown as the calendar of the standard library shows them."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.extract.number_formats import number_format

_SECONDS = st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(9999, 12, 31)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=0)
)


@pytest.mark.parametrize(
    ("code", "same"),
    [
        ("yyyy-mm-dd hh:mm:ss", "%Y-%m-%d %H:%M:%S"),
        ("dddd, mmmm dd, yyyy", "%A, %B %d, %Y"),
        ("ddd dd mmm yy", "%a %d %b %y"),
        ("hh:mm AM/PM", "%I:%M %p"),
        ("dd/mm/yyyy", "%d/%m/%Y"),
        ("mm:ss", "%M:%S"),
    ],
)
@given(moment=_SECONDS)
def test_a_date_is_shown_as_by_strftime(moment: dt.datetime, code: str, same: str) -> None:
    assert number_format(code).shown(moment) == moment.strftime(same)


@given(moment=_SECONDS)
def test_a_date_that_is_shown_in_full_reads_back(moment: dt.datetime) -> None:
    shown = number_format('yyyy-mm-dd"T"hh:mm:ss').shown(moment)

    assert shown is not None
    assert dt.datetime.fromisoformat(shown) == moment


@given(seconds=st.integers(0, 10**9))
def test_elapsed_times_add_up(seconds: int) -> None:
    passed = dt.timedelta(seconds=seconds)

    hours, minutes, rest = (number_format("[h]:mm:ss").shown(passed) or "").split(":")

    assert int(hours) * 3600 + int(minutes) * 60 + int(rest) == seconds
    assert number_format("[m]").shown(passed) == str(seconds // 60)
    assert number_format("[s]").shown(passed) == str(seconds)


@given(moment=st.times())
def test_a_time_is_rounded_within_its_minute_or_left(moment: dt.time) -> None:
    shown = number_format("h:mm:ss").shown(moment)
    nearest = moment.second + (moment.microsecond >= 500_000)

    if nearest == 60:
        assert shown is None
    else:
        assert shown == f"{moment.hour}:{moment.minute:02d}:{nearest:02d}"
