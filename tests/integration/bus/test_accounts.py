"""Each service with its own login: what it owns works, and nothing else reaches anybody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Final

import pytest
from nats.errors import NoRespondersError

from chancery.bus import provision
from chancery.bus.accounts import SERVICE_API_PREFIX
from chancery.bus.connection import API_PREFIX, Connection, connect
from chancery.bus.consumers import consumer_state
from chancery.bus.load import last_message, last_sequence
from chancery.bus.publish import publish_atomic, publish_message
from chancery.bus.pull import PullInbox
from chancery.bus.reader import PullReader
from chancery.events import topology
from chancery.events.topology import Service
from chancery.kernel.errors import Unavailable
from chancery.testkit.nats import NatsAccess
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.integration.bus.messages import outgoing

if TYPE_CHECKING:
    from nats.aio.msg import Msg

pytestmark = pytest.mark.integration

Logins = Mapping[Service, Connection]
ANSWER_S: Final = 30.0
PRIZES: Final = ("authority.t1.source.t1", "cut.t1", topology.FENCE_SUBJECT)
"""What a forger would want to be stored."""
FORGED: Final = b'{"forged":true}'


def literal(subject: str) -> str:
    """Return a subject that the pattern matches."""
    return subject.replace("*", "t1").replace(">", "x")


def produced(service: Service) -> set[str]:
    return {literal(topic.subject) for topic in topology.TOPICS if topic.producer == service}


def asked(service: Service) -> set[str]:
    return {item.subject for item in topology.REQUESTS if service in item.clients}


def every_subject() -> set[str]:
    return {
        *(literal(topic.subject) for topic in topology.TOPICS),
        *(item.subject for item in topology.REQUESTS),
        *PRIZES,
    }


def management(prefix: str) -> set[str]:
    """Return the requests by which streams and consumers are made, changed and destroyed."""
    streams = [stream.name for stream in topology.STREAMS]
    consumers = [f"{each.stream}.{each.name}" for each in topology.CONSUMERS]
    verbs = ("CREATE", "UPDATE", "DELETE", "PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE")
    return {
        *(f"{prefix}.STREAM.{verb}.{name}" for verb in verbs for name in streams),
        *(f"{prefix}.CONSUMER.CREATE.{name}.mine" for name in streams),
        *(f"{prefix}.CONSUMER.DURABLE.CREATE.{name}.mine" for name in streams),
        *(
            f"{prefix}.CONSUMER.{verb}.{path}"
            for verb in ("CREATE", "DELETE")
            for path in consumers
        ),
        *(f"{prefix}.CONSUMER.PAUSE.{path}" for path in consumers),
        f"{prefix}.STREAM.NAMES",
        f"{prefix}.STREAM.LIST",
        f"{prefix}.INFO",
    }


def foreign_reads(service: Service) -> set[str]:
    """Return the reads and pulls that belong to others."""
    others = [each for each in topology.CONSUMERS if each.service != service]
    streams = {stream.name for stream in topology.STREAMS} - provision.streams_of(service)
    verbs = ("INFO", "MSG.NEXT", "RESET")
    return {
        *(f"CONSUMER.{verb}.{each.stream}.{each.name}" for verb in verbs for each in others),
        *(f"STREAM.{verb}.{name}" for verb in ("INFO", "MSG.GET") for name in streams),
    }


@pytest.fixture
async def logins(nats_access: NatsAccess) -> AsyncGenerator[Logins]:
    """Yield a connection per service, with its own login."""
    async with AsyncExitStack() as stack:
        yield {
            service: await stack.enter_async_context(
                connect(
                    nats_access.service_urls[service],
                    name=f"tests-{service}",
                    api_prefix=nats_access.api_prefix,
                )
            )
            for service in topology.SERVICES
        }


@pytest.fixture
async def admin(nats_access: NatsAccess) -> AsyncGenerator[Connection]:
    """Yield the administrator's connection."""
    async with connect(nats_access.url, name="tests-admin") as connection:
        yield connection


async def stored(admin: Connection) -> dict[str, int]:
    """Return the last sequence of each stream."""
    return {
        stream.name: (await last_sequence(admin, stream.name)).last for stream in topology.STREAMS
    }


async def unanswered(connection: Connection, subjects: set[str]) -> set[str]:
    """Return those of `subjects` on which a request reaches nobody at all."""

    async def reaches_nobody(subject: str) -> bool:
        try:
            await connection.client.request(subject, FORGED, timeout=ANSWER_S)
        except NoRespondersError:
            return True
        return False

    ordered = sorted(subjects)
    found = await asyncio.gather(*(reaches_nobody(subject) for subject in ordered))
    return {subject for subject, nobody in zip(ordered, found, strict=True) if nobody}


