"""What the reply subject of a delivery says, in both of the server's forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.bus.pull import Position, parse_position
from chancery.bus.reader import moment_of

numbers = st.integers(min_value=0, max_value=2**63)
positions = st.builds(Position, numbers, numbers, numbers, numbers, numbers)


@given(positions, st.booleans())
def test_a_position_is_read_from_either_form(position: Position, long: bool) -> None:
    head = "$JS.ACK.hub.AbCdEf12" if long else "$JS.ACK"
    tail = ".token" if long else ""
    counts = (
        f"{position.delivered}.{position.stream_sequence}.{position.consumer_sequence}"
        f".{position.timestamp_ns}.{position.pending}"
    )

    assert parse_position(f"{head}.RUNS.c.{counts}{tail}") == position


@pytest.mark.parametrize(
    "reply", ["", "_INBOX.a.b", "$JS.ACK.RUNS.c.1.2.3", "$JS.FC.a.b.1.2.3.4.5"]
)
def test_another_subject_is_no_position(reply: str) -> None:
    with pytest.raises(ValueError, match=r"malformed|invalid literal"):
        parse_position(reply)


def test_the_time_of_a_message_is_exact_to_the_microsecond() -> None:
    position = Position(1, 1, 1, 1_767_225_600_123_456_789, 0)

    assert moment_of(position).isoformat() == "2026-01-01T00:00:00.123456+00:00"
