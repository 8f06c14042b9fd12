"""A projection is rebuilt beside the live one and switched to, and nobody notices."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from pydantic import JsonValue, SecretStr

from chancery.authority.names import principal_ref
from chancery.bus.connection import Connection
from chancery.bus.load import last_sequence
from chancery.events.authority import MemberAdded, MemberRemoved, SourceGranted
from chancery.events.topology import (
    AUTHORITY,
    RELEASE_AUTHORITY_REBUILD,
    RELEASE_INDEX_REBUILD,
    consumer,
)
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Conflict, Rejected
from chancery.release.adapters.authority_rows import AuthorityApplier
from chancery.release.adapters.index_rows import IndexApplier
from chancery.release.adapters.log_end import raise_fence
from chancery.release.adapters.table_sets import Rebuild, read_table_sets
from chancery.release.errors import DigestDiffers
from chancery.release.ports.table_sets import Progress
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.world import World, parse

pytestmark = pytest.mark.integration

TEXT = "Service reviews are owned by Mara Lindt.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
ROWS = {
    "aggregate": "tenant, kind, id, workspace_id, serving, published, sequence, frozen,"
    " event_type, event_id, payload_sha256, state",
    "cut": "tenant, sequence, run_id, generation, attempt, digest",
    "quarantine": "tenant, sequence, subject, reason, payload",
    "index_state": "tenant, kind, key, revision, workspace_id, state, sequence,"
    " authority_sequence, entry",
}


def authority(bus: Connection, database: Database) -> Rebuild:
    return Rebuild(
        name="authority",
        bus=bus,
        dsn=SecretStr(database.dsn("release")),
        consumer=consumer(RELEASE_AUTHORITY_REBUILD),
        new_applier=AuthorityApplier,
    )


def index(bus: Connection, database: Database) -> Rebuild:
    return Rebuild(
        name="index",
        bus=bus,
        dsn=SecretStr(database.dsn("release")),
        consumer=consumer(RELEASE_INDEX_REBUILD),
        new_applier=IndexApplier,
    )


async def rows_of(database: Database, table_set: int) -> dict[str, list[str]]:
    async with connect_database(database.superuser_dsn, name="test") as db:
        return {
            table: [
                str(tuple(row))
                for row in await db.fetch(
                    f"SELECT {columns} FROM release.{table} WHERE table_set = $1 ORDER BY 1, 2, 3",
                    table_set,
                )
            ]
            for table, columns in ROWS.items()
        }


async def sets_of(database: Database, projection: str = "authority") -> list[tuple[int, bool]]:
    async with connect_database(database.superuser_dsn, name="test") as db:
        found = await read_table_sets(db)
    return [
        (each.checkpoint.table_set, each.is_live) for each in found if each.projection == projection
    ]


@asynccontextmanager
async def load(world: World, run_id: str) -> AsyncGenerator[list[str]]:
    """Change authority and read a sealed answer all the time; yield what the reads said."""
    told: list[str] = []
    done = asyncio.Event()

    async def change() -> None:
        who = principal_ref("carl")
        while not done.is_set():
            await world.append(who, MemberAdded(workspace_id="other", role="reader"))
            await world.append(who, MemberRemoved(workspace_id="other"))

    async def read() -> None:
        while not done.is_set():
            told.append((await world.document("answer", run_id)).status)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(change())
        tasks.create_task(read())
        try:
            yield told
        finally:
            done.set()


@pytest.mark.req("EV-5", "EV-8")
async def test_a_rebuild_and_a_switch_under_load_fail_no_request(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    waiting = await world.admitted(await world.ask())
    await world.gather(waiting, source)
    reports: list[Progress] = []

    async with load(world, run_id) as told:
        await eventually(lambda: len(told) > 5)
        for rebuild in (authority(world.bus, world.database), index(world.bus, world.database)):
            await rebuild.rebuild(reports.append)
            switched = await rebuild.switch()
            assert (switched.before, switched.after) == (1, 2)
        before = len(told)
        await eventually(lambda: len(told) > before + 5)

    await world.propose(waiting, source.quote(QUOTE))
    assert (await world.ended(waiting.run_id)).status == "sealed"
    assert set(told) == {"sealed"}
    assert {each.projection for each in reports} == {"authority", "index"}
    assert await sets_of(world.database) == [(2, True)]
    assert await sets_of(world.database, "index") == [(2, True)]
    assert set(await emptied(world.database, 1)) == {0}


@pytest.mark.req("EV-5", "EV-8")
async def test_the_command_rebuilds_and_switches_under_load_and_fails_no_request(
    world: World, nats_url: str
) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    environment = {
        **os.environ,
        "CHANCERY_NATS_URL": nats_url,
        "CHANCERY_POSTGRES_DSN": world.database.dsn("release"),
    }

    async with load(world, run_id) as told:
        await eventually(lambda: len(told) > 5)
        rebuilt = await commanded(["projections", "rebuild", "all"], environment)
        switched = await commanded(["projections", "switch", "all"], environment)
        before = len(told)
        await eventually(lambda: len(told) > before + 5)

    digests = {str(each["projection"]): each["digest"] for each in switched}
    assert {str(each["event"]) for each in rebuilt} == {"progress", "rebuilt"}
    assert [each["event"] for each in switched] == ["switched", "switched"]
    assert set(told) == {"sealed"}
    assert await sets_of(world.database) == [(2, True)]
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        live = {each.projection: each.checkpoint for each in await read_table_sets(db)}
    # Nothing moved the index since: its digest is still the one that both sets had.
    assert live["index"].mark.digest.hex() == digests["index"]
    assert live["authority"].mark.sequence >= int(str(switched[0]["sequence"]))


async def commanded(
    arguments: list[str], environment: dict[str, str]
) -> list[dict[str, JsonValue]]:
    """Run the service's command as `chancery projections` does, and return what it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "chancery.release",
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(120):
        output, _ = await process.communicate()
    assert process.returncode == 0
    return [parse(line) for line in output.decode().splitlines() if '"event":' in line]


