"""Calls are repeated under one key while the server is away; streams resume; refusals are told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import httpx
import pytest

from chancery.client.errors import ProblemError, StillOpen, Unreachable
from chancery.client.handles import AnswerHandle
from chancery.client.http import Ask, Chancery, connect
from chancery.client.replies import RefusedAnswer, SealedAnswer, WithheldAnswer
from chancery.kernel.canonical import Json

PROBLEM = {"status": 404, "code": "run_not_found", "detail": "there is no such run",
           "field": "run", "trace_id": "ab" * 16}  # fmt: skip
SEALED: Json = {"status": "sealed", "run_id": "r", "generation": 1, "text": "t", "statements": [],
          "citations": [], "new_field": 1}  # fmt: skip
REFUSED: Json = {"status": "refused", "run_id": "r", "outcome": "insufficient_evidence",
           "explanation": "no"}  # fmt: skip
WITHHELD: Json = {"status": "withheld", "run_id": "r", "generation": 1, "explanation": "gone"}


@dataclass(slots=True)
class Server:
    """Answers requests one after the other, and keeps them."""

    replies: list[httpx.Response | Exception]
    seen: list[httpx.Request] = field(default_factory=list[httpx.Request])

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer the next request; the last reply stays."""
        self.seen.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply


def served(
    server: Callable[[httpx.Request], httpx.Response], token: str = "tok", *, absence_s: float = 60
) -> AbstractAsyncContextManager[Chancery]:
    transport = httpx.MockTransport(server)
    return connect(
        "http://chancery", token, patience_s=60, absence_s=absence_s, transport=transport
    )


def frame(number: int, event: str, data: str = '{"run_id": "r"}') -> bytes:
    return f"id: r.{number}\nevent: {event}\ndata: {data}\n\n".encode()


async def test_a_refusal_keeps_code_field_and_trace() -> None:
    async with served(Server([httpx.Response(404, json=PROBLEM)])) as client:
        with pytest.raises(ProblemError) as refused:
            await client.run("r")

    error = refused.value
    assert (error.status, error.code, error.field) == (404, "run_not_found", "run")
    assert error.trace_id == "ab" * 16
    assert error.detail == "there is no such run"


async def test_a_call_is_repeated_under_one_key_until_the_server_is_back() -> None:
    away = httpx.Response(503, json={"status": 503, "code": "unavailable", "detail": "away"})
    done = httpx.Response(202, json={"run_id": "r", "message_id": "m"})
    server = Server([httpx.ConnectError("down"), away, done])
    async with served(server) as client:
        posted = await client.post_message("c", Ask(question="Where?"))

    keys = {request.headers["idempotency-key"] for request in server.seen}
    assert posted.run_id == "r"
    assert len(server.seen) == 3
    assert len(keys) == 1
    assert {request.headers["authorization"] for request in server.seen} == {"Bearer tok"}


async def test_a_refusal_is_not_repeated() -> None:
    server = Server([httpx.Response(409, json={"status": 409, "code": "conflict"})])
    async with served(server) as client:
        with pytest.raises(ProblemError):
            await client.create_workspace("w", "W")

    assert len(server.seen) == 1


async def test_an_address_at_which_nothing_answers_is_given_up() -> None:
    server = Server([httpx.ConnectError("down")])
    async with served(server, absence_s=0.5) as client:
        with pytest.raises(Unreachable) as refused:
            await client.run("r")

    assert "nothing answers at http://chancery" in refused.value.detail
    assert len(server.seen) > 1


async def test_events_resume_behind_the_last_one_that_came() -> None:
    first = httpx.Response(200, content=frame(1, "state") + frame(2, "activity"))
    second = httpx.Response(200, content=frame(3, "sealed") + frame(4, "end"))
    server = Server([first, second])
    async with served(server) as client:
        kinds = [event.kind async for event in client.events("r")]

    assert kinds == ["state", "activity", "sealed", "end"]
    assert "last-event-id" not in server.seen[0].headers
    assert server.seen[1].headers["last-event-id"] == "r.2"


@pytest.mark.req("CR-19")
async def test_a_stream_that_ends_with_an_error_is_asked_for_again() -> None:
    error = b'event: error\ndata: {"code":"credential_revoked","message":"x","run_id":"r"}\n\n'
    first = httpx.Response(200, content=frame(1, "state") + error)
    server = Server([first, httpx.Response(200, content=frame(2, "end"))])
    async with served(server) as client:
        kinds = [event.kind async for event in client.events("r")]

    assert kinds == ["state", "end"]
    assert server.seen[1].headers["last-event-id"] == "r.1"


async def test_waiting_asks_for_the_answer_when_events_keep_breaking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chancery.client.following.BREAKS_MAX", 1)

    def server(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            raise httpx.ReadError("broken")
        return httpx.Response(200, json=SEALED)

    async with served(server) as client:
        handle = await client.wait("r")

    assert handle == AnswerHandle("r")


async def test_waiting_ends_in_time_when_the_run_does_not() -> None:
    async with served(Server([httpx.Response(200, content=frame(1, "state"))])) as client:
        with pytest.raises(StillOpen):
            await client.wait("r", within_s=0.05)


@pytest.mark.parametrize(
    ("body", "kind"), [(SEALED, SealedAnswer), (REFUSED, RefusedAnswer), (WITHHELD, WithheldAnswer)]
)
async def test_an_answer_is_one_of_three_kinds(body: Json, kind: type) -> None:
    async with served(Server([httpx.Response(200, json=body)])) as client:
        answer = await client.answer(AnswerHandle("r"))

    assert isinstance(answer, kind)


async def test_an_open_run_has_no_answer_yet() -> None:
    async with served(Server([httpx.Response(202, json={"run_id": "r"})])) as client:
        with pytest.raises(StillOpen):
            await client.answer(AnswerHandle("r"))


async def test_a_run_is_retried_and_names_its_generation() -> None:
    server = Server([httpx.Response(202, json={"run_id": "r", "generation": 2})])
    async with served(server) as client:
        retried = await client.retry("r")

    assert retried.generation == 2
    assert [(each.method, each.url.path) for each in server.seen] == [("POST", "/v1/runs/r/retry")]


@pytest.mark.parametrize("code", ["workspace_exists", "not_permitted"])
async def test_a_workspace_that_exists_is_taken_as_it_is(code: str) -> None:
    problem = {"status": 409, "code": code, "detail": "no", "trace_id": "ab" * 16}
    none = httpx.Response(200, json={"workspaces": []})
    async with served(Server([none, httpx.Response(409, json=problem)])) as client:
        if code == "workspace_exists":
            assert (await client.ensure_workspace("plant", "Plant")).id == "plant"
        else:
            with pytest.raises(ProblemError):
                await client.ensure_workspace("plant", "Plant")


async def test_a_member_needs_no_right_to_create_their_workspace() -> None:
    mine = {"workspaces": [{"workspace_id": "plant", "role": "publisher"}]}
    server = Server([httpx.Response(200, json=mine)])
    async with served(server) as client:
        assert (await client.ensure_workspace("plant", "Plant")).id == "plant"

    assert [each.method for each in server.seen] == ["GET"]


async def test_acting_with_another_token_keeps_the_connections() -> None:
    server = Server([httpx.Response(200, json={"resources": []})])
    async with served(server) as client:
        other: Chancery = client.acting_with("other")
        await other.workspace("w").sources()

    assert server.seen[0].headers["authorization"] == "Bearer other"
    assert other.transport.http is client.transport.http
    assert "other" not in repr(other.transport)
