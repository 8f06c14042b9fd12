"""Parked messages over the bus: an operator looks at them, retries them, discards them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from chancery.bus.connection import Connection
from chancery.bus.connection import connect as connect_bus
from chancery.bus.load import Stored, last_message, last_sequence, message_at
from chancery.bus.publish import Outgoing, publish_message
from chancery.client.command.operator import ask_owner
from chancery.client.command.parked import Wanted, find_parked
from chancery.events.codec import decode
from chancery.events.envelope import Event
from chancery.events.parked import (
    DiscardOutcome,
    DiscardParked,
    FindParked,
    OfParked,
    ParkedDiscarded,
    ParkedEntries,
    ParkedEntry,
    ParkedRetried,
    RetryParked,
)
from chancery.events.topology import PARKED, PARKING, command_subject, parked_subject, query_subject
from chancery.kernel.errors import Conflict, NotFound, Rejected, Unavailable
from chancery.kernel.ids import random_id
from chancery.runtime.delivery import RETRIES_EXHAUSTED, Delivery
from chancery.runtime.parking import ParkedMessage, PostgresParking
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.store.pool import Pool, connect, open_pool
from chancery.testkit.nats import NatsAccess
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.runtime.parts import CANCELLED, cancelled, running, send, served

pytestmark = [pytest.mark.integration, pytest.mark.req("EV-7")]

SECRET = "the merger is planned for May"


@dataclass
class Handler:
    """Fails while it has errors to raise; counts what it handled."""

    errors: list[Exception]
    handled: int = 0
    delivered: int = 0

    async def handle(self, event: Event, delivery: Delivery) -> None:
        """Handle one event, or fail as told."""
        del event, delivery
        self.delivered += 1
        if self.errors:
            raise self.errors.pop(0)
        self.handled += 1


@pytest.fixture
async def pool(database: Database) -> AsyncGenerator[Pool]:
    """Yield release's own pool."""
    async with await open_pool(database.dsn("release"), name="tests") as opened:
        yield opened


def with_worker(
    handler: Callable[[Event, Delivery], Awaitable[None]], pool: Pool, *, deliveries_max: int = 2
) -> Callable[[Service], None]:
    def register(service: Service) -> None:
        service.worker(
            CANCELLED,
            handler,
            parking=PostgresParking(pool, "release"),
            workers=1,
            deliveries_max=deliveries_max,
        )

    return register


@asynccontextmanager
async def attended(
    connection: Connection, settings: ServiceSettings, register: Callable[[Service], None]
) -> AsyncGenerator[None]:
    """Run a service until the end of the block, which begins when an operator is answered."""
    async with running(settings, register):
        # The last of what an operator may ask.
        await served(connection, command_subject("release", "discard-parked"))
        yield


async def find(bus: Connection, wish: FindParked | None = None) -> list[ParkedEntry]:
    subject = query_subject("release", "parked")
    answer = await ask_owner(bus, subject, wish or FindParked(), ParkedEntries)
    return list(answer.entries)


async def retry(bus: Connection, sequence: int) -> ParkedRetried:
    body = RetryParked(consumer=CANCELLED.name, sequence=sequence)
    return await ask_owner(bus, command_subject("release", "retry-parked"), body, ParkedRetried)


async def discard(bus: Connection, sequence: int, reason: str) -> DiscardOutcome:
    body = DiscardParked(consumer=CANCELLED.name, sequence=sequence, reason=reason)
    return await ask_owner(bus, command_subject("release", "discard-parked"), body, DiscardOutcome)


async def parked(bus: Connection, event: Event) -> int:
    """Send an event and return its sequence once it is parked."""
    sequence = await send(bus, event)
    wish = FindParked(consumer=CANCELLED.name, sequence=sequence)

    async def is_there() -> bool:
        return len(await find(bus, wish)) == 1

    await eventually(is_there)
    return sequence


async def test_what_is_parked_is_shown_without_its_content(
    connection: Connection, own_login: ServiceSettings, pool: Pool
) -> None:
    broken = f'{{"id":"e1","type":"chancery.run.cancelled.v1","subject":"{SECRET}","data":'
    broken += f'{{"run_id":"r1","credential_id":"{SECRET}","text":"{SECRET}"}}}}'

    async with attended(connection, own_login, with_worker(Handler([]).handle, pool)):
        outgoing = Outgoing(
            subject="run.t1.r1.cancelled", payload=broken.encode(), message_id=random_id()
        )
        sequence = (await publish_message(connection, outgoing)).sequence
        await eventually(lambda: _count(pool, 1))
        (entry,) = await find(connection)

    assert (entry.consumer, entry.stream, entry.sequence) == (CANCELLED.name, "RUNS", sequence)
    assert (entry.state, entry.reason, entry.attempts) == ("parked", "invalid_event", 1)
    assert (entry.event_id, entry.event_type) == ("e1", "chancery.run.cancelled.v1")
    assert entry.attributes["data.run_id"] == "r1"
    assert SECRET not in entry.model_dump_json()
    assert SECRET in broken