@pytest.mark.req("EV-1", "CR-4")
@pytest.mark.parametrize("service", topology.SERVICES)
async def test_a_foreign_subject_reaches_nobody_and_an_own_one_is_stored(
    service: Service, logins: Logins, admin: Connection
) -> None:
    own = produced(service)
    foreign = every_subject() - own - asked(service)
    before = await stored(admin)

    nobody = await unanswered(logins[service], foreign)
    for subject in foreign:
        await logins[service].client.publish(subject, FORGED)
    await logins[service].client.flush()

    assert nobody == foreign
    assert await stored(admin) == before
    for subject in own:
        await publish_message(logins[service], outgoing(subject))
        assert await last_message(admin, stream_of(subject), subject) is not None
    assert await unanswered(admin, set(PRIZES)) == set()


def stream_of(subject: str) -> str:
    first, *_ = subject.split(".")
    return next(
        stream.name
        for stream in topology.STREAMS
        if any(pattern.split(".")[0] == first for pattern in stream.subjects)
    )


@pytest.mark.req("EV-1")
@pytest.mark.parametrize("service", topology.SERVICES)
async def test_no_service_makes_changes_or_destroys_a_stream_or_a_consumer(
    service: Service, logins: Logins, admin: Connection
) -> None:
    connection = logins[service]
    tried = management(SERVICE_API_PREFIX)
    tried |= {f"{SERVICE_API_PREFIX}.{verb}" for verb in foreign_reads(service)}
    await publish_message(admin, outgoing("run.t1.r1.gathered"))
    before = await stored(admin)

    nobody = await unanswered(connection, tried)
    # Under its usual name the API would answer an account that has streams of its own.
    for subject in sorted(management(API_PREFIX)):
        await connection.client.publish(subject, b"{}")
    with pytest.raises(Unavailable):
        await last_sequence(Connection(connection.client), topology.RUNS, timeout_s=0.3)

    assert nobody == tried
    assert await stored(admin) == before
    assert await provision.diff(admin) == []
    # The control: the administrator's request is answered, here with a refusal of its body.
    assert await unanswered(admin, {f"{API_PREFIX}.STREAM.CREATE.{topology.RUNS}"}) == set()


@pytest.mark.req("EV-1")
@pytest.mark.parametrize("service", topology.SERVICES)
async def test_a_reply_subject_smuggles_nothing_in(
    service: Service, logins: Logins, admin: Connection
) -> None:
    await publish_message(admin, outgoing("authority.t1.source.seed", FORGED))
    for topic in topology.TOPICS:
        await publish_message(admin, outgoing(literal(topic.subject), FORGED))
    connection, targets = logins[service], sorted(set(PRIZES) - produced(service))
    before = await stored(admin)

    sent = await smuggle(connection, service, targets)
    barrier = await publish_message(admin, outgoing("authority.t1.source.seed", FORGED))

    async def grown() -> int:
        return (await last_sequence(admin, topology.AUTHORITY)).last - before[topology.AUTHORITY]

    expected = own_copies(service, targets) + 1
    assert sent > 0
    assert await eventually(lambda: _equals(grown, expected))
    assert barrier.sequence <= before[topology.AUTHORITY] + expected
    for target in targets:
        last = await last_message(admin, topology.AUTHORITY, target)
        assert last is None or last.sequence <= before[topology.AUTHORITY]


async def _equals(count: Callable[[], Awaitable[int]], expected: int) -> bool:
    return await count() == expected


def own_copies(service: Service, targets: Sequence[str]) -> int:
    """Return how many messages `smuggle` stores on AUTHORITY by right."""
    return len(targets) * sum(stream_of(subject) == "AUTHORITY" for subject in produced(service))


async def smuggle(connection: Connection, service: Service, targets: Sequence[str]) -> int:
    """Make every answer that the service can cause go to each target; return how many were sent."""
    prefix, client, sent = connection.api_prefix, connection.client, 0
    for target in targets:
        for subject in sorted(produced(service) | asked(service)):
            await client.publish(subject, FORGED, reply=target)
            sent += 1
        for name in sorted(provision.streams_of(service)):
            await client.publish(f"{prefix}.STREAM.MSG.GET.{name}", b'{"seq":1}', reply=target)
            await client.publish(f"{prefix}.STREAM.INFO.{name}", b"", reply=target)
            sent += 2
        for each in topology.CONSUMERS:
            if each.service == service:
                pull = f"{prefix}.CONSUMER.MSG.NEXT.{each.stream}.{each.name}"
                await client.publish(pull, b'{"batch":1,"no_wait":true}', reply=target)
                sent += 1
    await client.flush()
    # Whatever was sent before this answer has been worked on.
    for name in sorted(provision.streams_of(service)):
        await last_sequence(connection, name)
    return sent


async def test_inside_one_account_the_same_trick_does_store(admin: Connection) -> None:
    await publish_message(admin, outgoing("run.t1.r1.gathered", FORGED))
    before = (await last_sequence(admin, topology.AUTHORITY)).last

    await admin.client.publish("run.t1.r1.gathered", FORGED, reply=PRIZES[0])

    async def moved() -> bool:
        return (await last_sequence(admin, topology.AUTHORITY)).last > before

    assert await eventually(moved)


