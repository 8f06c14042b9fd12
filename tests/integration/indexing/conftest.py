"""What the tests of indexing stand on: a log, a folder of blobs and a worker over both."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from chancery.indexing.app import Worker
from chancery.testkit.postgres import Database
from tests.integration.indexing.harness import Log, Place, open_log, open_worker


@pytest.fixture
def place(nats_url: str, database: Database, tmp_path: Path) -> Place:
    return Place(nats_url, database, tmp_path)


@pytest.fixture
async def log(place: Place) -> AsyncGenerator[Log]:
    async with open_log(place) as opened:
        yield opened


@pytest.fixture
async def worker(log: Log, database: Database) -> AsyncGenerator[Worker]:
    async with open_worker(log, database) as opened:
        yield opened
