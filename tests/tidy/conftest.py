"""The trees of all modules are kept for the checks, and let go after the last one."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

from tests.tidy.tree import parsed


@pytest.fixture(scope="package", autouse=True)
def trees() -> Generator[None]:
    """Collect no garbage meanwhile: looking through the trees takes longer than making them."""
    gc.disable()
    yield
    parsed.cache_clear()
    gc.enable()
