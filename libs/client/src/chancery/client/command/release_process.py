"""A process of release beside the running one, which does its work and tells of it line by line."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chancery.client.command.settings import CommandSettings
from chancery.embedded.folder import require_running
from chancery.embedded.nats import SERVICE_API_PREFIX
from chancery.embedded.settings import service_argv
from chancery.events.topology import Service
from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Corrupt
from chancery.runtime.settings import process_environment

SERVICE: Final[Service] = "release"


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended; `complaint` is the last sentence of one that could not begin, or empty."""

    code: int
    complaint: str


async def run_release(
    settings: CommandSettings,
    folder: Path,
    arguments: tuple[str, ...],
    take: Callable[[Mapping[str, Json]], None],
) -> Ended:
    """Run it to its end and give what it tells to `take`, one document at a time.

    Raises:
        NotRunning: it would need the system in the folder, and none runs there.
    """
    process = await asyncio.create_subprocess_exec(
        *service_argv(SERVICE),
        *arguments,
        env=_wiring(settings, folder),
        stdout=PIPE,
        stderr=PIPE,
    )
    async with asyncio.TaskGroup() as group:
        complaint = group.create_task(_complaint(process))
        async for line in _told_lines(process):
            take(line)
    return Ended(await process.wait(), complaint.result())


def _wiring(settings: CommandSettings, folder: Path) -> dict[str, str]:
    """Return the environment of release: as configured, or as the system in `folder` has it."""
    environment = dict(process_environment())
    run = folder / "run"
    is_own_bus = "nats_url" not in settings.model_fields_set
    if is_own_bus or settings.postgres_dsn is None:
        require_running(folder)
    if settings.postgres_dsn is None:
        environment["CHANCERY_POSTGRES_DSN_FILE"] = str(run / f"{SERVICE}.dsn")
    if is_own_bus:
        environment["CHANCERY_NATS_URL_FILE"] = str(run / f"{SERVICE}.nats")
        environment["CHANCERY_NATS_API_PREFIX"] = SERVICE_API_PREFIX
    if settings.blobs_url is None:
        environment["CHANCERY_BLOBS_URL"] = f"file://{(folder / 'blobs').resolve()}"
    environment.pop("CHANCERY_MANAGEMENT_PORT_FILE", None)
    return environment


async def _told_lines(process: Process) -> AsyncGenerator[Mapping[str, Json]]:
    """Yield what the process tells, one document per line; other output is left out."""
    assert process.stdout is not None
    async for data in process.stdout:
        try:
            parsed = parse_json(data)
        except Corrupt:
            continue
        if isinstance(parsed, dict) and isinstance(parsed.get("event"), str):
            yield parsed


async def _complaint(process: Process) -> str:
    """Return the last sentence of a process that could not begin; its log is no sentence."""
    assert process.stderr is not None
    last = ""
    async for data in process.stderr:
        line = data.decode("utf-8", "replace").strip()
        if line and not line.startswith("{"):
            last = line
    return last
