"""Kills release at every step of the seal, one run after the other, and looks what became of them.

Each step has two runs: one keeps its access, the other loses it while release is down. By turns
release dies of the one or of the other, which are both on their way then.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from chancery.bus.connection import connect
from chancery.bus.load import read_subject
from chancery.bus.provision import Plan, apply
from chancery.events import queries
from chancery.events.authority import SourceGranted, SourceGrantRevoked
from chancery.events.topology import RELEASES, query_subject, release_subject
from chancery.kernel.errors import Unavailable
from chancery.release.app import Resources, create_parts
from chancery.store.blobs import open_blobs
from chancery.store.pool import connect as connect_database
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.dying import NOWHERE
from tests.integration.release.published import Published
from tests.integration.release.stage import KEY
from tests.integration.release.world import TENANT, World

ROOT = Path(__file__).parents[3]
TEXT = "Service reviews are owned by Mara Lindt.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
DELAY_US_MAX = 3_000


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a run; `revoked_at` is where its asker lost access, `cut` where it was cut.

    `is_target`: release died when this very run came to the step.
    """

    step: str
    is_target: bool
    status: str
    outcome: str | None
    releases: int
    told: int
    cut: int
    revoked_at: int | None


@dataclass(frozen=True, slots=True)
class Played:
    """A run that was on its way when release died."""

    step: str
    run_id: str
    is_target: bool
    revoked_at: int | None


@dataclass(slots=True)
class Lives:
    """Plays the other services and restarts release after each death."""

    world: World
    folder: Path
    template: Process
    seed: int = 0
    _pid: int | None = None
    _runs: list[Played] = field(default_factory=list[Played])

    async def play(self, steps: Sequence[str]) -> list[Ended]:
        """Die at each step for two runs; return what became of all of them."""
        chance = random.Random(self.seed)
        await self._restart(NOWHERE, 0)
        await self.world.found()
        kept = await self._publish("kept")
        for number, step in enumerate(steps):
            delay_us = chance.randrange(DELAY_US_MAX) if self.seed else 0
            await self._restart(step, delay_us)
            await self._live_and_die(step, kept, await self._publish(f"lost-{number}"))
        await self._restart(NOWHERE, 0)
        return [await self._ended(run) for run in self._runs]

    async def stop(self) -> None:
        """End the process."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            await self._death()

    async def _death(self) -> int:
        """Wait until the process has ended and return how."""
        code, self._pid = await self._said(), None
        return code

    async def _said(self) -> int:
        assert self.template.stdout is not None
        return int(await self.template.stdout.readline())

    async def _live_and_die(self, step: str, kept: Published, lost: Published) -> None:
        ref = lost.ref
        await self.world.append(ref, SourceGranted(grantee="anna"))
        runs = [(await self._gathered(each), each) for each in (kept, lost)]
        if len(self._runs) % 4 == 0:
            runs.reverse()
        target = runs[0][0]
        (self.folder / "target").write_text(target)
        for run_id, source in runs:
            await self.world.propose(await self.world.admitted(run_id), source.quote(QUOTE))
        async with asyncio.timeout(60):
            assert await self._death() == -signal.SIGKILL
        revoked_at = await self.world.append(ref, SourceGrantRevoked(grantee="anna"))
        for run_id, source in runs:
            played = Played(step, run_id, run_id == target, revoked_at if source is lost else None)
            self._runs.append(played)

    async def _publish(self, name: str) -> Published:
        visibility = "workspace" if name == "kept" else "restricted"
        return await self.world.publish_source(name, TEXT, visibility=visibility, declarer="bert")

    async def _gathered(self, source: Published) -> str:
        run_id = await self.world.ask(sources=(source.source_id,))
        await self.world.gather(await self.world.admitted(run_id), source)
        return run_id

    async def _restart(self, step: str, delay_us: int) -> None:
        await self.stop()
        target = self.folder / "target"
        target.unlink(missing_ok=True)
        assert self.template.stdin is not None
        self.template.stdin.write(f"{json.dumps([step, str(target), delay_us])}\n".encode())
        self._pid = await self._said()
        await eventually(self._answers, 60)

    async def _answers(self) -> bool:
        subject = query_subject("release", "identity")
        try:
            await self.world.request(subject, queries.WhoAmI(), queries.Identity)
        except Unavailable:
            return False
        except Exception:  # noqa: BLE001 - it answers: nobody is known yet
            return True
        return True

    async def _ended(self, run: Played) -> Ended:
        run_id = run.run_id
        await self.world.ended(run_id, within_s=60)
        async with connect_database(self.world.database.superuser_dsn, name="test") as db:
            rows = await db.fetch(
                "SELECT kind, outcome, cut_sequence FROM release.release WHERE run_id = $1", run_id
            )
        kind = rows[0]["kind"]
        subject = release_subject(TENANT, run_id, kind)

        async def is_told() -> bool:
            return await self._told(subject) > 0

        await eventually(is_told)
        return Ended(
            run.step,
            run.is_target,
            kind,
            rows[0]["outcome"],
            len(rows),
            await self._told(subject),
            rows[0]["cut_sequence"],
            run.revoked_at,
        )

    async def _told(self, subject: str) -> int:
        return len([each async for each in read_subject(self.world.bus, RELEASES, subject)])


@asynccontextmanager
async def living(
    nats_url: str, database: Database, folder: Path, *, seed: int = 0
) -> AsyncGenerator[Lives]:
    """Yield the harness over fresh servers; no release runs yet."""
    blobs, dsn = open_blobs(f"file://{folder}/blobs"), database.dsn("release")
    environment = {
        **os.environ,
        "CHANCERY_NATS_URL": nats_url,
        "CHANCERY_POSTGRES_DSN": dsn,
        "CHANCERY_BLOBS_URL": f"file://{folder}/blobs",
        "CHANCERY_SIGNING_KEY": "07" * 32,
        "CHANCERY_MANAGEMENT_PORT": "0",
        "CHANCERY_LOG_LEVEL": "error",
    }
    async with connect(nats_url, name="test-world") as bus, _template(environment) as template:
        await apply(bus, Plan(ack_wait_s=1))
        pool = await open_pool(dsn, name="test")
        async with pool:
            # These parts are never run: the world around a process only needs their type.
            parts = await create_parts(Resources(bus, pool, SecretStr(dsn), blobs, KEY))
            lives = Lives(World(bus, blobs, parts, database), folder, template, seed)
            try:
                yield lives
            finally:
                await lives.stop()


@asynccontextmanager
async def _template(environment: dict[str, str]) -> AsyncGenerator[Process]:
    """Yield the process that has loaded everything and forks release; it ends with its input."""
    template = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.release.dying",
        env=environment,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert template.stdin is not None
    try:
        yield template
    finally:
        template.stdin.close()
        await template.wait()


def assert_once(ended: Sequence[Ended], steps: Sequence[str]) -> None:
    """Check that each run has one release, that none is lost, and none was sealed too late."""
    assert [each.step for each in ended] == [step for step in steps for _ in range(2)]
    for each in ended:
        assert (each.releases, each.told) == (1, 1), each
        if each.revoked_at is None:
            assert each.status == "sealed", each
        elif each.status == "sealed":
            assert each.cut < each.revoked_at, each
        else:
            assert each.outcome == "access_changing", each
