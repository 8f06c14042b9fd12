"""The scene and the assault on it, once for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx
import pytest

from chancery.testkit.servers import run_apart
from tests.e2e.leaks.building import build
from tests.e2e.leaks.people import Scene
from tests.e2e.leaks.trying import Seen, attack
from tests.e2e.running import System

TIMEOUT_S = 60


@pytest.fixture(scope="package")
def scene(system: System) -> Scene:
    """Build the scene; tests leave it as it was."""

    async def built() -> Scene:
        async with system.operator() as operator:
            return await build(operator)

    return run_apart(built())


@pytest.fixture(scope="package")
def assault(system: System, scene: Scene) -> list[Seen]:
    """Try every route as each of the ten."""

    async def tried() -> list[Seen]:
        async with httpx.AsyncClient(base_url=system.url, timeout=TIMEOUT_S) as http:
            found = [await attack(http, scene, attacker) for attacker in scene.people]
        return [each for one in found for each in one]

    return run_apart(tried())


@pytest.fixture
async def http(system: System) -> AsyncGenerator[httpx.AsyncClient]:
    """Yield connections to the system."""
    async with httpx.AsyncClient(base_url=system.url, timeout=TIMEOUT_S) as client:
        yield client
