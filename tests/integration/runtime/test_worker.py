"""Workers on a real stream: done once, retried with a delay, parked, given back, and watched."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from pydantic import BaseModel

from chancery.bus import provision
from chancery.bus.connection import Connection
from chancery.bus.consumers import consumer_state
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.envelope import Event
from chancery.events.topology import RUNS
from chancery.kernel.errors import Conflict, Rejected, Unavailable
from chancery.kernel.ids import random_id
from chancery.runtime.delivery import RETRIES_EXHAUSTED, Delivery, Handler
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.integration.runtime.parts import (
    ACK_WAIT_S,
    CANCELLED,
    MemoryParking,
    cancelled,
    get,
    is_ready,
    is_settled,
    ready,
    running,
    send,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def settings(own_login: ServiceSettings) -> ServiceSettings:
    """Return release's own login: workers run as they do in production."""
    return own_login


class Empty(BaseModel):
    """An answer whose fields do not matter."""


class Recorder:
    """A handler that notes its deliveries and fails as it is told."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.seen: list[tuple[Event, Delivery]] = []
        self.moments: list[float] = []

    async def handle(self, event: Event, delivery: Delivery) -> None:
        self.seen.append((event, delivery))
        self.moments.append(time.monotonic())
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error

    @property
    def attempts(self) -> list[int]:
        return [delivery.attempt for _, delivery in self.seen]


def with_worker(
    handler: Handler, parking: MemoryParking, *, workers: int = 4, deliveries_max: int = 8
) -> Callable[[Service], None]:
    def register(service: Service) -> None:
        service.worker(
            CANCELLED, handler, parking=parking, workers=workers, deliveries_max=deliveries_max
        )

    return register


async def elapsed(seconds: float) -> None:
    """Return when so much time has passed: the work of a handler."""
    end = time.monotonic() + seconds
    await eventually(lambda: time.monotonic() >= end)


async def test_an_event_is_handled_once_and_acknowledged(
    connection: Connection, settings: ServiceSettings
) -> None:
    recorder, parking = Recorder(), MemoryParking()
    event = cancelled()

    async with running(settings, with_worker(recorder.handle, parking)):
        sequence = await send(connection, event)
        await eventually(lambda: is_settled(connection))

    (seen, delivery), *rest = recorder.seen
    assert rest == []
    assert seen == event
    assert (delivery.sequence, delivery.attempt, delivery.message_id) == (sequence, 1, event.id)
    assert parking.parked == []


async def test_an_event_that_is_passed_over_is_acknowledged_and_not_handled(
    connection: Connection, settings: ServiceSettings
) -> None:
    recorder, parking = Recorder(), MemoryParking()

    def register(service: Service) -> None:
        types = [cancelled().envelope.type]
        service.worker(CANCELLED, recorder.handle, parking=parking, workers=2, passes_over=types)

    async with running(settings, register):
        for _ in range(5):  # More than workers: what is passed over holds none of them.
            await send(connection, cancelled())
        await eventually(lambda: is_settled(connection))
        assert (recorder.seen, parking.parked) == ([], [])
        # Whoever states no type at all is still handled, which is: parked.
        nameless = Outgoing(subject="run.t1.r1.cancelled", payload=b"{}", message_id=random_id())
        await publish_message(connection, nameless)
        await eventually(lambda: [one.stored.payload for one in parking.parked] == [b"{}"])

    assert recorder.seen == []


async def test_an_event_reaches_an_idle_worker_within_milliseconds(
    connection: Connection, settings: ServiceSettings
) -> None:
    arrived = asyncio.Event()

    async def handle(event: Event, delivery: Delivery) -> None:
        del event, delivery
        arrived.set()

    async with running(settings, with_worker(handle, MemoryParking())) as service:
        await eventually(lambda: is_ready(service))

        async def delay_s() -> float:
            arrived.clear()
            began = time.perf_counter()
            await send(connection, cancelled())
            await asyncio.wait_for(arrived.wait(), WITHIN_S)
            return time.perf_counter() - began

        async def is_prompt() -> bool:
            return sorted([await delay_s() for _ in range(20)])[10] < 0.1

        # A busy machine has quiet moments; one that only looks now and then is late in each.
        assert await eventually(is_prompt)


@pytest.mark.parametrize("error", [Unavailable("away"), Conflict("raced"), RuntimeError("bug")])
async def test_a_transient_failure_is_delivered_again_after_a_delay(
    connection: Connection, settings: ServiceSettings, error: Exception
) -> None:
    recorder, parking = Recorder(error, error), MemoryParking()

    async with running(settings, with_worker(recorder.handle, parking)):
        await send(connection, cancelled())
        await eventually(lambda: len(recorder.seen) == 3)
        await eventually(lambda: is_settled(connection))

    assert recorder.attempts == [1, 2, 3]
    assert recorder.moments[1] - recorder.moments[0] >= 0.19
    assert recorder.moments[2] - recorder.moments[1] >= 0.38
    assert parking.parked == []


async def test_what_can_never_succeed_is_parked_at_once(
    connection: Connection, settings: ServiceSettings
) -> None:
    recorder = Recorder(Rejected("no", code="not_ours"), None)
    parking = MemoryParking()
    event = cancelled()

    async with running(settings, with_worker(recorder.handle, parking, workers=1)):
        sequence = await send(connection, event)
        await send(connection, cancelled())
        await eventually(lambda: is_settled(connection))

    assert recorder.attempts == [1, 1]
    (parked,) = parking.parked
    assert (parked.reason, parked.attempts, parked.tenant) == ("not_ours", 1, "t1")
    assert (parked.stored.sequence, parked.stored.message_id) == (sequence, event.id)


async def test_a_message_that_cannot_be_decoded_is_parked_and_blocks_nobody(
    connection: Connection, settings: ServiceSettings
) -> None:
    recorder, parking = Recorder(), MemoryParking()
    broken = Outgoing(subject="run.t1.r1.cancelled", payload=b"\xff{", message_id=random_id())

    async with running(settings, with_worker(recorder.handle, parking, workers=1)):
        await publish_message(connection, broken)
        await send(connection, cancelled())
        await eventually(lambda: is_settled(connection))

    assert [item.reason for item in parking.parked] == ["malformed_event"]
    assert parking.parked[0].stored.payload == broken.payload
    assert len(recorder.seen) == 1


async def test_a_message_that_fails_too_often_is_parked(
    connection: Connection, settings: ServiceSettings
) -> None:
    recorder = Recorder(*[Unavailable("away")] * 9)
    parking = MemoryParking()

    async with running(settings, with_worker(recorder.handle, parking, deliveries_max=3)):
        await send(connection, cancelled())
        await eventually(lambda: parking.parked)
        await eventually(lambda: is_settled(connection))

    assert recorder.attempts == [1, 2, 3]
    assert [(item.reason, item.attempts) for item in parking.parked] == [(RETRIES_EXHAUSTED, 3)]


async def test_a_message_is_kept_while_it_cannot_be_parked(
    connection: Connection, settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chancery.runtime.acking.PARKING_DELAY_S", 0.1)
    recorder = Recorder(*[Rejected("no")] * 3)
    parking = MemoryParking(failures=2)

    async with running(settings, with_worker(recorder.handle, parking)):
        await send(connection, cancelled())
        await eventually(lambda: parking.parked)
        await eventually(lambda: is_settled(connection))

    assert recorder.attempts == [1, 2, 3]
    assert len(parking.parked) == 1


async def test_a_handler_longer_than_ack_wait_runs_once(
    connection: Connection, settings: ServiceSettings
) -> None:
    attempts: list[int] = []

    async def handle(event: Event, delivery: Delivery) -> None:
        del event
        attempts.append(delivery.attempt)
        await elapsed(1.5 * ACK_WAIT_S)

    async with running(settings, with_worker(handle, MemoryParking())):
        await send(connection, cancelled())
        await eventually(lambda: attempts)
        await eventually(lambda: is_settled(connection))

    assert attempts == [1]


async def test_as_many_run_at_a_time_as_there_are_workers(
    connection: Connection, settings: ServiceSettings
) -> None:
    active: set[int] = set()
    most = 0
    release = asyncio.Event()

    async def handle(event: Event, delivery: Delivery) -> None:
        nonlocal most
        del event
        active.add(delivery.sequence)
        most = max(most, len(active))
        await release.wait()
        active.discard(delivery.sequence)

    async with running(settings, with_worker(handle, MemoryParking(), workers=3)):
        for _ in range(8):
            await send(connection, cancelled())
        await eventually(lambda: len(active) == 3)
        state = await consumer_state(connection, CANCELLED)
        release.set()
        await eventually(lambda: is_settled(connection))

    assert most == 3
    assert state.ack_pending == 3, "nothing waits unhandled in the process"


async def test_a_deleted_consumer_is_unready_with_a_reason_until_it_is_back(
    connection: Connection, settings: ServiceSettings
) -> None:
    recorder = Recorder()
    name = f"consumer {CANCELLED.name}"

    async with running(settings, with_worker(recorder.handle, MemoryParking())) as service:
        await eventually(lambda: is_ready(service))
        await connection.api(f"CONSUMER.DELETE.{RUNS}.{CANCELLED.name}", None, Empty)

        async def is_red() -> bool:
            return not (await ready(service))[0]

        await eventually(is_red)
        _, reasons = await ready(service)
        assert "does not exist" in (reasons[name] or "")
        await provision.apply(connection, provision.Plan(ack_wait_s=ACK_WAIT_S))
        await eventually(lambda: is_ready(service))
        await send(connection, cancelled())
        await eventually(lambda: recorder.seen)


async def test_an_idle_service_stays_ready_and_tells_its_numbers(
    connection: Connection, settings: ServiceSettings
) -> None:
    recorder = Recorder()

    async with running(settings, with_worker(recorder.handle, MemoryParking())) as service:
        await eventually(lambda: is_ready(service))
        await send(connection, cancelled())
        await eventually(lambda: is_settled(connection))
        assert await is_ready(service)
        _, numbers = await asyncio.to_thread(get, service.port or 0, "/metrics")
        alive, _ = await asyncio.to_thread(get, service.port or 0, "/healthz")
        missing, _ = await asyncio.to_thread(get, service.port or 0, "/other")

    label = f'consumer="{CANCELLED.name}",outcome="done"'
    assert f"chancery_messages_handled_total{{{label}}} 1.0" in numbers
    assert (alive, missing) == (200, 404)


async def test_messages_that_wait_without_moving_are_unready(
    connection: Connection, settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chancery.runtime.worker.STALLED_S", 1.0)
    release = asyncio.Event()

    async def handle(event: Event, delivery: Delivery) -> None:
        del event, delivery
        await release.wait()

    async with running(settings, with_worker(handle, MemoryParking(), workers=1)) as service:
        for _ in range(3):
            await send(connection, cancelled())

        async def reason() -> str | None:
            found = (await ready(service))[1][f"consumer {CANCELLED.name}"]
            return found if found and "none moves" in found else None

        assert await eventually(reason)
        release.set()
        await eventually(lambda: is_ready(service))


async def test_stopping_finishes_what_runs_and_gives_back_the_rest_at_once(
    connection: Connection, settings: ServiceSettings
) -> None:
    started, finished = asyncio.Event(), asyncio.Event()

    async def handle(event: Event, delivery: Delivery) -> None:
        del event, delivery
        started.set()
        await elapsed(0.5)
        finished.set()

    async with running(settings, with_worker(handle, MemoryParking(), workers=1)):
        for _ in range(3):
            await send(connection, cancelled())
        await asyncio.wait_for(started.wait(), WITHIN_S)

    assert finished.is_set()

    async def is_given_back() -> bool:
        state = await consumer_state(connection, CANCELLED)
        return (state.ack_pending, state.pending) == (0, 2)

    assert await eventually(is_given_back)


async def test_a_handler_that_outlasts_the_stop_is_cut_off_and_given_back(
    connection: Connection, settings: ServiceSettings
) -> None:
    started = asyncio.Event()
    recorder = Recorder()

    async def hang(event: Event, delivery: Delivery) -> None:
        del event, delivery
        started.set()
        await asyncio.Event().wait()

    impatient = settings.model_copy(update={"stop_s": 0.2})
    async with running(impatient, with_worker(hang, MemoryParking())):
        await send(connection, cancelled())
        await asyncio.wait_for(started.wait(), WITHIN_S)
        began = time.monotonic()
    assert time.monotonic() - began < WITHIN_S

    async with running(settings, with_worker(recorder.handle, MemoryParking())):
        await eventually(lambda: recorder.seen)
    assert recorder.attempts == [2]
