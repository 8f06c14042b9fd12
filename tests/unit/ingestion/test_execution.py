"""How commands run: retries, confirmation, refusals, and the exact set of request subjects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from chancery.authority.errors import BrokenRule
from chancery.authority.names import principal_ref, workspace_ref
from chancery.authority.tokens import proof_of, secret_for
from chancery.authority.wording import UnreadableText
from chancery.bus.load import Stored
from chancery.bus.publish import InFlight, Outgoing, Published, WrongSequence
from chancery.events import authority as events
from chancery.events.authority import Measure
from chancery.events.codec import UndecodableEvent, decode, encode
from chancery.events.commands import (
    AddMember,
    CreateWorkspace,
    DeclareDataset,
    IssueCredential,
    JoinGroup,
)
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.requests import Caller, Message, Request
from chancery.events.topology import REQUESTS
from chancery.ingestion.domain import access, knowledge
from chancery.ingestion.domain.first_start import CREDENTIAL_ID, Operator
from chancery.ingestion.domain.intents import intent_of
from chancery.ingestion.errors import Contended, KeyReused
from chancery.ingestion.handlers.appending import SENDS_MAX, TWINS_MAX, Appender
from chancery.ingestion.handlers.execution import TRIES_MAX, Executor
from chancery.ingestion.handlers.first_start import first_start
from chancery.ingestion.handlers.loading import Aggregates
from chancery.ingestion.handlers.serving import serve_commands
from chancery.ingestion.ports import Log
from chancery.kernel.canonical import canonical_hash
from chancery.kernel.clock import FixedClock
from chancery.kernel.errors import NotFound, Unavailable
from tests.unit.ingestion.contract import check_log
from tests.unit.ingestion.memory_log import MemoryLog
from tests.unit.ingestion.moments import NOW

B = TypeVar("B", bound=Message)
R = TypeVar("R", bound=Message)

KEY = b"k" * 32
ADMIN = Caller(
    tenant="default",
    principal="admin",
    credential_id=CREDENTIAL_ID,
    proof=proof_of(secret_for(KEY, CREDENTIAL_ID)),
)
WORKSPACE = CreateWorkspace(workspace_id="ws", title="Works")
MEMBER = AddMember(workspace_id="ws", principal="ada", role="reader")


@dataclass(slots=True)
class Pauses:
    """Counts the pauses that were asked for."""

    count: int = 0

    async def __call__(self) -> None:
        self.count += 1


def request(body: B, *, key: str = "k", caller: Caller = ADMIN) -> Request[B]:
    return Request[B](
        caller=caller,
        route="route",
        idempotency_key=key,
        request_sha256=canonical_hash(body.model_dump(mode="json")),
        body=body,
    )


def executor_of(log: Log, pauses: Pauses | None = None) -> Executor:
    appender = Appender(log, pauses or Pauses())
    return Executor(log, Aggregates(log), appender, FixedClock(NOW), KEY)


async def begun(log: Log, pauses: Pauses | None = None) -> Executor:
    executor = executor_of(log, pauses)
    await first_start(executor.aggregates, executor.appender, Operator(KEY), executor.clock)
    return executor


def foreign(data: EventData, subject_id: str, name: str) -> Event:
    envelope = Envelope(
        id=name, source="test", type=data.TYPE, subject=subject_id, time=NOW, tenant="default"
    )
    return Event(envelope=envelope, data=data)


async def test_the_memory_log_keeps_the_contract() -> None:
    log = MemoryLog()

    await check_log(log)

    assert await log.position() == 4


@dataclass(slots=True)
class Recorder:
    """Remembers which subjects were given a handler, and for which body."""

    served: dict[str, str] = field(default_factory=dict[str, str])

    def responder(
        self,
        subject: str,
        body_type: type[B],
        handler: Callable[[Request[B]], Awaitable[R]],
    ) -> None:
        assert subject not in self.served
        self.served[subject] = body_type.__name__


@pytest.mark.req("EV-1")
def test_the_service_serves_exactly_its_requests_of_the_topology() -> None:
    recorder = Recorder()

    serve_commands(recorder, executor_of(MemoryLog()))

    owned = {topic.subject: topic.request for topic in REQUESTS if topic.server == "ingestion"}
    assert recorder.served == owned


async def test_a_moved_aggregate_is_read_and_decided_again_three_times() -> None:
    log, pauses = MemoryLog(), Pauses()
    executor = await begun(log, pauses)

    log.failures = [WrongSequence(last=9) for _ in range(TRIES_MAX - 1)]
    outcome = await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE))
    log.failures = [WrongSequence(last=9) for _ in range(TRIES_MAX)]
    with pytest.raises(Contended):
        await executor.execute(access.ADD_MEMBER, request(MEMBER, key="other"))

    assert outcome.sequence == 5
    assert pauses.count == TRIES_MAX - 1 + TRIES_MAX
    assert await log.position() == 5


async def test_a_twin_in_flight_is_waited_for_without_counting_as_a_try() -> None:
    log, pauses = MemoryLog(), Pauses()
    executor = await begun(log, pauses)

    log.failures = [InFlight() for _ in range(20)]
    outcome = await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE))
    log.failures = [InFlight() for _ in range(TWINS_MAX)]
    with pytest.raises(Contended):
        await executor.execute(access.ADD_MEMBER, request(MEMBER, key="other"))

    assert outcome.changed
    assert pauses.count == 20 + TWINS_MAX


async def test_an_append_without_any_answer_ends_as_unavailable() -> None:
    log = MemoryLog()
    executor = await begun(log)
    log.failures = [Unavailable("gone") for _ in range(SENDS_MAX)]

    with pytest.raises(Unavailable):
        await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE))

    assert await log.position() == 3


@dataclass(slots=True)
class LateLog:
    """A log on which another writer's events appear just after a subject was first read."""

    inner: MemoryLog
    late: dict[str, tuple[Event, ...]]

    async def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        async for stored in self.inner.read(subject, after):
            yield stored
        for event in self.late.pop(subject, ()):
            await self.inner.append(
                (Outgoing(subject=subject, payload=encode(event), message_id=event.id),)
            )

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        return await self.inner.append(messages)

    async def position(self) -> int:
        return await self.inner.position()


