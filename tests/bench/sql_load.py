"""Loads a running system with good, slow, huge and hostile statements, and watches its memory.

Run as `python -m tests.bench.sql_load --minutes 10`. Good statements are drawn with the rows that
an oracle in plain Python knows; every hostile one has to be refused. Before it begins, the harness
is shown a wrong answer and an accepted hostile statement, which it has to notice. Ends with 1 when
a reply was a violation.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Final, TypedDict

import httpx
import psutil
from pydantic import TypeAdapter

from chancery.client.http import Chancery
from chancery.client.workspace import Table
from chancery.events.authority import ColumnPolicy, RowFilter
from tests.bench.arithmetic import Summary, summary
from tests.bench.judging import VIOLATIONS, Case, Kind, Reply, Verdict, code_of, judge
from tests.bench.memory import memory_by_part
from tests.bench.report import About, about
from tests.bench.sql_cases import (
    HOSTILE,
    HUGE,
    REGIONS,
    SECRETS,
    SLOW,
    Oracle,
    csv_of,
    draw_orders,
)
from tests.e2e.running import System, running
from tests.e2e.world import World, make_world
from tests.integration.tabular import attacks

OUT: Final = Path("bench-results/sql_load.json")
SAMPLE_S: Final = 5.0
REPLY_WITHIN_S: Final = 60.0
TELLS_MAX: Final = 20
LOOPS: Final[dict[Kind, int]] = {"slow": 6, "huge": 2, "hostile": 2}
STATEMENTS: Final[dict[Kind, Sequence[str]]] = {"slow": SLOW, "huge": HUGE, "hostile": HOSTILE}
_RESULT: Final = "/v1/workspaces/{}/query"


class Memory(TypedDict):
    """Megabytes of execution with its workers over the run; `service` is its own process alone."""

    samples: int
    service_early: float
    service_late: float
    service_most: float
    all_early: float
    all_late: float
    all_most: float
    processes_most: int


class Report(TypedDict):
    """Everything that one load found."""

    about: About
    seconds: float
    control: dict[str, bool]
    statements: dict[str, dict[str, int]]
    codes: dict[str, dict[str, int]]
    took: dict[str, Summary]
    memory_mb: Memory
    violations: list[str]


@dataclass(slots=True)
class Found:
    """What the loops have seen so far."""

    verdicts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    codes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    violations: list[str] = field(default_factory=list[str])

    def add(self, case: Case, reply: Reply, verdict: Verdict, seconds: float) -> None:
        """Count one reply."""
        self.verdicts[case.kind][verdict] += 1
        self.codes[case.kind][code_of(reply) or str(reply.status)] += 1
        if verdict in {"right", "refused", "answered", "ended"}:
            self.took[case.kind].append(seconds)
        if verdict in VIOLATIONS and len(self.violations) < TELLS_MAX:
            told = f"{verdict}: {case.sql[:200]} -> {reply.status} {code_of(reply)}"
            self.violations.append(told)


@dataclass(slots=True)
class Sampled:
    """Resident megabytes of execution, its own process and with all workers, over time."""

    service: list[float] = field(default_factory=list[float])
    everything: list[float] = field(default_factory=list[float])
    processes: list[int] = field(default_factory=list[int])


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends statements as one principal."""

    client: Chancery
    workspace_id: str

    async def send(self, sql: str) -> Reply:
        """Return what came back; a broken connection is a reply of status 0."""
        try:
            response = await self.client.transport.http.post(
                _RESULT.format(self.workspace_id),
                json={"sql": sql},
                headers={"Authorization": f"Bearer {self.client.transport.token}"},
                timeout=REPLY_WITHIN_S,
            )
        except httpx.HTTPError as error:
            return Reply(0, type(error).__name__)
        return Reply(response.status_code, response.text)


@dataclass(slots=True)
class Load:
    """The loops of one load over one workspace."""

    world: World
    found: Found
    ends_at: float
    sampled: Sampled = field(default_factory=Sampled)

    async def run(self, system: System, seed: int) -> None:
        """Send until the time is over; the principals are different ones."""
        random = Random(seed)
        orders = draw_orders(seed)
        ada, bob = await self._principal("ada"), await self._principal("bob")
        senders = {kind: await self._principal(kind) for kind in LOOPS}
        async with asyncio.TaskGroup() as group:
            for sender in (ada, ada, bob):
                oracle = Oracle(orders, Random(random.random()))
                group.create_task(self._loop(sender, oracle.draw, 0.05))
            for kind, loops in LOOPS.items():
                cases = cycle([Case(kind, sql) for sql in STATEMENTS[kind]])
                for _ in range(loops):
                    draw = partial(next, cases)
                    group.create_task(self._loop(senders[kind], draw, 0.1))
            group.create_task(self._sample(system))

    async def _principal(self, name: str) -> Sender:
        await self.world.operator.workspace(self.world.id).add_member(name, "reader")
        token = (await self.world.operator.issue_credential(name)).token
        return Sender(self.world.operator.acting_with(token), self.world.id)

    async def _loop(self, sender: Sender, draw: Callable[[], Case], pause_s: float) -> None:
        while time.monotonic() < self.ends_at:
            case = draw()
            begun = time.perf_counter()
            reply = await sender.send(case.sql)
            taken = time.perf_counter() - begun
            self.found.add(case, reply, judge(case, reply, SECRETS), taken)
            await _pause(pause_s)

    async def _sample(self, system: System) -> None:
        while time.monotonic() < self.ends_at:
            with suppress(psutil.Error):
                await asyncio.to_thread(self._take_sample, system)
            await _pause(SAMPLE_S)

    def _take_sample(self, system: System) -> None:
        process = system.child("execution")
        if process is None:
            self.found.violations.append("the execution service was gone")
            return
        everything = memory_by_part(system)["execution"]
        self.sampled.service.append(process.memory_info().rss / 2**20)
        self.sampled.everything.append(everything["pss_mb"] or everything["rss_mb"])
        self.sampled.processes.append(everything["processes"])


