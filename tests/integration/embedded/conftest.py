"""What starts `up` and ends whatever is left of it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.integration.embedded.starter import Starter


@pytest.fixture
def start_up(tmp_path: Path) -> Generator[Starter]:
    """Yield what starts `up`."""
    starter = Starter(tmp_path)
    yield starter
    starter.end()
