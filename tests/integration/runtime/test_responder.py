"""Request and reply between two services: typed answers, refusals, bugs, and many at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from chancery.bus.connection import Connection
from chancery.bus.request import ask
from chancery.events.queries import Identity, OfRun
from chancery.events.requests import Caller, Message, Reply, Request
from chancery.events.topology import query_subject
from chancery.kernel.errors import ChanceryError, Corrupt, NotFound, Rejected, Unavailable
from chancery.runtime import telemetry
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.testkit.waiting import WITHIN_S
from tests.integration.runtime.parts import running, served

pytestmark = pytest.mark.integration

SUBJECT = query_subject("release", "run")
TRACE = "0af7651916cd43dd8448eb211c80319c"


class Answer(Message):
    """A small answer."""

    run_id: str
    trace: str | None = None
    padding: str = ""


def request(run_id: str = "r1", traceparent: str | None = None) -> Request[OfRun]:
    """Return a question for a run."""
    return Request[OfRun](
        caller=Caller(tenant="t1", principal="ada", credential_id="c1", proof="0" * 64),
        route="GET /v1/runs/{run}",
        idempotency_key="k1",
        request_sha256="0" * 64,
        traceparent=traceparent,
        body=OfRun(run_id=run_id),
    )


def answering(
    handler: Callable[[Request[OfRun]], Awaitable[Answer]], *, concurrency: int = 32
) -> Callable[[Service], None]:
    def register(service: Service) -> None:
        service.responder(SUBJECT, OfRun, handler, concurrency=concurrency)

    return register


@asynccontextmanager
async def listening(
    connection: Connection, settings: ServiceSettings, register: Callable[[Service], None]
) -> AsyncGenerator[Service]:
    """Run a service until the end of the block, which begins when the service is asked."""
    async with running(settings, register) as service:
        await served(connection, SUBJECT)
        yield service


async def echo(asked: Request[OfRun]) -> Answer:
    return Answer(run_id=asked.body.run_id, trace=telemetry.current_trace_id())


async def test_a_question_gets_its_typed_answer(
    connection: Connection, settings: ServiceSettings
) -> None:
    async with listening(connection, settings, answering(echo)):
        answer = await ask(connection, SUBJECT, request("r7"), Answer)

    assert answer.run_id == "r7"


async def test_the_trace_of_the_caller_goes_on_in_the_answer(
    connection: Connection, settings: ServiceSettings
) -> None:
    traced = request(traceparent=f"00-{TRACE}-b7ad6b7169203331-01")

    async with listening(connection, settings, answering(echo)):
        answer = await ask(connection, SUBJECT, traced, Answer)
        other = await ask(connection, SUBJECT, request(), Answer)

    assert answer.trace == TRACE
    assert other.trace not in {TRACE, "0" * 32}


@pytest.mark.parametrize(
    "error",
    [
        NotFound("no such run", field="run_id"),
        Rejected("no", code="scope_too_wide"),
        Unavailable("projection is behind", code="barrier_timeout"),
    ],
)
async def test_a_refusal_crosses_with_kind_code_and_field(
    connection: Connection, settings: ServiceSettings, error: ChanceryError
) -> None:
    async def refuse(asked: Request[OfRun]) -> Answer:
        del asked
        raise error

    async with listening(connection, settings, answering(refuse)):
        with pytest.raises(type(error)) as caught:
            await ask(connection, SUBJECT, request(), Answer)

    assert (caught.value.code, caught.value.field) == (error.code, error.field)
    assert caught.value.detail == error.detail


async def test_a_bug_is_told_without_its_text(
    connection: Connection, settings: ServiceSettings
) -> None:
    async def fail(asked: Request[OfRun]) -> Answer:
        del asked
        text = "the secret sentence"
        raise RuntimeError(text)

    async with listening(connection, settings, answering(fail)):
        with pytest.raises(Unavailable) as caught:
            await ask(connection, SUBJECT, request(traceparent=_trace()), Answer)

    assert caught.value.code == "internal"
    assert TRACE in caught.value.detail
    assert "secret" not in caught.value.detail


def _trace() -> str:
    return f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.mark.req("CL-8")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", None),
        (b'{"route": 1}', "caller"),
        (json.dumps({**json.loads(request().model_dump_json()), "body": {}}).encode(), "run_id"),
        (
            json.dumps(
                {**json.loads(request().model_dump_json()), "body": {"run_id": "r1", "odd": 1}}
            ).encode(),
            "odd",
        ),
        (
            json.dumps(
                {**json.loads(request().model_dump_json()), "body": {"run_id": "a b.c"}}
            ).encode(),
            "run_id",
        ),
    ],
)
async def test_a_request_that_does_not_fit_names_the_field(
    connection: Connection, settings: ServiceSettings, body: bytes, field: str | None
) -> None:
    async with listening(connection, settings, answering(echo)):
        raw = await connection.request(SUBJECT, body, timeout_s=WITHIN_S)
    failure = Reply[Answer].model_validate_json(raw.data).failure

    assert failure is not None
    assert (failure.kind, failure.code, failure.field) == ("rejected", "invalid_request", field)
    assert "a b.c" not in failure.detail


async def test_many_questions_are_answered_at_a_time(
    connection: Connection, settings: ServiceSettings
) -> None:
    active = most = 0
    full = asyncio.Event()

    async def slow(asked: Request[OfRun]) -> Answer:
        nonlocal active, most
        active += 1
        most = max(most, active)
        if active == 8:
            full.set()
        await full.wait()
        active -= 1
        return Answer(run_id=asked.body.run_id)

    async with listening(connection, settings, answering(slow, concurrency=8)):
        answers = await asyncio.gather(
            *(ask(connection, SUBJECT, request(f"r{number}"), Answer) for number in range(24))
        )

    assert [answer.run_id for answer in answers] == [f"r{number}" for number in range(24)]
    assert most == 8


async def test_an_answer_that_is_too_large_is_a_refusal_not_a_silence(
    connection: Connection, settings: ServiceSettings
) -> None:
    size = connection.client.max_payload

    async def long(asked: Request[OfRun]) -> Answer:
        return Answer(run_id=asked.body.run_id, padding="x" * size)

    async with listening(connection, settings, answering(long)):
        with pytest.raises(Rejected) as caught:
            await ask(connection, SUBJECT, request(), Answer)

    assert caught.value.code == "too_large"


async def test_a_refusal_of_any_length_arrives(
    connection: Connection, settings: ServiceSettings
) -> None:
    async def refuse(asked: Request[OfRun]) -> Answer:
        del asked
        raise Rejected("x" * 5000, field="y" * 5000, code="z" * 500)

    async with listening(connection, settings, answering(refuse)):
        with pytest.raises(Rejected) as caught:
            await ask(connection, SUBJECT, request(), Answer)

    assert (len(caught.value.detail), len(caught.value.code)) == (1000, 64)


async def test_nobody_there_is_unavailable_at_once(connection: Connection) -> None:
    with pytest.raises(Unavailable) as caught:
        await ask(connection, SUBJECT, request(), Answer, timeout_s=30)

    assert caught.value.code == "no_responders"


async def test_another_answer_than_agreed_is_corrupt(
    connection: Connection, settings: ServiceSettings
) -> None:
    async with listening(connection, settings, answering(echo)):
        with pytest.raises(Corrupt):
            await ask(connection, SUBJECT, request(), Identity)


async def test_a_stopping_service_answers_what_it_has_taken(
    connection: Connection, settings: ServiceSettings
) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def wait(asked: Request[OfRun]) -> Answer:
        started.set()
        await go.wait()
        return Answer(run_id=asked.body.run_id)

    async with asyncio.TaskGroup() as group:
        async with listening(connection, settings, answering(wait)) as service:
            asked = group.create_task(ask(connection, SUBJECT, request("r9"), Answer))
            await asyncio.wait_for(started.wait(), WITHIN_S)
            service.stop()
            go.set()
        answer = await asked

    assert answer.run_id == "r9"
