"""With a part away or behind, every question and every seal is unavailable and tells nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from chancery.authority.names import principal_ref
from chancery.events.authority import GroupJoined
from chancery.events.requests import Message, Request
from chancery.events.run import RunAdmitted
from chancery.events.topology import REQUESTS
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.runtime.service import Service
from chancery.testkit.waiting import eventually
from tests.integration.release.own_servers import Nats, Server, own_nats, own_postgres
from tests.integration.release.published import Published
from tests.integration.release.rounds import paused_projection
from tests.integration.release.stage import playing
from tests.integration.release.test_seal import QUOTE, TEXT, propose_with
from tests.integration.release.world import WORKSPACE, World, request_of

pytestmark = pytest.mark.integration

BodyT = TypeVar("BodyT", bound=Message)
AnswerT = TypeVar("AnswerT", bound=Message)

DEADLINE_S = 5.0
"""As long as the gateway waits for an answer."""
SEAL_DEADLINE_S = 10.0


ASKED = {
    each.subject for each in REQUESTS if each.server == "release" and "gateway" in each.clients
}
"""Whatever a caller can ask of release, by the topology: nothing can be forgotten here."""


@dataclass(slots=True)
class Route:
    """A request subject as the service answers it, and a body that it answers."""

    subject: str
    body_type: type[Message]
    handler: Callable[..., Awaitable[Message]]

    def body(self, known: Mapping[str, Json]) -> Message:
        """Return a body; a field that is new here needs a value in `known_fields`."""
        wanted = {name for name, each in self.body_type.model_fields.items() if each.is_required()}
        return self.body_type.model_validate({name: known[name] for name in wanted}, strict=False)

    async def ask(self, known: Mapping[str, Json]) -> Message:
        """Ask the handler; the same key each time, so that a repeat changes nothing."""
        request: Request[Message] = request_of(
            self.subject, self.body(known), who="anna", key="the-same"
        )
        return await self.handler(request)


@dataclass(slots=True)
class Stage:
    """The service with everything that it answers, and runs that wait for their seal."""

    world: World
    nats: Nats
    postgres: Server
    routes: Mapping[str, Route]
    known: Mapping[str, Json]
    waiting: list[tuple[RunAdmitted, Published]]


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a question: answered or refused, unavailable, or broken; and how soon."""

    subject: str
    outcome: str
    seconds: float


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Generator[dict[str, Route]]:
    """Yield what services register while they start."""
    routes: dict[str, Route] = {}
    register = Service.responder

    def responder(
        self: Service,
        subject: str,
        body_type: type[BodyT],
        handler: Callable[[Request[BodyT]], Awaitable[AnswerT]],
        *,
        concurrency: int = 32,
    ) -> None:
        routes[subject] = Route(subject, body_type, handler)
        register(self, subject, body_type, handler, concurrency=concurrency)

    with monkeypatch.context() as patched:
        patched.setattr(Service, "responder", responder)
        yield routes


async def known_fields(world: World, source: Published) -> Mapping[str, Json]:
    """Return a value for every field of every question, each of something that is there."""
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    posted = await world.post()
    return {
        "after": 0,
        "bounds": {},
        "conversation_id": posted.conversation_id,
        "corpus_id": "laws",
        "credential_id": "c-anna",
        "kind": "source",
        "question_characters": 20,
        "question_sha256": posted.question_sha256,
        "resource_id": source.source_id,
        "revision": 1,
        "run_id": run_id,
        "source": source.source_id,
        "workspace_id": WORKSPACE,
    }


@asynccontextmanager
async def staged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Stage]:
    """Run release on servers of its own."""
    async with AsyncExitStack() as stack:
        nats = stack.enter_context(own_nats(folder / "nats"))
        postgres, database = stack.enter_context(own_postgres(folder / "pg"))
        routes = stack.enter_context(recorded(monkeypatch))
        world = await stack.enter_async_context(playing(nats.url, database, folder / "blobs"))
        source = await world.publish_source("handbook", TEXT)
        known = await known_fields(world, source)
        waiting = [await gathered(world, source) for _ in FAULTS]
        yield Stage(world, nats, postgres, routes, known, waiting)


async def gathered(world: World, source: Published) -> tuple[RunAdmitted, Published]:
    """Play a run until only its seal is left."""
    admitted = await world.admitted(await world.ask())
    await world.gather(admitted, source)
    return admitted, source


