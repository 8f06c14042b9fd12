"""Wide windows write what one message after the other writes, or nothing at all."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from chancery.authority.names import AggregateRef, dataset_ref, principal_ref
from chancery.bus.load import Stored
from chancery.events.authority import (
    CutTaken,
    DatasetDeclared,
    EventData,
    GroupJoined,
    GroupLeft,
    Measure,
    MemberAdded,
)
from chancery.events.codec import encode
from chancery.events.topology import FENCE_SUBJECT, cut_subject
from chancery.release.adapters import projector, windows
from chancery.release.adapters.authority_rows import AuthorityApplier
from chancery.release.adapters.known_rows import KnownRows
from chancery.release.adapters.projector import Turn
from chancery.release.adapters.windows import way_into
from chancery.release.domain.marks import EMPTY_DIGEST, Mark
from chancery.release.errors import NotTheWriter
from chancery.store.pool import Connection
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from tests.integration.release.messages import TENANT, event_of
from tests.integration.release.test_rebuild import rows_of

pytestmark = pytest.mark.integration

AT = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE = 12
TABLE = dataset_ref("w", "table")


def stored(sequence: int, subject: str, payload: bytes) -> Stored:
    return Stored(sequence, subject, payload, AT, None)


def line(sequence: int, ref: AggregateRef, data: EventData) -> Stored:
    return stored(sequence, ref.subject(TENANT), encode(event_of(data, subject=ref.id)))


def declared(description: str) -> DatasetDeclared:
    return DatasetDeclared(
        workspace_id="w",
        dataset_id="table",
        title="Table",
        visibility="workspace",
        declarer="anna",
        measures=(Measure(name="m", description=description, aggregate="count"),),
    )


def is_never_doubtful(_: Sequence[Stored]) -> bool:
    return False


def log(count: int, seed: int) -> list[Stored]:
    """Return a log in which some events break rules, some cannot be read, and some are no events.

    Sequences have holes, as expired fences leave them.
    """
    chance = random.Random(seed)
    found: list[Stored] = []
    sequence = 0
    for number in range(count):
        sequence += chance.choice((1, 1, 1, 3))
        found.append(_message(chance, number, sequence))
    return found


def _message(chance: random.Random, number: int, sequence: int) -> Stored:
    who = principal_ref(f"p{chance.randrange(PEOPLE)}")
    match chance.randrange(12):
        case 0:
            return stored(sequence, FENCE_SUBJECT, b"{}")
        case 1:
            return stored(sequence, cut_subject(TENANT), _cut(number))
        case 2 if number % 5 == 0:
            return stored(sequence, principal_ref("broken").subject(TENANT), b"{")
        case 3 if number % 4 == 0:
            return line(sequence, TABLE, declared("\0" if number % 8 == 0 else "fine"))
        case 4 if number % 7 == 0:
            return line(sequence, who, GroupLeft(group="none"))
        case _:
            return line(sequence, who, GroupJoined(group=f"g{number}"))


def _cut(number: int) -> bytes:
    cut = CutTaken(
        run_id=f"r{number}",
        generation=1,
        attempt=1,
        read_set=(),
        core_sha256="0" * 64,
        decided_at=AT,
    )
    return encode(event_of(cut, subject=cut.run_id))


@asynccontextmanager
async def begun(database: Database, table_set: int, known: KnownRows) -> AsyncGenerator[Turn]:
    """Yield a turn at an empty table set."""
    async with connect_database(database.dsn("release"), name="test") as db:
        await db.execute(
            "INSERT INTO release.checkpoint (projection, table_set, stream_created, digest)"
            " VALUES ('authority', $1, '', $2)",
            table_set,
            EMPTY_DIGEST,
        )
        yield Turn(db, table_set, AuthorityApplier(known), "authority")


async def one_by_one(database: Database, messages: Sequence[Stored], table_set: int) -> Mark:
    mark = Mark()
    async with begun(database, table_set, KnownRows()) as turn:
        for message in messages:
            mark = await turn.apply(mark, [message])
    return mark


async def in_windows(
    database: Database, messages: Sequence[Stored], table_set: int, *, batch: int = 10
) -> tuple[Mark, int]:
    """Return the mark at the end, and how often the log was read again."""
    mark, again, left = Mark(), 0, list(messages)
    async with begun(database, table_set, KnownRows()) as turn, way_into(turn) as way:
        while left:
            end = left[:batch][-1].sequence
            mark = await way.apply(mark, left[:batch])
            if len(left) <= batch and mark.sequence == end:
                mark = await way.settle(mark)
            again += mark.sequence < end
            left = [message for message in messages if message.sequence > mark.sequence]
    return mark, again


async def overtaken(database: Database, messages: Sequence[Stored]) -> None:
    """Move the checkpoint while a window is open."""
    async with begun(database, 8, KnownRows()) as turn, way_into(turn) as way:
        mark = await way.apply(Mark(), messages)
        async with connect_database(database.superuser_dsn, name="test") as other:
            await other.execute("UPDATE release.checkpoint SET sequence = 1 WHERE table_set = 8")
        await way.settle(mark)


async def checkpoint_of(db: Connection, table_set: int) -> tuple[int, bytes]:
    row = await db.fetchrow(
        "SELECT sequence, digest FROM release.checkpoint"
        " WHERE projection = 'authority' AND table_set = $1",
        table_set,
    )
    assert row is not None
    return row["sequence"], row["digest"]


@pytest.mark.req("EV-5", "EV-6")
@pytest.mark.parametrize(
    ("window_rows", "rows_max", "rows_at_once"), [(1, 100, 1000), (15, 3, 4), (10**9, 100, 5)]
)
async def test_windows_of_any_width_write_what_single_messages_write(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    window_rows: int,
    rows_max: int,
    rows_at_once: int,
) -> None:
    monkeypatch.setattr(windows, "WINDOW_ROWS", window_rows)
    monkeypatch.setattr(windows, "KNOWN_ROWS", rows_max)
    monkeypatch.setattr(windows, "ROWS_AT_ONCE", rows_at_once)
    messages = log(200, seed=rows_max)

    single = await one_by_one(database, messages, 8)
    wide, again = await in_windows(database, messages, 9)

    expected, found = await rows_of(database, 8), await rows_of(database, 9)
    assert (wide, again) == (single, 0)
    assert found == expected
    assert len(expected["aggregate"]) > PEOPLE
    assert "not_storable" in str(expected["quarantine"])
    assert expected["cut"]
    async with connect_database(database.superuser_dsn, name="test") as db:
        assert await checkpoint_of(db, 9) == (single.sequence, single.digest)


@pytest.mark.req("EV-5", "EV-6")
async def test_a_window_that_is_refused_is_read_again_and_stored_narrowly(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "WINDOW_CHARACTERS", 2_000)
    messages = [
        line(number, principal_ref(f"p{number % PEOPLE}"), GroupJoined(group=f"g{number}"))
        for number in range(1, 150)
    ]
    messages[60] = line(61, TABLE, declared("\0"))
    single = await one_by_one(database, messages, 8)
    for module in (windows, projector):
        monkeypatch.setattr(module, "is_doubtful", is_never_doubtful)

    wide, again = await in_windows(database, messages, 9)

    expected, found = await rows_of(database, 8), await rows_of(database, 9)
    assert wide == single
    assert again == 1
    assert found == expected
    assert "not_storable" in str(expected["quarantine"])


async def hidden(database: Database) -> list[str]:
    """Store two declarations in one batch, of which the second replaces what is refused."""
    messages = [line(1, TABLE, declared("\0")), line(2, TABLE, declared("fine"))]
    async with begun(database, 8, KnownRows()) as turn:
        await turn.apply(Mark(), messages)
    return [row.split("'")[5] for row in (await rows_of(database, 8))["quarantine"]]


@pytest.mark.req("EV-5")
async def test_no_later_event_of_a_batch_hides_one_that_is_refused(database: Database) -> None:
    assert await hidden(database) == ["not_storable", "aggregate_frozen"]


async def test_without_being_stored_alone_a_refused_event_is_hidden(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projector, "is_doubtful", is_never_doubtful)

    assert await hidden(database) == []


@pytest.mark.req("EV-5")
async def test_a_window_is_stored_with_its_checkpoint_or_not_at_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "ROWS_AT_ONCE", 2)
    messages = [
        line(number, principal_ref(f"p{number}"), MemberAdded(workspace_id="w", role="reader"))
        for number in range(1, 8)
    ]
    with pytest.raises(NotTheWriter):
        await overtaken(database, messages)

    async with connect_database(database.superuser_dsn, name="test") as db:
        assert await checkpoint_of(db, 8) == (1, EMPTY_DIGEST)
    assert (await rows_of(database, 8))["aggregate"] == []


async def test_a_window_is_stored_when_nobody_moved_the_checkpoint(database: Database) -> None:
    messages = [
        line(number, principal_ref(f"p{number}"), MemberAdded(workspace_id="w", role="reader"))
        for number in range(1, 4)
    ]
    async with begun(database, 8, KnownRows()) as turn, way_into(turn) as way:
        mark = await way.settle(await way.apply(Mark(), messages))

        assert await checkpoint_of(turn.db, 8) == (3, mark.digest)
    assert len((await rows_of(database, 8))["aggregate"]) == 3