async def test_a_retry_hands_the_message_to_its_handler_and_resolves_it(
    connection: Connection, own_login: ServiceSettings, pool: Pool
) -> None:
    handler = Handler([Rejected("no", code="not_ours")])

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequence = await parked(connection, cancelled())
        retried = await retry(connection, sequence)
        waiting = await find(connection)
        (entry,) = await find(connection, FindParked(resolved=True))
        with pytest.raises(Conflict) as again:
            await retry(connection, sequence)

    assert (retried.outcome, retried.attempts, handler.handled) == ("handled", 2, 1)
    assert waiting == []
    assert (entry.state, entry.resolved_at is not None) == ("retried", True)
    assert again.value.code == "parked_resolved"
    assert handler.delivered == 2


async def test_a_retry_that_fails_parks_again_with_the_new_reason_and_count(
    connection: Connection, own_login: ServiceSettings, pool: Pool
) -> None:
    away = [Unavailable("away") for _ in range(4)]
    handler = Handler([Rejected("no", code="not_ours"), *away[:2], Rejected("no", code="worse")])

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequence = await parked(connection, cancelled())
        first = await retry(connection, sequence)
        second = await retry(connection, sequence)
        (entry,) = await find(connection)

    assert (first.outcome, first.reason, first.attempts) == ("parked", RETRIES_EXHAUSTED, 3)
    assert (second.outcome, second.reason, second.attempts) == ("parked", "worse", 4)
    assert (entry.reason, entry.attempts, entry.state) == ("worse", 4, "parked")


async def test_a_crash_between_handling_and_marking_leaves_the_message_to_be_retried(
    connection: Connection, own_login: ServiceSettings, pool: Pool, database: Database
) -> None:
    handler = Handler([Rejected("no", code="not_ours")])

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequence = await parked(connection, cancelled())
        async with connect(database.superuser_dsn, name="tests") as db:
            await db.execute("REVOKE UPDATE ON release.parked FROM chancery_release")
            with pytest.raises(Unavailable):
                await retry(connection, sequence)
            assert [entry.state for entry in await find(connection)] == ["parked"]
            await db.execute("GRANT UPDATE ON release.parked TO chancery_release")
        again = await retry(connection, sequence)

    assert again.outcome == "handled"
    assert handler.handled == 2


async def test_what_was_retried_and_fails_once_more_is_parked_again(
    connection: Connection, own_login: ServiceSettings, pool: Pool
) -> None:
    handler = Handler([Rejected("no", code="not_ours")])

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequence = await parked(connection, cancelled())
        await retry(connection, sequence)
    row = await pool.fetchrow("SELECT * FROM release.parked")
    assert row is not None
    parking = PostgresParking(pool, "release")
    stored = Stored(
        sequence=row["sequence"],
        subject=row["subject"],
        payload=row["payload"],
        time=row["parked_at"],
        message_id=row["message_id"],
    )
    again = ParkedMessage(
        stream=row["stream"],
        consumer=row["consumer"],
        stored=stored,
        reason="worse",
        attempts=1,
        tenant=row["tenant"],
    )
    await parking.park(again)
    await parking.park(again)

    found = await pool.fetchrow("SELECT * FROM release.parked")
    assert found is not None
    assert (found["reason"], found["attempts"], found["resolved_at"]) == ("worse", 3, None)


async def test_another_message_at_the_same_place_is_never_handled_in_its_stead(
    connection: Connection, own_login: ServiceSettings, pool: Pool, database: Database
) -> None:
    handler = Handler([Rejected("no", code="not_ours")])

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequence = await parked(connection, cancelled())
        async with connect(database.superuser_dsn, name="tests") as db:
            await db.execute("UPDATE release.parked SET payload = '{}'")
        with pytest.raises(Conflict) as caught:
            await retry(connection, sequence)

    assert caught.value.code == "log_different"
    assert handler.handled == 0


async def test_discarding_is_an_event_and_happens_once(
    connection: Connection, own_login: ServiceSettings, pool: Pool
) -> None:
    handler = Handler([Rejected("no", code="not_ours")])
    event = cancelled()

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequence = await parked(connection, event)
        first = await discard(connection, sequence, "a test of ours")
        second = await discard(connection, sequence, "once more")
        with pytest.raises(Conflict):
            await retry(connection, sequence)
        (entry,) = await find(connection, FindParked(resolved=True))

    name = f"{CANCELLED.name}-{sequence}"
    stored = await last_message(connection, PARKED, parked_subject("release", "t1", name))
    assert stored is not None
    data = decode(stored.payload).data
    assert isinstance(data, ParkedDiscarded)
    assert (data.reason, data.reason_code, data.event_id) == (
        "a test of ours",
        "not_ours",
        event.id,
    )
    assert (first.changed, second.changed) == (True, False)
    assert first.event_id == second.event_id
    assert (await last_sequence(connection, PARKED)).last == 1
    assert (entry.state, entry.note) == ("discarded", "a test of ours")