async def test_a_refusal_that_is_out_of_date_is_decided_again() -> None:
    memory = MemoryLog()
    await begun(memory)
    created = foreign(events.WorkspaceCreated(title="W", creator="admin"), "ws", "e1")
    admitted = foreign(events.MemberAdded(workspace_id="ws", role="admin"), "admin", "e2")
    late = {
        workspace_ref("ws").subject("default"): (created,),
        principal_ref("admin").subject("default"): (admitted,),
    }

    outcome = await executor_of(LateLog(memory, late)).execute(access.ADD_MEMBER, request(MEMBER))

    assert outcome.changed
    with pytest.raises(NotFound):
        await executor_of(memory).execute(
            access.ADD_MEMBER,
            request(MEMBER.model_copy(update={"workspace_id": "none"}), key="other"),
        )


async def test_a_no_op_that_is_out_of_date_is_decided_again() -> None:
    memory = MemoryLog()
    executor = await begun(memory)
    joined = JoinGroup(group="g", principal="ada")
    await executor.execute(access.JOIN_GROUP, request(joined))
    left = foreign(events.GroupLeft(group="g"), "ada", "e1")
    late = {principal_ref("ada").subject("default"): (left,)}

    outcome = await executor_of(LateLog(memory, late)).execute(
        access.JOIN_GROUP, request(joined, key="again")
    )
    settled = await executor.execute(access.JOIN_GROUP, request(joined, key="third"))

    assert outcome.changed
    assert not settled.changed
    assert settled.sequence == await memory.position()
    assert settled.event_id is None


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b"not an event", UndecodableEvent),
        (encode(foreign(events.WorkspaceClosed(), "ws", "e1")), BrokenRule),
    ],
)
async def test_nothing_is_decided_on_an_aggregate_that_cannot_be_read(
    payload: bytes, error: type[Exception]
) -> None:
    log = MemoryLog()
    executor = await begun(log)
    subject = workspace_ref("ws").subject("default")
    await log.append((Outgoing(subject=subject, payload=payload, message_id="bad"),))

    with pytest.raises(error):
        await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE))
    elsewhere = WORKSPACE.model_copy(update={"workspace_id": "other"})
    outcome = await executor.execute(access.CREATE_WORKSPACE, request(elsewhere, key="other"))

    assert outcome.changed


