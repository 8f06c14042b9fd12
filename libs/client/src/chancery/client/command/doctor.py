"""`doctor`: what keeps a system from starting or answering, each finding with its remedy."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chancery.client.command.output import EXIT_DONE, EXIT_REFUSED, tell, tell_json
from chancery.client.command.settings import (
    CommandSettings,
    load_settings,
    operator_token,
    server_url,
)
from chancery.client.errors import ProblemError
from chancery.client.http import connect
from chancery.embedded import nats, postgres
from chancery.embedded.folder import is_held
from chancery.embedded.ports import check_port
from chancery.kernel.errors import ChanceryError

FREE_BYTES_MIN = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    is_well: bool
    detail: str


async def run_doctor(data_dir: Path | None, *, as_json: bool) -> int:
    """Print the findings; 1 when one needs something done."""
    settings = load_settings()
    findings = await examine(settings, data_dir or settings.data_dir)
    if as_json:
        tell_json(
            [{"name": each.name, "ok": each.is_well, "detail": each.detail} for each in findings]
        )
    else:
        for each in findings:
            tell(f"{'ok' if each.is_well else 'PROBLEM'} {each.name}: {each.detail}")
    return EXIT_DONE if all(each.is_well for each in findings) else EXIT_REFUSED


async def examine(settings: CommandSettings, folder: Path) -> list[Finding]:
    """Return what was found; a running system is recognised by its folder being in use."""
    findings = [
        Finding("python", is_well=True, detail=sys.version.partition(" ")[0]),
        _finding("nats-server", lambda: str(nats.find_program())),
        _finding("postgres", lambda: str(postgres.find_programs())),
        _space(folder),
    ]
    running = await asyncio.to_thread(_is_running, folder)
    if running is None:
        port = settings.http_port
        findings.append(_finding("port", lambda: _port(port)))
        findings.append(Finding("system", is_well=True, detail=f"not running on {folder}"))
        return findings
    findings.append(running)
    if running.is_well:
        findings.append(_finding("operator token", lambda: _token(folder)))
        findings.append(
            await _answers(server_url(settings.model_copy(update={"data_dir": folder})))
        )
    return findings


def _finding(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, is_well=True, detail=look())
    except ChanceryError as error:
        return Finding(name, is_well=False, detail=error.detail)


def _port(port: int) -> str:
    check_port(port)
    return f"{port} is free"


def _token(folder: Path) -> str:
    operator_token(folder)
    return "can be read"


def _space(folder: Path) -> Finding:
    existing = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()
    )
    free = shutil.disk_usage(existing).free
    detail = f"{free // (1024 * 1024):,} MiB free at {existing}"
    return Finding("disk", is_well=free >= FREE_BYTES_MIN, detail=detail)


def _is_running(folder: Path) -> Finding | None:
    if not folder.exists():
        return None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK) or not folder.is_dir():
        return Finding("data folder", is_well=False, detail=f"{folder} cannot be used")
    if not is_held(folder):
        return None
    return Finding("data folder", is_well=True, detail=f"a system runs on {folder}")


async def _answers(url: str) -> Finding:
    try:
        async with connect(url, patience_s=0.0, absence_s=0.0) as client:
            is_ready = await client.is_ready()
    except (ChanceryError, ProblemError) as error:
        return Finding("server", is_well=False, detail=error.detail)
    detail = f"{url} is ready" if is_ready else f"{url} answers, but is not ready"
    return Finding("server", is_well=is_ready, detail=detail)
