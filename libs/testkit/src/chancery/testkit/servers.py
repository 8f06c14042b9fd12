"""Which NATS and PostgreSQL the integration tests use: given ones, containers or embedded ones."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeVar

from pydantic_settings import BaseSettings, SettingsConfigDict

T = TypeVar("T")

NATS_IMAGE = "nats:2.15-alpine"
POSTGRES_IMAGE = "postgres:18-alpine"
"""The images of docker-compose.yml."""

Source = Literal["external", "containers", "embedded"]

_DOCKER_TIMEOUT_S = 5.0


class ServerSettings(BaseSettings):
    """Where the tests find their servers; unset means to start some."""

    model_config = SettingsConfigDict(env_prefix="CHANCERY_TEST_", frozen=True, extra="ignore")

    nats_url: str | None = None
    postgres_dsn: str | None = None
    containers: bool | None = None


def nats_source(settings: ServerSettings) -> Source:
    """Return where NATS comes from."""
    return "external" if settings.nats_url else _own_source(settings, NATS_IMAGE)


def postgres_source(settings: ServerSettings) -> Source:
    """Return where PostgreSQL comes from."""
    return "external" if settings.postgres_dsn else _own_source(settings, POSTGRES_IMAGE)


def describe(settings: ServerSettings) -> str:
    """Return the line that says which servers the tests use."""
    nats, postgres = nats_source(settings), postgres_source(settings)
    return f"chancery: NATS {nats}, PostgreSQL {postgres}"


def run_apart(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine to its end on a thread of its own, beside whatever loop the test has."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(asyncio.run, work).result()


def _own_source(settings: ServerSettings, image: str) -> Source:
    wanted = settings.containers
    if wanted is None:
        wanted = _has_image(image)
    return "containers" if wanted else "embedded"


def _has_image(image: str) -> bool:
    """Tell whether a Docker engine answers and has the image: nothing is fetched unasked."""
    try:
        found = subprocess.run(
            ["docker", "image", "inspect", image],
            capture_output=True,
            check=False,
            timeout=_DOCKER_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return found.returncode == 0