@pytest.mark.parametrize("service", topology.SERVICES)
async def test_a_service_finds_everything_that_it_needs(service: Service, logins: Logins) -> None:
    other: Service = "ingestion" if service == "release" else "release"

    await provision.check(logins[service], service)

    with pytest.raises(Unavailable):
        await provision.check(logins[service], other)


async def test_batches_and_expectations_work_across_the_border(logins: Logins) -> None:
    messages = [outgoing(f"authority.t1.source.b{n}", expect_last=0) for n in range(5)]

    first = await publish_atomic(logins["ingestion"], topology.AUTHORITY, messages)
    again = await publish_atomic(logins["ingestion"], topology.AUTHORITY, messages)

    assert [each.sequence for each in again] == [each.sequence for each in first]
    assert all(each.duplicate for each in again)


async def test_a_reader_reads_and_resets_across_the_border(logins: Logins) -> None:
    for n in range(30):
        await publish_message(logins["ingestion"], outgoing(f"authority.t1.source.r{n}"))
    reader = PullReader(
        logins["release"], topology.consumer(topology.RELEASE_AUTHORITY), batch_messages=7
    )

    for after in (0, 20, 5):
        async with asyncio.timeout(WITHIN_S):
            got = await read_up_to(reader, after, 30)

        assert got == list(range(after + 1, 31))
    assert reader.resets == 3


async def read_up_to(reader: PullReader, after: int, last: int) -> list[int]:
    got: list[int] = []
    async with aclosing(reader.read(after)) as batches:
        async for batch in batches:
            got += [each.sequence for each in batch]
            if got and got[-1] == last:
                break
    return got


async def pulls_waiting(connection: Connection, consumer: topology.Consumer) -> int:
    """Return how many pull requests wait, of clients that the server believes to be there."""
    subject = f"{connection.api_prefix}.CONSUMER.INFO.{consumer.stream}.{consumer.name}"
    reply = await connection.client.request(subject, b"", timeout=ANSWER_S)
    return int(json.loads(reply.data)["num_waiting"])


async def test_a_message_pulled_for_a_client_that_is_gone_goes_to_the_next_one_at_once(
    nats_access: NatsAccess, logins: Logins
) -> None:
    consumer = topology.consumer(topology.RELEASE_REQUESTED)

    async def waiting() -> int:
        return await pulls_waiting(logins["release"], consumer)

    async with connect(
        nats_access.service_urls["release"], name="gone", api_prefix=nats_access.api_prefix
    ) as gone:
        lost = PullInbox(gone, consumer.stream, consumer.name)
        await lost.open()
        await lost.request(5)
        await gone.client.flush()
        await eventually(lambda: _equals(waiting, 1))

    await eventually(lambda: _equals(waiting, 0))
    inbox = PullInbox(logins["release"], consumer.stream, consumer.name)
    await inbox.open()
    await inbox.request(1)

    await publish_message(logins["gateway"], outgoing("run.t1.r9.requested"))

    await inbox.wait(WITHIN_S)
    messages = inbox.take()
    assert [message.subject for message in messages] == ["run.t1.r9.requested"]
    await messages[0].ack_sync()
    assert (await consumer_state(logins["release"], consumer)).ack_pending == 0


async def test_a_nudge_reaches_the_gateway_and_nobody_else(logins: Logins) -> None:
    heard: list[str] = []

    def listen(name: str) -> Callable[[Msg], object]:
        async def note(_message: Msg) -> None:
            heard.append(name)

        return note

    subject = topology.nudge_subject("t1", "r1")
    for service in ("gateway", "retrieval"):
        await logins[service].subscribe(
            subject,
            listen(service),  # pyright: ignore[reportArgumentType]
        )
        await logins[service].client.flush()

    await logins["retrieval"].send(subject, b"")
    await logins["retrieval"].client.flush()
    assert await eventually(lambda: heard) == ["retrieval"]
    await logins["release"].send(subject, b"")

    assert await eventually(lambda: "gateway" in heard)
    assert heard == ["retrieval", "gateway"]


async def test_a_message_given_up_is_told_to_release(logins: Logins) -> None:
    told: list[str] = []

    async def note(message: Msg) -> None:
        told.append(message.subject)

    await logins["release"].subscribe(
        f"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.{topology.RUNS}.*", note
    )
    await logins["release"].client.flush()
    await publish_message(logins["release"], outgoing("run.t1.r1.admitted"))
    consumer = topology.consumer(topology.RETRIEVAL_RUNS)
    inbox = PullInbox(logins["retrieval"], consumer.stream, consumer.name)
    await inbox.open()
    await inbox.request(1)
    await inbox.wait(WITHIN_S)

    await inbox.take()[0].term()

    assert await eventually(lambda: told)