async def emptied(database: Database, table_set: int) -> list[int]:
    return [len(rows) for rows in (await rows_of(database, table_set)).values()]


@pytest.mark.req("EV-5", "KO-13")
async def test_the_rebuilt_rows_equal_the_live_ones(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    await world.append(source.ref, SourceGranted(grantee="bert"))
    await world.append(source.ref, SourceGranted(grantee="bert"))  # breaks a rule: it freezes
    other = await world.publish_source("other", TEXT)
    run_id = await world.answer_with((other, QUOTE))
    await world.ended(run_id)
    await raise_fence(world.bus, SystemClock())
    await world.append(principal_ref("carl"), MemberAdded(workspace_id="x", role="reader"))
    end = await raise_fence(world.bus, SystemClock())
    await world.parts.authority.position.wait(end, timeout_s=30)

    rebuilt = await authority(world.bus, world.database).rebuild(lambda _: None)
    await index(world.bus, world.database).rebuild(lambda _: None)

    live, fresh = await rows_of(world.database, 1), await rows_of(world.database, 2)
    assert rebuilt.mark.sequence == end
    assert fresh == live
    assert all(live.values())


async def test_an_interrupted_rebuild_goes_on_where_it_stopped(world: World) -> None:
    for number in range(600):
        who = principal_ref(f"p{number % 7}")
        added = MemberAdded(workspace_id=f"w{number}", role="reader")
        await world.append(who, added)
    rebuild = authority(world.bus, world.database)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(rebuild.rebuild(lambda _: None))
        await eventually(lambda: begun(world.database))
        task.cancel()
    firsts: list[int] = []

    rebuilt = await rebuild.rebuild(lambda each: firsts.append(each.sequence))
    await world.parts.authority.position.wait(rebuilt.mark.sequence, timeout_s=60)

    assert await sets_of(world.database) == [(1, True), (2, False)]
    assert rebuilt.mark.sequence == (await last_sequence(world.bus, AUTHORITY)).last
    assert await rows_of(world.database, 2) == {
        **await rows_of(world.database, 1),
        "index_state": [],
    }


async def begun(database: Database) -> bool:
    async with connect_database(database.superuser_dsn, name="test") as db:
        found = await read_table_sets(db)
    return any(not each.is_live and each.checkpoint.mark.sequence > 0 for each in found)


def tampered_digest() -> str:
    return "UPDATE release.checkpoint SET digest = decode(repeat('ab', 32), 'hex')"


@pytest.mark.req("EV-5")
async def test_a_set_with_another_digest_never_goes_live(world: World) -> None:
    rebuild = authority(world.bus, world.database)
    await rebuild.rebuild(lambda _: None)
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        await db.execute(f"{tampered_digest()} WHERE table_set = 2")

    with pytest.raises(DigestDiffers):
        await rebuild.switch()

    assert (1, True) in await sets_of(world.database)
    last = await world.append(principal_ref("carl"), MemberAdded(workspace_id="x", role="reader"))
    await world.parts.authority.position.wait(last, timeout_s=30)


async def test_there_is_nothing_to_switch_to_before_a_rebuild(world: World) -> None:
    with pytest.raises(Rejected) as caught:
        await authority(world.bus, world.database).switch()

    assert caught.value.code == "not_rebuilt"


async def test_one_process_rebuilds_at_a_time(world: World) -> None:
    rebuild = authority(world.bus, world.database)
    entered: list[Progress] = []

    def meanwhile(progress: Progress) -> None:
        entered.append(progress)

    async with rebuild.alone():
        with pytest.raises(Conflict) as caught:
            await rebuild.rebuild(meanwhile)

    assert caught.value.code == "rebuild_running"
    assert entered == []