@pytest.mark.req("EV-14")
async def test_a_key_that_was_used_elsewhere_is_refused() -> None:
    log = MemoryLog()
    executor = await begun(log)
    await executor.execute(access.ISSUE_CREDENTIAL, request(IssueCredential(principal="ada")))

    with pytest.raises(KeyReused):
        await executor.execute(access.ISSUE_CREDENTIAL, request(IssueCredential(principal="bob")))

    assert await log.position() == 4


@pytest.mark.req("EV-3", "EV-13")
async def test_events_carry_who_asked_in_which_trace_and_for_which_request() -> None:
    log = MemoryLog()
    executor = await begun(log)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    asked = request(WORKSPACE).model_copy(update={"traceparent": trace})

    await executor.execute(access.CREATE_WORKSPACE, asked)

    first, second = (decode(stored.payload) for stored in log.messages[-2:])
    assert [stored.message_id for stored in log.messages[-2:]] == [first.id, second.id]
    for event in (first, second):
        assert event.envelope.traceparent == trace
        assert event.envelope.actor == "admin"
        assert event.envelope.requestsha256 == asked.request_sha256
        assert event.envelope.correlationid == first.id
        assert event.tenant == "default"


async def test_the_token_key_is_in_no_text_form() -> None:
    executor = executor_of(MemoryLog())
    intent = intent_of(request(WORKSPACE), now=NOW, token_key=KEY, traceparent=None)

    assert "ws" in repr(intent)
    for thing in (executor, intent, Operator(KEY)):
        assert "kkkk" not in repr(thing)


async def test_concurrent_commands_on_one_aggregate_take_turns() -> None:
    log, pauses = MemoryLog(), Pauses()
    executor = await begun(log, pauses)
    bodies = [JoinGroup(group=f"g{number}", principal="ada") for number in range(20)]

    outcomes = await asyncio.gather(
        *(executor.execute(access.JOIN_GROUP, request(each, key=each.group)) for each in bodies)
    )

    assert sorted(each.sequence for each in outcomes) == list(range(4, 24))
    assert pauses.count == 0


async def test_aggregates_beyond_the_capacity_are_forgotten_and_read_again() -> None:
    log = MemoryLog()
    executor = await begun(log)
    small = Executor(log, Aggregates(log, capacity=1), executor.appender, FixedClock(NOW), KEY)

    await small.execute(access.CREATE_WORKSPACE, request(WORKSPACE))
    outcome = await small.execute(access.ADD_MEMBER, request(MEMBER, key="m"))

    assert outcome.changed
    assert outcome == await small.execute(access.ADD_MEMBER, request(MEMBER, key="m"))


@pytest.mark.req("CL-8")
async def test_text_that_no_reader_of_the_log_could_store_never_reaches_it() -> None:
    log = MemoryLog()
    executor = await begun(log)
    await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE, key="w"))
    measure = Measure(name="total", description="a\x00b", aggregate="count")
    poison = DeclareDataset(workspace_id="ws", dataset_id="d", title="Orders", measures=(measure,))
    before = await log.position()

    with pytest.raises(UnreadableText):
        await executor.execute(knowledge.DECLARE_DATASET, request(poison))

    assert await log.position() == before
    healed = poison.model_copy(update={"measures": ()})
    assert (await executor.execute(knowledge.DECLARE_DATASET, request(healed))).changed
