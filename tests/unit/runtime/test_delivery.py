"""The ack policy as a function: what follows from how a handler ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.codec import UndecodableEvent
from chancery.kernel.errors import Conflict, Corrupt, NotFound, Rejected, Unavailable
from chancery.runtime.delivery import (
    DELAY_S_MAX,
    DELIVERIES_MAX,
    RETRIES_EXHAUSTED,
    Acknowledge,
    Park,
    Retry,
    judge,
    retry_delay_s,
)

attempts = st.integers(min_value=1, max_value=1000)


@given(attempts)
def test_success_is_acknowledged_at_any_attempt(attempt: int) -> None:
    assert judge(None, attempt) == Acknowledge()


@given(attempts, st.sampled_from([Rejected, NotFound, Corrupt, UndecodableEvent]))
def test_what_can_never_succeed_is_parked_at_once(
    attempt: int, kind: type[Rejected | Corrupt]
) -> None:
    assert judge(kind("no", code="why"), attempt) == Park("why")


@given(attempts, st.sampled_from([Unavailable("x"), Conflict("x"), KeyError("x")]))
def test_the_rest_is_retried_until_the_last_delivery(attempt: int, error: Exception) -> None:
    verdict = judge(error, attempt)

    if attempt < DELIVERIES_MAX:
        assert verdict == Retry(retry_delay_s(attempt))
    else:
        assert verdict == Park(RETRIES_EXHAUSTED)


@given(attempts)
def test_delays_grow_and_are_bounded(attempt: int) -> None:
    assert 0.2 <= retry_delay_s(attempt) <= retry_delay_s(attempt + 1) <= DELAY_S_MAX


def test_delays_double_from_a_fifth_of_a_second() -> None:
    delays = [retry_delay_s(attempt) for attempt in range(1, 7)]

    assert delays == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 5.0])
