"""`doctor`: what keeps a system from starting or answering, each finding with its remedy."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

from chancery.client.command.findings import Finding, finding
from chancery.client.command.given_settings import examine_given
from chancery.client.command.output import EXIT_DONE, EXIT_REFUSED, tell, tell_json
from chancery.client.command.service_settings import read_all
from chancery.client.command.settings import CommandSettings, operator_token, server_url
from chancery.client.errors import ProblemError
from chancery.client.http import connect
from chancery.embedded import nats, postgres
from chancery.embedded.folder import is_held
from chancery.embedded.ports import check_port
from chancery.kernel.errors import ChanceryError

FREE_BYTES_MIN = 1024 * 1024 * 1024


async def run_doctor(data_dir: Path | None, *, as_json: bool) -> int:
    """Print the findings; 1 when one needs something done."""
    loaded, wrong = read_all()
    findings = [
        Finding(each.field or "settings", is_well=False, detail=each.detail) for each in wrong
    ]
    settings = loaded.get("command")
    if isinstance(settings, CommandSettings):
        findings += await examine(settings, data_dir or settings.data_dir)
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
        finding("nats-server", lambda: str(nats.find_program())),
        finding("postgres", lambda: str(postgres.find_programs())),
        _space(folder),
        *await examine_given(settings),
    ]
    running = await asyncio.to_thread(_is_running, folder)
    if running is None:
        port = settings.http_port
        findings.append(finding("port", lambda: _port(port)))
        findings.append(Finding("system", is_well=True, detail=f"not running on {folder}"))
        return findings if settings.url is None else [*findings, await _answers(settings.url)]
    findings.append(running)
    if running.is_well:
        findings.append(finding("operator token", lambda: _token(folder)))
        findings.append(
            await _answers(server_url(settings.model_copy(update={"data_dir": folder})))
        )
    return findings


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
