"""Measures the rebuild of the authority projection: `python -m tests.bench.rebuild`.

The numbers are told beside the aims, never judged: nothing here fails because something was slow.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final, TypedDict

from chancery.bus.connection import connect
from chancery.bus.provision import apply
from chancery.testkit.postgres import create_database
from tests.bench.arithmetic import rate
from tests.bench.children import told_by
from tests.bench.rebuild import counting, library, log, rebuilding
from tests.bench.rebuild.told import DSN_VARIABLE, NATS_VARIABLE, Replayed
from tests.bench.report import About, about, write
from tests.bench.servers import Servers, running_servers

OUT: Final = Path("bench-results/rebuild.json")
EVENTS: Final = 500_000
PROJECTED: Final = 20_000
MEMORY_MB_AIM: Final = 400


class Way(TypedDict):
    """One way through the events."""

    events: int
    seconds: float
    events_per_s: float
    peak_mb: float


class Report(TypedDict):
    """Everything that was measured in one run; `times` are of our rebuild over the others."""

    about: About
    libraries: dict[str, str]
    aggregates: int
    counting: Way
    rebuild: Way
    library_aggregates: Way
    library_projection: Way
    times: dict[str, float]


def main(arguments: Sequence[str]) -> int:
    """Measure, write the JSON and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rebuild", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="events on the log")
    parser.add_argument(
        "--projected", type=int, default=PROJECTED, help="events that the library projects"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    aggregates = max(100, chosen.events // log.EVENTS_EACH)
    with running_servers() as servers:
        report = asyncio.run(_measured(servers, aggregates, max(100, chosen.projected)))
    write(report, Path(chosen.out))
    print("\n".join(_lines(report)))
    return 0


async def _measured(servers: Servers, aggregates: int, projected: int) -> Report:
    events = aggregates * log.EVENTS_EACH
    command = f"python -m tests.bench.rebuild --events {events} --projected {projected}"
    told = about(command, await servers.version())
    async with connect(servers.nats_url, name="bench-fill") as bus:
        await apply(bus)
        await log.fill(bus, aggregates)
    settings = {NATS_VARIABLE: servers.nats_url, DSN_VARIABLE: servers.dsn}
    counted = await told_by(Replayed, counting.__name__, str(events), settings=settings)
    rebuilt = await told_by(Replayed, rebuilding.__name__, settings=settings)
    assert counted.events == rebuilt.events == events
    own = await create_database(servers.database.superuser_dsn)
    compared = await told_by(
        library.Compared,
        library.__name__,
        str(aggregates),
        str(projected),
        settings={DSN_VARIABLE: own.superuser_dsn},
    )
    ways = {
        "counting": _way(counted),
        "library_aggregates": _way(compared.aggregates),
        "library_projection": _way(compared.projection),
    }
    ours = _way(rebuilt)
    return Report(
        about=told,
        libraries={name: metadata.version(name) for name in ("eventsourcing", "psycopg")},
        aggregates=aggregates,
        rebuild=ours,
        counting=ways["counting"],
        library_aggregates=ways["library_aggregates"],
        library_projection=ways["library_projection"],
        times={
            name: round(ours["events_per_s"] / way["events_per_s"], 2) for name, way in ways.items()
        },
    )


def _way(replayed: Replayed) -> Way:
    return Way(
        events=replayed.events,
        seconds=round(replayed.seconds, 2),
        events_per_s=round(rate(replayed.events, replayed.seconds), 1),
        peak_mb=replayed.peak_mb,
    )


def _lines(report: Report) -> Iterator[str]:
    yield f"{'':<44}{'events/s':>10}{'peak MB':>10}{'ours is':>10}{'aim':>8}"
    ours = report["rebuild"]
    yield (
        f"{'rebuild into a fresh table set':<44}{ours['events_per_s']:>10.0f}"
        f"{ours['peak_mb']:>10.0f}{'':>10}{f'<{MEMORY_MB_AIM} MB':>8}"
    )
    rows = (
        ("our reader, counting only", "counting", report["counting"], "0.3"),
        ("eventsourcing, into rows with position", "library_projection",
         report["library_projection"], "5"),
        ("eventsourcing, aggregates read, nothing written", "library_aggregates",
         report["library_aggregates"], ""),
    )  # fmt: skip
    for name, key, way, aim in rows:
        times = f"{report['times'][key]:.2f} x"
        yield f"{name:<44}{way['events_per_s']:>10.0f}{way['peak_mb']:>10.0f}{times:>10}{aim:>8}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
