"""A log that comes back older, other or empty: it is refused at the start and while running."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chancery.authority.names import AggregateRef
from chancery.bus.connection import Connection, connect
from chancery.bus.load import last_sequence
from chancery.bus.provision import Plan, apply
from chancery.events.authority import GroupJoined, SourceGranted, SourceGrantRevoked
from chancery.events.envelope import EventData
from chancery.events.queries import Document, OfRun
from chancery.events.topology import AUTHORITY
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.release.adapters.authority_reader import AuthorityReader
from chancery.release.adapters.sealed import Releases
from chancery.release.errors import ForeignLog, LogRegressed, LogUnchecked
from chancery.release.handlers.barrier import Barrier
from chancery.release.handlers.disclosing import Discloser
from chancery.release.handlers.gate import Gate
from chancery.release.ports.position import Position
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.own_servers import Nats, own_nats
from tests.integration.release.rounds import unread_checkpoints
from tests.integration.release.stage import playing
from tests.integration.release.test_projection import (
    append,
    fill,
    principal_ref,
    projector,
    running,
)
from tests.integration.release.world import World, request_of

pytestmark = pytest.mark.integration

TEXT = "Service reviews are owned by Mara Lindt.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
READER = "bert"


async def project(bus: Connection, database: Database, last: int) -> None:
    async with running(projector(bus, database)) as subject:
        await subject.position.wait(last, timeout_s=30)


@pytest.mark.req("EV-5", "EV-10")
@pytest.mark.parametrize(("grown", "code"), [(0, "log_regressed"), (9, "log_different")])
async def test_a_restored_older_store_is_refused_at_the_start(
    database: Database, tmp_path: Path, grown: int, code: str
) -> None:
    with own_nats(tmp_path / "nats") as server:
        async with connect(server.url, name="test") as bus:
            await apply(bus)
            await fill(bus, 2)
        server.keep()
        async with connect(server.url, name="test") as bus:
            last = await append(bus, principal_ref("p9"), GroupJoined(group="staff"))
            await project(bus, database, last)
            # The control: the same store, started again, is taken.
            assert (await projector(bus, database).prepare()).mark.sequence == last
        server.restore()
        async with connect(server.url, name="test") as bus:
            for number in range(grown):
                await append(bus, principal_ref("p8"), GroupJoined(group=f"g{number}"))
            before = (await last_sequence(bus, AUTHORITY)).last

            with pytest.raises(ForeignLog) as caught:
                await projector(bus, database).prepare()

            assert caught.value.code == code
            assert (await last_sequence(bus, AUTHORITY)).last == before


@dataclass(slots=True)
class Told:
    """What a reader was told of a run."""

    run_id: str = ""
    said: list[str] = field(default_factory=list[str])


async def sealed_for_reader(world: World) -> str:
    source = await world.publish_source("dossier", TEXT, visibility="restricted")
    await world.append(source.ref, SourceGranted(grantee=READER))
    run_id = await world.ask(who=READER)
    admitted = await world.admitted(run_id)
    await world.gather(admitted, source)
    await world.propose(admitted, source.quote(QUOTE))
    assert (await world.ended(run_id, who=READER)).status == "sealed"
    return run_id


async def read_directly(world: World, run_id: str) -> str:
    """Return the status that a reader is told, or the code of the failure."""
    disclosures = world.parts.disclosures
    request = request_of("answer", OfRun(run_id=run_id), who=READER)
    try:
        found: Document = await disclosures.answer(request)
    except ChanceryError as error:
        return error.code
    return found.status


async def insist(world: World, ref: AggregateRef, data: EventData) -> int:
    """Append as soon as the server takes it."""

    async def appended() -> int | None:
        try:
            return await world.append(ref, data)
        except Unavailable:
            return None

    sequence = await eventually(appended, 60)
    assert sequence is not None
    return sequence


async def revoke_on_a_shorter_log(server: Nats, world: World, run_id: str) -> None:
    """Lose the end of the log under the running service, then revoke on what is left of it."""
    server.keep()
    last = 0
    for number in range(5):
        last = await insist(world, principal_ref("p9"), GroupJoined(group=f"g{number}"))
    await world.parts.authority.position.wait(last, timeout_s=30)
    await eventually(lambda: _is(world, run_id, "sealed"))
    server.restore()
    revoked = SourceGrantRevoked(grantee=READER)
    assert await insist(world, world.sources["dossier"].ref, revoked) < last


async def _is(world: World, run_id: str, status: str) -> bool:
    return await read_directly(world, run_id) == status


async def read_until_stopped(world: World, run_id: str, told: list[str]) -> None:
    async with asyncio.timeout(60):
        while True:
            told.append(await read_directly(world, run_id))


async def read_believing(server: Nats, database: Database, run_id: str) -> str:
    """Read as a service would that believes whatever the server says now."""
    async with (
        connect(server.url, name="test") as bus,
        await open_pool(database.dsn("release"), name="test") as pool,
    ):

        async def believed() -> int:
            return (await last_sequence(bus, AUTHORITY)).last

        barrier = Barrier(believed, Passed())
        reader, releases = AuthorityReader(pool), Releases(pool)
        discloser = Discloser(Gate(barrier, reader), reader, releases)
        caller = request_of("answer", OfRun(run_id=run_id), who=READER).caller
        found = await discloser.look(caller, run_id)
    return "withheld" if found.is_withheld else "sealed"


@dataclass(slots=True)
class Passed(Position):
    """A position that was passed, whatever it is."""

    async def wait(self, sequence: int, *, timeout_s: float) -> None:
        """Pass it."""
        self.advance(sequence)


async def shrink_and_read(server: Nats, database: Database, folder: Path, told: Told) -> None:
    async with playing(server.url, database, folder) as world:
        told.run_id = await sealed_for_reader(world)
        await revoke_on_a_shorter_log(server, world, told.run_id)
        await read_until_stopped(world, told.run_id, told.said)


@pytest.mark.req("XB-1", "CL-12", "EV-5")
async def test_a_log_that_shrinks_under_the_running_service_stops_it_and_nothing_is_told(
    database: Database, tmp_path: Path
) -> None:
    told = Told()
    with own_nats(tmp_path / "nats") as server:
        with pytest.raises(ExceptionGroup) as caught:
            await shrink_and_read(server, database, tmp_path / "blobs", told)
        believed = await read_believing(server, database, told.run_id)

    assert caught.group_contains(ForeignLog, depth=None)
    assert "sealed" not in told.said
    # The control: whoever believes the server discloses what was revoked.
    assert believed == "sealed"


async def remake_and_read(server: Nats, database: Database, folder: Path, told: Told) -> None:
    async with playing(server.url, database, folder) as world:
        told.run_id = await sealed_for_reader(world)
        last = world.parts.authority.position.sequence
        assert await read_directly(world, told.run_id) == "sealed"
        # A projector that compares the log stops the service, perhaps before anybody has read.
        async with unread_checkpoints(database):
            await world.bus.jetstream.delete_stream(AUTHORITY)
            await apply(world.bus, Plan(ack_wait_s=2))
            # As long as the one before it, so that its end alone says nothing.
            while (await last_sequence(world.bus, AUTHORITY)).last < last:
                await append(world.bus, principal_ref("p8"), GroupJoined(group="staff"))
            told.said.append(await read_directly(world, told.run_id))
        await read_until_stopped(world, told.run_id, told.said)


@pytest.mark.req("XB-1", "EV-5")
async def test_a_log_deleted_and_made_again_under_the_running_service_stops_it(
    database: Database, tmp_path: Path
) -> None:
    told = Told()
    with own_nats(tmp_path / "nats") as server:
        with pytest.raises(ExceptionGroup) as caught:
            await remake_and_read(server, database, tmp_path / "blobs", told)
        believed = await read_believing(server, database, told.run_id)

    assert caught.group_contains(ForeignLog, depth=None)
    assert "log_regressed" in told.said
    assert "sealed" not in told.said
    assert believed == "sealed"


@pytest.mark.req("XB-1")
async def test_after_a_reconnect_nothing_is_told_before_the_log_was_compared(
    database: Database, tmp_path: Path
) -> None:
    with own_nats(tmp_path / "nats") as server:
        async with playing(server.url, database, tmp_path / "blobs") as world:
            barrier = world.parts.admit.gate.barrier
            ahead = Barrier(barrier.read_end, Position(barrier.position.sequence + 100))
            with pytest.raises(LogRegressed):
                await ahead.pass_through()
            await barrier.pass_through()

            await be_unchecked(database, barrier)

            # The projector compares it, and all goes on.
            await eventually(lambda: _passes(barrier))


async def be_unchecked(database: Database, barrier: Barrier) -> None:
    """Pretend a reconnect, and be refused before the projector has compared the log."""
    async with unread_checkpoints(database):
        barrier.position.generation -= 1
        with pytest.raises(LogUnchecked):
            await barrier.pass_through()


async def _passes(barrier: Barrier) -> bool:
    try:
        return await barrier.pass_through() > 0
    except LogUnchecked:
        return False
