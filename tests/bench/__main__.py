"""Measures ask to sealed beside a skeleton of the same hops, start-up and memory.

Blocks of document questions, of the skeleton and of mixed questions take turns, so that whatever
else the machine does slows all three. The numbers are told, never judged: nothing here fails
because something was slow.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from chancery.events.topology import SERVICES
from tests.bench.arithmetic import ratio, stages, summary
from tests.bench.asking import Asker, nats_url, prepare, superuser_dsn
from tests.bench.memory import SERVERS, memory_by_part, processor, processor_by_part, total
from tests.bench.report import Report, Timed, about, render
from tests.bench.skeleton import Skeleton, running_skeleton, server_version
from tests.bench.spans import read_lines, sealed_traces
from tests.e2e.running import System, running

BLOCKS: Final = 4
WARM_UPS: Final = 3
OUT: Final = Path("bench-results/path.json")


@dataclass(slots=True)
class Taken:
    """Seconds of each kind of ask, and the runs behind those of the real system."""

    document: list[float] = field(default_factory=list[float])
    mixed: list[float] = field(default_factory=list[float])
    skeleton: list[float] = field(default_factory=list[float])
    document_runs: set[str] = field(default_factory=set[str])
    mixed_runs: set[str] = field(default_factory=set[str])
    processor: dict[str, float] = field(default_factory=dict[str, float])
    processor_of_skeleton: float = 0.0


def main(arguments: Sequence[str]) -> int:
    """Measure, write the JSON and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--asks", type=int, default=40, help="document questions to ask")
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    asks = max(BLOCKS, int(chosen.asks))
    out = Path(chosen.out)
    report = measure(asks, command=f"python -m tests.bench --asks {asks}")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(TypeAdapter(object).dump_json(report, indent=2) + b"\n")
    print(render(report))
    return 0


def measure(asks: int, *, command: str) -> Report:
    """Return the report of a fresh system in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="chancery-bench-") as temporary:
        folder, spans = Path(temporary) / "data", Path(temporary) / "spans.jsonl"
        begun = time.perf_counter()
        with running(folder, {"CHANCERY_SPANS_FILE": str(spans)}) as system:
            fresh_s = time.perf_counter() - begun
            taken, postgres = asyncio.run(_measured(system, asks))
            memory = memory_by_part(system)
        lines = read_lines(spans)
        begun = time.perf_counter()
        with running(folder):
            existing_s = time.perf_counter() - begun
    timed = {
        "document": summary(taken.document),
        "mixed": summary(taken.mixed),
        "skeleton": summary(taken.skeleton),
    }
    return Report(
        about=about(command, postgres),
        asks=Timed(**timed),
        ratio={kind: ratio(timed[kind], timed["skeleton"]) for kind in ("document", "mixed")},
        stages={
            "document": stages(sealed_traces(lines, taken.document_runs)),
            "mixed": stages(sealed_traces(lines, taken.mixed_runs)),
        },
        processor_ms=_per_ask(taken),
        up_s={"fresh": round(fresh_s, 2), "existing": round(existing_s, 2)},
        memory=memory,
        memory_of_services=total(memory, SERVICES),
        memory_of_servers=total(memory, SERVERS),
    )


def _per_ask(taken: Taken) -> dict[str, float]:
    """Return processor milliseconds per document question by part, and per run of the skeleton."""
    parts = {**taken.processor, "skeleton": taken.processor_of_skeleton}
    return {name: round(1000 * used / len(taken.document), 1) for name, used in parts.items()}


async def _measured(system: System, asks: int) -> tuple[Taken, str]:
    dsn = superuser_dsn(system)
    postgres = await server_version(dsn)
    async with system.operator() as operator:
        asker = await prepare(operator)
        async with running_skeleton(nats_url(system), dsn) as skeleton:
            await _block(Taken(), asker, skeleton, system, count=WARM_UPS)
            taken = Taken()
            for _ in range(BLOCKS):
                await _block(taken, asker, skeleton, system, count=asks // BLOCKS)
    return taken, postgres


async def _block(
    taken: Taken, asker: Asker, skeleton: Skeleton, system: System, *, count: int
) -> None:
    before = processor_by_part(system)
    for _ in range(count):
        seconds, run = await asker.ask(asker.scenario.ownership_question)
        taken.document.append(seconds)
        taken.document_runs.add(run)
    between, hops = processor_by_part(system), processor(skeleton.processes)
    for _ in range(count):
        taken.skeleton.append(await skeleton.ask())
    after = processor_by_part(system)
    for name, used in between.items():
        taken.processor[name] = taken.processor.get(name, 0.0) + used - before[name]
    servers = sum(after[name] - between[name] for name in SERVERS)
    taken.processor_of_skeleton += servers + processor(skeleton.processes) - hops
    for _ in range(max(1, count // 2)):
        seconds, run = await asker.ask(asker.scenario.mixed_question)
        taken.mixed.append(seconds)
        taken.mixed_runs.add(run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
