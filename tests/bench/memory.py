"""How much memory and processor time a running system takes, by part."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final, TypedDict

import psutil

from chancery.events.topology import SERVICES
from tests.e2e.running import System

SERVERS: Final = ("nats", "postgres")
_MB: Final = 1024 * 1024


class Memory(TypedDict):
    """Of one part with its own children; `pss_mb` shares out what processes share (Linux)."""

    processes: int
    rss_mb: float
    pss_mb: float | None


def memory_by_part(system: System) -> dict[str, Memory]:
    """Return the memory of each service, the supervisor, NATS and PostgreSQL."""
    found: dict[str, Memory] = {}
    for name in (*SERVICES, *SERVERS):
        process = system.child(name)
        if process is not None:
            found[name] = _memory(list(_family(process)))
    found["supervisor"] = _memory([psutil.Process(system.supervisor.pid)])
    return found


def processor_by_part(system: System) -> dict[str, float]:
    """Return the seconds of processor time that each service and server has used so far."""
    found = ((name, system.child(name)) for name in (*SERVICES, *SERVERS))
    return {name: processor(_family(each)) for name, each in found if each is not None}


def processor(processes: Iterable[psutil.Process]) -> float:
    """Return the seconds of processor time that these processes have used so far."""
    used = [process.cpu_times() for process in processes]
    return sum(each.user + each.system for each in used)


def total(parts: dict[str, Memory], names: tuple[str, ...]) -> Memory:
    """Return the sum over some parts."""
    chosen = [parts[name] for name in names if name in parts]
    shares = [each["pss_mb"] for each in chosen]
    known = [share for share in shares if share is not None]
    return Memory(
        processes=sum(each["processes"] for each in chosen),
        rss_mb=round(sum(each["rss_mb"] for each in chosen), 1),
        pss_mb=round(sum(known), 1) if len(known) == len(shares) else None,
    )


def _family(process: psutil.Process) -> Iterator[psutil.Process]:
    yield process
    yield from process.children(recursive=True)


def _memory(processes: list[psutil.Process]) -> Memory:
    shares = [_share(process) for process in processes]
    known = [share for share in shares if share is not None]
    return Memory(
        processes=len(processes),
        rss_mb=round(sum(process.memory_info().rss for process in processes) / _MB, 1),
        pss_mb=round(sum(known) / _MB, 1) if len(known) == len(shares) else None,
    )


def _share(process: psutil.Process) -> int | None:
    """Return the proportional share, None where the system does not tell it."""
    if sys.platform != "linux":
        return None
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return None
