"""`projections`: how far they are, rebuilding one beside the live one, and switching to it.

The work is done by a process of release beside the running one, so that a rebuild takes nothing
from the process that answers. It tells one JSON document per line.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from chancery.client.command.output import tell, tell_error, tell_json, tell_progress
from chancery.client.command.settings import CommandSettings, load_settings
from chancery.embedded.nats import SERVICE_API_PREFIX
from chancery.embedded.settings import service_argv
from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import ChanceryError, Corrupt
from chancery.runtime.settings import process_environment

SERVICE = "release"


async def run_projections(verb: str, name: str, data_dir: Path | None, *, as_json: bool) -> int:
    """Run `status`, `rebuild` or `switch` and return the exit code of the process that did."""
    settings = load_settings()
    process = await asyncio.create_subprocess_exec(
        *service_argv(SERVICE),
        "projections",
        verb,
        name,
        env=wiring(settings, data_dir or settings.data_dir),
        stdout=PIPE,
    )
    async for line in told_lines(process):
        _show(line, as_json=as_json)
    return await process.wait()


def wiring(settings: CommandSettings, folder: Path) -> dict[str, str]:
    """Return the environment of release: as configured, or as the system in `folder` has it."""
    environment = dict(process_environment())
    run = folder / "run"
    given = settings.model_fields_set
    if settings.postgres_dsn is None:
        environment["CHANCERY_POSTGRES_DSN_FILE"] = str(run / f"{SERVICE}.dsn")
    if "nats_url" not in given:
        environment["CHANCERY_NATS_URL_FILE"] = str(run / f"{SERVICE}.nats")
        environment["CHANCERY_NATS_API_PREFIX"] = SERVICE_API_PREFIX
    if settings.blobs_url is None:
        environment["CHANCERY_BLOBS_URL"] = f"file://{(folder / 'blobs').resolve()}"
    environment.pop("CHANCERY_MANAGEMENT_PORT_FILE", None)
    return environment


async def told_lines(process: Process) -> AsyncGenerator[Mapping[str, Json]]:
    """Yield what the process tells, one document per line; other output is left out."""
    assert process.stdout is not None
    async for data in process.stdout:
        try:
            parsed = parse_json(data)
        except Corrupt:
            continue
        if isinstance(parsed, dict) and isinstance(parsed.get("event"), str):
            yield parsed


def _show(line: Mapping[str, Json], *, as_json: bool) -> None:
    if line["event"] == "failed":
        error = ChanceryError(str(line["detail"]))
        error.code = str(line["code"])
        tell_error(error, as_json=as_json)
    elif as_json:
        tell_json(dict(line))
    elif line["event"] == "progress":
        tell_progress(_progress(line))
    else:
        tell(_sentence(line))


def _progress(line: Mapping[str, Json]) -> str:
    left = "" if line["left_s"] is None else f", {line['left_s']} s left"
    place = f"{line['sequence']} of {line['last']}"
    return f"{line['projection']}: {place}, {line['per_s']} events/s{left}"


def _sentence(line: Mapping[str, Json]) -> str:
    name = line.get("projection")
    match line["event"]:
        case "status":
            state = "live" if line["live"] else "rebuilt beside it"
            place = f"{line['sequence']} of {line['last']}"
            return f"{name}: set {line['table_set']} ({state}) at {place}, digest {line['digest']}"
        case "rebuilt":
            return f"{name}: set {line['table_set']} is rebuilt up to {line['sequence']}"
        case "switched":
            sets = f"set {line['table_set']} is live in place of set {line['before']}"
            return f"{name}: {sets}, with the same digest at {line['sequence']}"
        case _:
            waiting = f"{line.get('quarantined')} events wait in quarantine"
            return f"{waiting}, {line.get('frozen')} aggregates are frozen"