def main(arguments: Sequence[str]) -> int:
    """Load, write the JSON, print it, and return 1 for violations."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sql_load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to load")
    parser.add_argument("--seed", type=int, default=1, help="what the statements are drawn from")
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    minutes, seed, out = float(chosen.minutes), int(chosen.seed), Path(chosen.out)
    report = load(minutes, seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    written = TypeAdapter(object).dump_json(report, indent=2)
    out.write_bytes(written + b"\n")
    print(written.decode())
    return 1 if report["violations"] or not all(report["control"].values()) else 0


def load(minutes: float, seed: int) -> Report:
    """Return the report of a fresh system in a temporary folder."""
    told = about(f"python -m tests.bench.sql_load --minutes {minutes:g} --seed {seed}", "embedded")
    with (
        tempfile.TemporaryDirectory(prefix="chancery-load-") as folder,
        running(Path(folder) / "data") as system,
    ):
        begun = time.monotonic()
        done, control = asyncio.run(_loaded(system, minutes, seed))
        seconds = time.monotonic() - begun
    return Report(
        about=told,
        seconds=round(seconds, 1),
        control=control,
        statements={kind: dict(each) for kind, each in done.found.verdicts.items()},
        codes={kind: dict(each.most_common()) for kind, each in done.found.codes.items()},
        took={kind: summary(each) for kind, each in done.found.took.items()},
        memory_mb=_memory(done.sampled),
        violations=done.found.violations,
    )


async def _loaded(system: System, minutes: float, seed: int) -> tuple[Load, dict[str, bool]]:
    async with system.operator() as operator:
        world = await make_world(operator, "load")
        await _publish(world, seed)
        control = await _control(Sender(world.reader, world.id))
        done = Load(world, Found(), time.monotonic() + 60 * minutes)
        await done.run(system, seed)
        return done, control


async def _publish(world: World, seed: int) -> None:
    """Publish the table of the attacks, and one with a hidden column and hidden rows."""
    regions = tuple(f"r{number}" for number in range(REGIONS - 1))
    tables = {
        "t": (Table(title="Words"), attacks.CSV),
        "orders": (
            Table(
                title="Orders",
                columns={"margin": ColumnPolicy(roles=("publisher", "admin"))},
                row_filters=(RowFilter(roles=("reader",), column="region", allowed=regions),),
            ),
            csv_of(draw_orders(seed)),
        ),
    }
    for name, (table, data) in tables.items():
        await world.desk.declare_dataset(name, table)
        published = await world.desk.publish_snapshot(name, data)
        assert published.state == "ready", f"the snapshot of {name} is {published.state}"


async def _control(sender: Sender) -> dict[str, bool]:
    """Show the harness what it must notice, answered by the running system itself."""
    harmless = "SELECT count(*) FROM orders WHERE id < 6"
    wrong, right = Case("good", harmless, (("7",),)), Case("good", harmless, (("6",),))
    accepted = Case("hostile", harmless)
    telling = Case("good", "SELECT max(word) FROM t")
    reply = await sender.send(harmless)
    return {
        "a right answer is right": judge(right, reply, SECRETS) == "right",
        "a wrong answer is noticed": judge(wrong, reply, SECRETS) == "wrong answer",
        "an accepted hostile statement is noticed": judge(accepted, reply, SECRETS)
        == "hostile accepted",
        "a secret is noticed": judge(telling, await sender.send(telling.sql), SECRETS)
        == "secret told",
    }


def _memory(sampled: Sampled) -> Memory:
    """Compare the second fifth of the run with the last one."""
    return Memory(
        samples=len(sampled.service),
        service_early=_median_of_fifth(sampled.service, 1),
        service_late=_median_of_fifth(sampled.service, 4),
        service_most=round(max(sampled.service), 1),
        all_early=_median_of_fifth(sampled.everything, 1),
        all_late=_median_of_fifth(sampled.everything, 4),
        all_most=round(max(sampled.everything), 1),
        processes_most=max(sampled.processes),
    )


def _median_of_fifth(samples: Sequence[float], fifth: int) -> float:
    count = len(samples)
    chosen = samples[count * fifth // 5 : max(count * (fifth + 1) // 5, count * fifth // 5 + 1)]
    return round(statistics.median(chosen), 1)


async def _pause(seconds: float) -> None:
    """Let the others go first; a load is paced, it does not wait for a condition."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