async def test_a_crash_between_the_event_and_the_mark_leaves_one_event(
    connection: Connection, own_login: ServiceSettings, pool: Pool, database: Database
) -> None:
    async with attended(connection, own_login, with_worker(Handler([Rejected("no")]).handle, pool)):
        sequence = await parked(connection, cancelled())
        async with connect(database.superuser_dsn, name="tests") as db:
            await db.execute("REVOKE UPDATE ON release.parked FROM chancery_release")
            with pytest.raises(Unavailable):
                await discard(connection, sequence, "a test of ours")
            states = [entry.state for entry in await find(connection)]
            await db.execute("GRANT UPDATE ON release.parked TO chancery_release")
        outcome = await discard(connection, sequence, "a test of ours")
        left = await find(connection)

    assert (states, left, outcome.changed) == (["parked"], [], False)
    assert (await last_sequence(connection, PARKED)).last == 1


async def test_what_is_too_old_for_its_stream_is_handled_from_the_parked_copy(
    connection: Connection, own_login: ServiceSettings, pool: Pool
) -> None:
    handler = Handler([Rejected("no", code="not_ours")])

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequence = await parked(connection, cancelled())
        await connection.jetstream.purge_stream("RUNS")
        assert await message_at(connection, "RUNS", sequence) is None
        retried = await retry(connection, sequence)

    assert (retried.outcome, handler.handled) == ("handled", 1)


async def test_a_service_that_does_not_answer_is_named(connection: Connection) -> None:
    found = await find_parked(connection, Wanted())

    assert found.entries == []
    assert set(found.failures) == set(PARKING)


async def test_no_service_reaches_what_another_has_parked(
    connection: Connection, own_login: ServiceSettings, pool: Pool, nats_access: NatsAccess
) -> None:
    url, prefix = nats_access.service_urls["gateway"], nats_access.api_prefix
    handler = Handler([Rejected("no", code="not_ours")])

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequence = await parked(connection, cancelled())
        async with connect_bus(url, name="tests", api_prefix=prefix) as gateway:
            with pytest.raises(Unavailable):
                await find(gateway)
            with pytest.raises(Unavailable):
                await retry(gateway, sequence)
            with pytest.raises(Unavailable):
                await discard(gateway, sequence, "in the way")
        left = await find(connection)

    assert [entry.sequence for entry in left] == [sequence]
    assert handler.handled == 0


async def test_an_authority_event_is_never_discarded(
    connection: Connection, own_login: ServiceSettings, pool: Pool, database: Database
) -> None:
    async with attended(connection, own_login, with_worker(Handler([Rejected("no")]).handle, pool)):
        sequence = await parked(connection, cancelled())
        async with connect(database.superuser_dsn, name="tests") as db:
            await db.execute("UPDATE release.parked SET stream = 'AUTHORITY'")
        with pytest.raises(Rejected) as caught:
            await discard(connection, sequence, "it is in the way")
        states = [entry.state for entry in await find(connection)]

    assert caught.value.code == "authority_event"
    assert states == ["parked"]
    assert (await last_sequence(connection, PARKED)).last == 0


async def test_what_is_not_parked_is_not_found(
    connection: Connection, own_login: ServiceSettings, pool: Pool
) -> None:
    async with attended(connection, own_login, with_worker(Handler([]).handle, pool)):
        with pytest.raises(NotFound):
            await retry(connection, 4711)


async def test_pages_follow_on_without_a_gap(
    connection: Connection, own_login: ServiceSettings, pool: Pool
) -> None:
    handler = Handler([Rejected("no", code="not_ours") for _ in range(5)])

    async with attended(connection, own_login, with_worker(handler.handle, pool)):
        sequences = [await send(connection, cancelled()) for _ in range(5)]
        await eventually(lambda: _count(pool, 5))
        seen: list[int] = []
        after: OfParked | None = None
        while page := await find(connection, FindParked(after=after, limit=2)):
            seen += [entry.sequence for entry in page]
            after = OfParked(consumer=page[-1].consumer, sequence=page[-1].sequence)

    assert seen == sequences


async def _count(pool: Pool, wanted: int) -> bool:
    return await pool.fetchval("SELECT count(*) FROM release.parked") == wanted
