"""A running release service with a workspace around it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from chancery.testkit.postgres import Database
from tests.integration.release.stage import playing
from tests.integration.release.world import World


@pytest.fixture
async def world(nats_url: str, database: Database, tmp_path: Path) -> AsyncGenerator[World]:
    """Yield release on real servers, with the members anna and bert."""
    async with playing(nats_url, database, tmp_path) as playground:
        yield playground
