"""Time as text: RFC 3339 in UTC, and its inverse."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.clock import FixedClock, SystemClock, from_text, to_text


@given(st.datetimes(timezones=st.just(UTC)))
def test_reading_is_the_inverse_of_writing(moment: datetime) -> None:
    assert from_text(to_text(moment)) == moment


def test_another_zone_is_written_in_utc() -> None:
    moment = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))

    assert to_text(moment) == "2025-12-31T23:00:00.000000Z"


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00", "yesterday", ""])
def test_text_without_zone_or_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        from_text(text)


def test_clocks_tell_aware_time() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)

    assert FixedClock(moment).now() == moment
    assert SystemClock().now().tzinfo is UTC
