"""The chaos tests have twenty minutes together; what begins later fails and says so."""

from __future__ import annotations

import time

import pytest

WITHIN_S = 20 * 60
_BEGAN = time.monotonic()


@pytest.fixture(autouse=True)
def in_time() -> None:
    """Begin no test when the time of all is over."""
    took_s = time.monotonic() - _BEGAN
    if took_s > WITHIN_S:
        pytest.fail(f"the chaos tests have run for {took_s:.0f} s; they have {WITHIN_S} s together")