async def told(stage: Stage, route: Route) -> Told:
    """Ask one question."""
    began, outcome = time.monotonic(), "answered"
    try:
        async with asyncio.timeout(3 * SEAL_DEADLINE_S):
            await route.ask(stage.known)
    except Unavailable:
        outcome = "unavailable"
    except ChanceryError:
        outcome = "answered"
    except Exception as error:  # noqa: BLE001 - its kind is what the test is about
        outcome = type(error).__name__
    return Told(route.subject, outcome, time.monotonic() - began)


async def told_all(stage: Stage) -> list[Told]:
    """Ask every question at once."""
    return await asyncio.gather(*(told(stage, stage.routes[subject]) for subject in ASKED))


@asynccontextmanager
async def nats_stopped(stage: Stage) -> AsyncGenerator[None]:
    """Stop NATS, and start it again."""
    stage.nats.end()
    try:
        yield
    finally:
        stage.nats.begin()


@asynccontextmanager
async def nats_paused(stage: Stage) -> AsyncGenerator[None]:
    """Let NATS answer nothing, with its connections open."""
    stage.nats.pause()
    try:
        yield
    finally:
        stage.nats.go_on()


@asynccontextmanager
async def postgres_stopped(stage: Stage) -> AsyncGenerator[None]:
    """Stop PostgreSQL, and start it again."""
    stage.postgres.end()
    try:
        yield
    finally:
        stage.postgres.begin()


@asynccontextmanager
async def postgres_paused(stage: Stage) -> AsyncGenerator[None]:
    """Let PostgreSQL answer nothing, with its connections open."""
    stage.postgres.pause()
    try:
        yield
    finally:
        stage.postgres.go_on()


@asynccontextmanager
async def projector_paused(stage: Stage) -> AsyncGenerator[None]:
    """Hold the projection while the log goes on."""
    async with paused_projection(stage.world.database):
        await stage.world.append(principal_ref("dora"), GroupJoined(group="staff"))
        yield


Fault = Callable[[Stage], AbstractAsyncContextManager[None]]
FAULTS: Mapping[str, Fault] = {
    "the projector is paused": projector_paused,
    "postgres is paused": postgres_paused,
    "postgres is stopped": postgres_stopped,
    "nats is paused": nats_paused,
    "nats is stopped": nats_stopped,
}


async def seal_fails(stage: Stage, admitted: RunAdmitted, source: Published) -> float:
    """Propose under a fault; return how long it took to be unavailable."""
    began = time.monotonic()
    position = stage.world.parts.authority.position
    with pytest.raises(Unavailable):
        async with asyncio.timeout(3 * SEAL_DEADLINE_S):
            await propose_with(stage.world, position, admitted, source)
    return time.monotonic() - began


async def recovers(stage: Stage) -> None:
    """Wait until every question is answered again."""

    async def answers() -> bool:
        return {each.outcome for each in await told_all(stage)} == {"answered"}

    await eventually(answers, 40)


async def check(stage: Stage, name: str) -> None:
    """Ask and seal at once under one fault, then see that all goes on."""
    admitted, source = stage.waiting.pop()
    async with FAULTS[name](stage):
        outcomes, sealing_s = await asyncio.gather(
            told_all(stage), seal_fails(stage, admitted, source)
        )
    assert {each.outcome for each in outcomes} == {"unavailable"}, (name, outcomes)
    assert max(each.seconds for each in outcomes) < DEADLINE_S, (name, outcomes)
    assert sealing_s < SEAL_DEADLINE_S, name
    await recovers(stage)
    assert await stage.world.count("release", admitted.run_id) == 0
    position = stage.world.parts.authority.position
    await propose_with(stage.world, position, admitted, source)
    assert (await stage.world.ended(admitted.run_id)).status == "sealed"


@pytest.mark.req("KO-9", "CL-12", "CL-14", "XB-1")
async def test_with_a_part_away_every_read_and_every_seal_is_unavailable_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(tmp_path, monkeypatch) as stage:
        assert set(stage.routes) >= ASKED
        # The control: with every part there, every question is answered.
        assert {each.outcome for each in await told_all(stage)} == {"answered"}

        for name in FAULTS:
            await check(stage, name)
