"""One running system for all tests that leave it as it was; each makes a workspace of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

import pytest

from chancery.client.http import Chancery
from chancery.kernel.ids import random_id
from tests.e2e.running import System, running
from tests.e2e.tracing import spans_beside
from tests.e2e.world import World, make_world


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands here as end to end."""
    for item in items:
        if "tests/e2e/" in item.path.as_posix():
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Generator[System]:
    """Yield this worker's running system."""
    folder = tmp_path_factory.mktemp("system") / "data"
    with running(folder, {"CHANCERY_SPANS_FILE": str(spans_beside(folder))}) as found:
        yield found


@pytest.fixture
async def operator(system: System) -> AsyncGenerator[Chancery]:
    """Yield a client with the operator's token."""
    async with system.operator() as client:
        yield client


@pytest.fixture
async def world(operator: Chancery) -> World:
    """Return a fresh workspace with a publisher, a reader and a stranger."""
    return await make_world(operator, f"w-{random_id()[:8]}")
