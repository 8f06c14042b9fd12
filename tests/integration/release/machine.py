"""A state machine over the real service beside a small pure model of who may see what.

The model knows three restricted sources and one reader. It foretells the outcome of every ask, seal
and disclosure, whatever was granted, revoked, published, withdrawn, restarted or rebuilt before.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chancery.authority.names import source_ref
from chancery.events.authority import SourceGranted, SourceGrantRevoked, SourceRestored
from chancery.testkit.nats import delete_streams
from chancery.testkit.postgres import Database, create_database, drop_database
from chancery.testkit.servers import run_apart
from chancery.testkit.waiting import eventually
from tests.integration.release.published import Published
from tests.integration.release.stage import playing
from tests.integration.release.test_rebuild import authority, index
from tests.integration.release.world import WORKSPACE, World, parse

T = TypeVar("T")

READER = "bert"
QUOTE = "Service reviews are owned by Mara Lindt."
TEXT = QUOTE + " Revision {revision}.\n"
NAMES = ("alpha", "beta", "gamma")
RESULT_S = 60


@dataclass(slots=True)
class Source:
    """What the model knows of a source; revision 0 says that there is none."""

    revision: int = 0
    granted: bool = False
    withdrawn: bool = False

    @property
    def is_readable(self) -> bool:
        """Tell whether the reader may see what it serves."""
        return self.revision > 0 and self.granted and not self.withdrawn


@dataclass(slots=True)
class Run:
    """What the model knows of a run that was admitted."""

    run_id: str
    name: str
    revision: int
    status: str = "open"


@dataclass(slots=True)
class Servers:
    """The servers of a machine, and a fresh database for it."""

    nats_url: str
    postgres_dsn: str
    template: Database


@dataclass(slots=True)
class Model:
    """Who may see what."""

    sources: dict[str, Source] = field(default_factory=lambda: {name: Source() for name in NAMES})
    runs: list[Run] = field(default_factory=list[Run])

    def current(self, run: Run) -> bool:
        """Tell whether the reader may see today what the run was pinned to."""
        source = self.sources[run.name]
        return source.is_readable and source.revision == run.revision


class Life:
    """An event loop in which the service runs from one restart to the next, rule by rule."""

    def __init__(self, servers: Servers, database: Database, folder: Path) -> None:
        self.servers, self.database, self.folder = servers, database, folder
        self.runner = asyncio.Runner()
        self.stop = asyncio.Event()
        self.living: asyncio.Task[None] | None = None
        self.world: World | None = None

    def do(self, work: Coroutine[None, None, T]) -> T:
        """Run a coroutine, and the service beside it."""
        return self.runner.run(work)

    def begin(self, *, is_new: bool) -> None:
        """Start the service and wait until it answers."""
        known = {} if self.world is None else self.world.sources
        self.world = None
        self.stop = asyncio.Event()
        # It lives from rule to rule, which no TaskGroup does; `end` awaits it.
        self.living = asyncio.Task(self._live(is_new=is_new), loop=self.runner.get_loop())
        self.do(self._begun(self.living))
        assert self.world is not None
        self.world.sources.update(known)

    def end(self) -> None:
        """Stop the service."""
        self.stop.set()
        assert self.living is not None
        self.do(self._ended(self.living))

    def crash(self) -> None:
        """End the service without a goodbye: nothing in flight is finished or given back."""
        assert self.living is not None
        self.living.cancel()
        self.do(self._crashed(self.living))

    def close(self) -> None:
        """Stop the service and the loop."""
        self.end()
        self.runner.close()

    async def _live(self, *, is_new: bool) -> None:
        async with playing(
            self.servers.nats_url, self.database, self.folder, provision=is_new
        ) as world:
            self.world = world
            await self.stop.wait()

    async def _begun(self, living: asyncio.Task[None]) -> None:
        await eventually(lambda: self.world is not None or living.done(), RESULT_S)
        if living.done():
            living.result()

    async def _crashed(self, living: asyncio.Task[None]) -> None:
        async with asyncio.timeout(RESULT_S):
            await asyncio.wait([living])

    async def _ended(self, living: asyncio.Task[None]) -> None:
        async with asyncio.timeout(RESULT_S):
            await living


class ReleaseMachine(RuleBasedStateMachine):
    """Each rule does to the service what it does to the model, and compares."""

    servers: ClassVar[Servers]

    def __init__(self) -> None:
        super().__init__()
        servers = self.servers
        self.model = Model()
        self.published: dict[tuple[str, int], Published] = {}
        self.database = run_apart(
            create_database(servers.postgres_dsn, template=servers.template.name)
        )
        self.blobs = tempfile.TemporaryDirectory()
        self.life = Life(servers, self.database, Path(self.blobs.name))
        self.life.begin(is_new=True)

    @property
    def world(self) -> World:
        """Return the world around the service as it runs now."""
        assert self.life.world is not None
        return self.life.world

    def teardown(self) -> None:
        """Stop everything and forget what was stored."""
        self.life.close()
        run_apart(delete_streams(self.servers.nats_url))
        run_apart(drop_database(self.servers.postgres_dsn, self.database.name))
        self.blobs.cleanup()

    @rule(name=st.sampled_from(NAMES))
    def publish(self, name: str) -> None:
        """Publish the next revision of a source that is not withdrawn."""
        self.publish_next(name)

    def publish_next(self, name: str) -> None:
        """Publish the next revision, unless it is withdrawn."""
        source = self.model.sources[name]
        if source.withdrawn:
            return
        source.revision += 1
        text = TEXT.format(revision=source.revision)
        published = self.world.publish_source(name, text, visibility="restricted")
        self.published[name, source.revision] = self.life.do(published)

    @rule(name=st.sampled_from(NAMES))
    def change_grant(self, name: str) -> None:
        """Give the reader access, or take it away."""
        self.toggle_grant(name)

    def toggle_grant(self, name: str) -> None:
        """Give or take."""
        source = self.model.sources[name]
        if source.revision == 0:
            return
        change = SourceGrantRevoked if source.granted else SourceGranted
        source.granted = not source.granted
        self.life.do(self.world.append(source_ref(WORKSPACE, name), change(grantee=READER)))

    @rule(name=st.sampled_from(NAMES))
    def change_serving(self, name: str) -> None:
        """Withdraw a source, or restore it."""
        source = self.model.sources[name]
        if source.revision == 0:
            return
        source.withdrawn = not source.withdrawn
        if source.withdrawn:
            self.life.do(self.world.withdraw(name))
        else:
            self.life.do(self.world.append(source_ref(WORKSPACE, name), SourceRestored()))

    @rule(name=st.sampled_from(NAMES))
    def ask(self, name: str) -> None:
        """Ask about one source; it is admitted exactly when the reader may see it."""
        self.compare_ask(name)

    def compare_ask(self, name: str) -> None:
        """Ask and compare."""
        source = self.model.sources[name]
        run_id = self.life.do(self.world.ask(who=READER, sources=(name,)))
        state = self.life.do(self._settled(run_id))
        assert state == ("admitted" if source.is_readable else "refused")
        if source.is_readable:
            self.model.runs.append(Run(run_id, name, source.revision))

    @precondition(lambda self: any(run.status == "open" for run in self.model.runs))
    @rule(data=st.data())
    def seal(self, data: st.DataObject) -> None:
        """Gather, cut and seal; it is sealed exactly when what was admitted still holds."""
        waiting = [run for run in self.model.runs if run.status == "open"]
        self.compare_seal(data.draw(st.sampled_from(waiting)))

    def compare_seal(self, run: Run) -> None:
        """Seal one run and compare."""
        expected = "sealed" if self.model.current(run) else "refused"
        run.status = self.life.do(self._sealed(run))
        assert run.status == expected

    @precondition(lambda self: any(run.status == "sealed" for run in self.model.runs))
    @rule(data=st.data())
    def disclose(self, data: st.DataObject) -> None:
        """Read a sealed answer; it is shown exactly when the reader may see it today."""
        sealed = [run for run in self.model.runs if run.status == "sealed"]
        self.compare_disclosure(data.draw(st.sampled_from(sealed)))

    def compare_disclosure(self, run: Run) -> None:
        """Read one sealed answer and compare."""
        document = self.life.do(self.world.document("answer", run.run_id, who=READER))
        expected = "sealed" if self.model.current(run) else "withheld"
        assert document.status == expected, f"{document.status}, not {expected}"
        assert (QUOTE in str(parse(document.json_text))) == self.model.current(run)

    @rule()
    def restart(self) -> None:
        """Stop the service and start it on the same servers."""
        self.life.end()
        self.life.begin(is_new=False)

    @precondition(lambda self: any(run.status == "open" for run in self.model.runs))
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """Propose, and end the service at once, in whatever step it is; then start it again."""
        waiting = [run for run in self.model.runs if run.status == "open"]
        self.compare_crash(data.draw(st.sampled_from(waiting)))

    def compare_crash(self, run: Run) -> None:
        """Crash in the middle of a seal; the run ends as if nothing had been."""
        self.life.do(self._proposed(run))
        self.life.crash()
        self.life.begin(is_new=False)
        expected = "sealed" if self.model.current(run) else "refused"
        run.status = self.life.do(self._ended(run))
        assert run.status == expected

    @rule()
    def rebuild(self) -> None:
        """Rebuild both projections and switch to them."""
        self.life.do(self._rebuilt())

    @invariant()
    def each_run_has_at_most_one_release(self) -> None:
        """Count the releases of the last run."""
        if self.model.runs:
            run = self.model.runs[-1]
            count = self.life.do(self.world.count("release", run.run_id))
            assert count == (0 if run.status == "open" else 1)

    async def _settled(self, run_id: str) -> str:
        async def find() -> str | None:
            run = await self.world.parts.admit.runs.read("acme", run_id)
            return None if run is None or run.state == "requested" else run.state

        state = await eventually(find)
        assert state is not None
        return state

    async def _sealed(self, run: Run) -> str:
        await self._proposed(run)
        return await self._ended(run)

    async def _proposed(self, run: Run) -> None:
        admitted = await self.world.admitted(run.run_id)
        pinned = self.published[run.name, run.revision]
        await self.world.gather(admitted, pinned)
        await self.world.propose(admitted, pinned.quote(QUOTE))

    async def _ended(self, run: Run) -> str:
        async def find() -> str | None:
            found = await self.world.parts.admit.runs.read("acme", run.run_id)
            return found.state if found is not None and not found.is_open else None

        state = await eventually(find, 20)
        assert state is not None
        return state

    async def _rebuilt(self) -> None:
        for make in (authority, index):
            rebuild = make(self.world.bus, self.database)
            await rebuild.rebuild(lambda _: None)
            await rebuild.switch()


def machine_on(on: Servers) -> type[ReleaseMachine]:
    """Return the machine that uses these servers."""

    class Bound(ReleaseMachine):
        servers = on

    return Bound
