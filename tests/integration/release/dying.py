"""Release as a process that kills itself at a named step of the seal, for one run.

`python -m tests.integration.release.dying` loads everything once and forks a release for each line
`[STEP, TARGET, DELAY_US]` of its input; it says the id of the process and, later, how that ended.
The run whose id stands in the file TARGET is killed at STEP, DELAY_US microseconds after it got
there. Nothing of this is in the product: the ports of the sealer are wrapped before it starts.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from chancery.bus.connection import Connection as Bus
from chancery.bus.publish import Outgoing, Published, publish_atomic
from chancery.events.envelope import Event
from chancery.events.run import RunProposed
from chancery.release import app
from chancery.release.adapters import desk, relay
from chancery.release.adapters.authority_reader import CutPlace, read_at_cuts
from chancery.release.adapters.runs import lock_runs
from chancery.release.adapters.sealed import insert_releases
from chancery.release.domain.drafts import Draft
from chancery.release.domain.runs import LockedRun, Run
from chancery.release.domain.sealing import Cut, SealedRows
from chancery.release.domain.snapshot import CutSnapshot
from chancery.release.handlers.proposed import SealRun
from chancery.release.ports.position import Position
from chancery.release.ports.stores import CutLog
from chancery.release.settings import ReleaseSettings
from chancery.runtime.delivery import Delivery
from chancery.runtime.process import start
from chancery.store.pool import Connection, Pool, transaction

STEPS: Final = (
    "1 before validating",
    "2 before the cut",
    "3 after the cut",
    "4 when the cut was passed",
    "5 holding the lock",
    "5 having read",
    "6 before inserting",
    "7 before the commit",
    "7 after the commit",
    "8 before relaying",
    "8 after relaying",
)
"""Where it dies; the numbers are those of the protocol."""
NOWHERE: Final = "nowhere"


@dataclass(frozen=True, slots=True)
class Fault:
    """The step at which the process ends for the run that `target` names."""

    step: str
    target: Path
    delay_us: int

    def reach(self, step: str, run_id: str) -> None:
        """Die here, or a moment later, when this is the step and the run."""
        if step != self.step or not self.target.exists():
            return
        if run_id in self.target.read_text().split():
            if self.delay_us == 0:
                _die()
            threading.Timer(self.delay_us / 1_000_000, _die).start()


@dataclass(slots=True)
class DyingCuts:
    """The cuts, with a death before and one after."""

    real: CutLog
    fault: Fault
    passing: Passing

    async def publish(self, draft: Draft, *, attempt: int, decided_at: datetime) -> Cut:
        """Publish a cut."""
        run_id = draft.run.run_id
        self.fault.reach("2 before the cut", run_id)
        cut = await self.real.publish(draft, attempt=attempt, decided_at=decided_at)
        self.passing.cuts[cut.sequence] = run_id
        self.fault.reach("3 after the cut", run_id)
        return cut

    async def payload(self, sequence: int) -> bytes | None:
        """Return the bytes of a cut."""
        return await self.real.payload(sequence)


class Passing(Position):
    """The position, with a death when a cut was passed."""

    def __init__(self, real: Position, fault: Fault) -> None:
        super().__init__()
        self.real = real
        self.fault = fault
        self.cuts: dict[int, str] = {}

    async def wait(self, sequence: int, *, timeout_s: float) -> None:
        """Wait as the real one does."""
        await self.real.wait(sequence, timeout_s=timeout_s)
        self.fault.reach("4 when the cut was passed", self.cuts.get(sequence, ""))


class DyingDesk:
    """The desk's own statements, with deaths between them and around its commit."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.locked: list[str] = []
        self.inserted: list[str] = []

    async def lock_runs(
        self, connection: Connection, runs: Sequence[Run]
    ) -> list[LockedRun | None]:
        """Lock as the real one does."""
        found = await lock_runs(connection, runs)
        for run in runs:
            self.fault.reach("5 holding the lock", run.run_id)
        self.locked = [run.run_id for run in runs]
        return found

    async def read_at_cuts(
        self, connection: Connection, places: Sequence[CutPlace | None]
    ) -> list[CutSnapshot | None]:
        """Read as the real one does."""
        found = await read_at_cuts(connection, places)
        for run_id in self.locked:
            self.fault.reach("5 having read", run_id)
        return found

    async def insert_releases(self, connection: Connection, rows: Sequence[SealedRows]) -> None:
        """Insert as the real one does."""
        self.inserted = [each.draft.run.run_id for each in rows]
        for run_id in self.inserted:
            self.fault.reach("6 before inserting", run_id)
        await insert_releases(connection, rows)
        for run_id in self.inserted:
            self.fault.reach("7 before the commit", run_id)

    @asynccontextmanager
    async def transaction(self, pool: Pool) -> AsyncGenerator[Connection]:
        """Commit as the real one does."""
        self.inserted = []
        async with transaction(pool) as connection:
            yield connection
        for run_id in self.inserted:
            self.fault.reach("7 after the commit", run_id)


async def validate_or_die(self: SealRun, event: Event, _: Delivery) -> None:
    """Seal the answer or the refusal, with a death before the first step."""
    if isinstance(event.data, RunProposed):
        FAULT.reach("1 before validating", event.data.run_id)
    await validate(self, event, _)


def with_deaths(parts: app.Parts, fault: Fault) -> app.Parts:
    """Return the parts with a sealer that dies."""
    ending = parts.seal.ending
    passing = Passing(ending.sealer.position, fault)
    sealer = replace(
        ending.sealer,
        cuts=DyingCuts(ending.sealer.cuts, fault, passing),
        position=passing,
    )
    return replace(parts, seal=replace(parts.seal, ending=replace(ending, sealer=sealer)))


async def create_dying_parts(resources: app.Resources) -> app.Parts:
    """Return the parts of the product, the sealer's ports wrapped."""
    return with_deaths(await create_parts(resources), FAULT)


async def relay_or_die(
    bus: Bus, stream: str, messages: Sequence[Outgoing]
) -> tuple[Published, ...]:
    """Publish sealed events, with a death before and one after."""
    run_ids = [each.subject.split(".")[2] for each in messages]
    for run_id in run_ids:
        FAULT.reach("8 before relaying", run_id)
    published = await publish_atomic(bus, stream, messages)
    for run_id in run_ids:
        FAULT.reach("8 after relaying", run_id)
    return published


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def forked() -> Fault:
    """Fork for each line of the input; return in the fork, with what the line asks for."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            void = os.open(os.devnull, os.O_RDWR)
            for number in (sys.stdin.fileno(), sys.stdout.fileno()):
                os.dup2(void, number)
            step, target, delay_us = json.loads(line)
            return Fault(step, Path(target), delay_us)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    sys.exit(0)


create_parts = app.create_parts
validate = SealRun.__call__
FAULT = forked() if __name__ == "__main__" else Fault(NOWHERE, Path(os.devnull), 0)

if __name__ == "__main__":
    dying = DyingDesk(FAULT)
    desk.lock_runs = dying.lock_runs
    desk.read_at_cuts = dying.read_at_cuts
    desk.insert_releases = dying.insert_releases
    desk.transaction = dying.transaction
    app.create_parts = create_dying_parts
    relay.publish_atomic = relay_or_die
    SealRun.__call__ = validate_or_die
    sys.exit(start("release", ReleaseSettings, app.serve))
