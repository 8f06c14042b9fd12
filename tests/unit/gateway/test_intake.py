"""What a hostile or careless client sends: refused in whole, by name, before any owner sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from prometheus_client import CollectorRegistry
from starlette.types import Message, Receive, Scope, Send

from chancery.events import commands, queries
from chancery.gateway.domain.calls import Call
from chancery.gateway.handlers.arriving import Pace
from chancery.gateway.handlers.intake import Intake
from chancery.gateway.handlers.room import Room
from chancery.gateway.handlers.watching import create_watch
from chancery.runtime.telemetry import current_trace_id, span
from tests.unit.gateway.fakes import TOKEN, World

SOURCES = "/v1/workspaces/w/sources"
CREDENTIAL = ("authorization", f"Bearer {TOKEN}")


class App:
    """The application behind the intake; remembers the bodies it was given."""

    def __init__(self, error: Exception | None = None) -> None:
        self.bodies: list[bytes] = []
        self.traces: list[str] = []
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        self.traces.append(current_trace_id())
        if self._error is not None:
            raise self._error
        message = await receive()
        self.bodies.append(message["body"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def chunk(body: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


HUNG_UP: Message = {"type": "http.disconnect"}


async def call(
    app: App,
    messages: Iterable[Message],
    *,
    path: str = "/v1/workspaces/w/corpora/c",
    headers: tuple[tuple[str, str], ...] = (CREDENTIAL, ("content-type", "text/plain")),
) -> list[Message]:
    """Send one request through the intake and return what it sent back."""
    waiting = iter(messages)
    sent: list[Message] = []

    async def receive() -> Message:
        found = next(waiting, None)
        if found is None:
            await asyncio.Event().wait()
        assert found is not None
        return found

    async def send(message: Message) -> None:
        sent.append(message)

    async def prove(shown: Call) -> None:
        assert shown.caller.principal == "ada"

    watch = create_watch((), CollectorRegistry())
    pace = Pace(pause_max_s=0.3, within_s=60)
    intake = Intake(app, 1000, watch, prove, Room(), pace)
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope: Scope = {"type": "http", "method": "POST", "path": path, "headers": encoded}
    await intake(scope, receive, send)
    return sent


def status(sent: list[Message]) -> int:
    found: int = sent[0]["status"]
    return found


async def test_a_whole_body_in_pieces_arrives_as_one() -> None:
    app = App()

    sent = await call(app, [chunk(b"half ", more=True), chunk(b"and half", more=False)])

    assert status(sent) == 204
    assert app.bodies == [b"half and half"]


@pytest.mark.req("CL-8")
async def test_a_body_whose_caller_hung_up_is_never_published_in_half() -> None:
    app = App()

    sent = await call(app, [chunk(b"half ", more=True), HUNG_UP])

    assert app.bodies == []
    assert sent == []


async def test_a_caller_who_falls_silent_in_a_body_is_answered_408() -> None:
    app = App()

    sent = await call(app, [chunk(b"half ", more=True)])

    assert status(sent) == 408
    assert app.bodies == []


async def test_a_body_is_not_read_for_a_caller_without_a_credential() -> None:
    app = App()

    # Nothing can be received here: waiting for it would end in a 408.
    sent = await call(app, [], headers=(("content-type", "text/plain"),))

    assert status(sent) == 401


@pytest.mark.parametrize("name", ["authorization", "content-type", "idempotency-key"])
async def test_a_header_that_two_readers_could_read_differently_is_refused(name: str) -> None:
    app = App()
    once = (CREDENTIAL, ("content-type", "text/plain"), ("idempotency-key", "k"))

    accepted = await call(app, [chunk(b"a", more=False)], headers=once)
    twice = await call(app, [chunk(b"a", more=False)], headers=(*once, (name, "other")))

    assert status(accepted) == 204
    assert status(twice) == 422
    assert b"repeated_header" in twice[1]["body"]


async def test_a_length_beside_chunks_is_refused() -> None:
    app = App()
    headers = (CREDENTIAL, ("content-length", "1"), ("transfer-encoding", "chunked"))

    sent = await call(app, [chunk(b"abc", more=False)], headers=headers)

    assert status(sent) == 422
    assert app.bodies == []


async def test_requests_of_one_connection_do_not_share_a_trace() -> None:
    app = App()

    # The server hands every request of a connection the context of an earlier one.
    with span("an earlier request"):
        await call(app, [chunk(b"a", more=False)])
        await call(app, [chunk(b"a", more=False)])
        earlier = current_trace_id()

    assert len({*app.traces, earlier}) == 3


async def test_a_bug_is_answered_500_with_its_trace_and_nothing_of_its_text() -> None:
    app = App(RuntimeError("the secret text"))

    sent = await call(app, [chunk(b"a", more=False)])

    assert status(sent) == 500
    body: bytes = sent[1]["body"]
    assert app.traces[0].encode() in body
    assert b'"status":500' in body
    assert b"secret" not in body


@pytest.mark.req("CL-8")
@pytest.mark.parametrize(
    "content_type",
    ["application/x+json", "application/vnd.api+json; charset=utf-8", "text/plain", None],
)
async def test_json_under_another_name_does_not_pass_unchecked(content_type: str | None) -> None:
    world = World()
    headers = {} if content_type is None else {"Content-Type": content_type}

    async with world.client() as client:
        response = await client.put(
            "/v1/workspaces/w/policy",
            content=b'{"policy_revision": "a\\u0000b"}',
            headers=headers,
        )

    assert response.status_code == 415
    assert response.json()["code"] == "unsupported_media_type"
    assert world.owners.asked == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
async def test_json_in_another_encoding_than_utf_8_is_refused(encoding: str) -> None:
    world = World()

    async with world.client() as client:
        response = await client.put(
            f"{SOURCES}/s",
            content='{"title": "T"}'.encode(encoding),
            headers={"Content-Type": "application/json"},
        )

    assert response.json()["code"] == "malformed_json"
    assert world.owners.asked == []


async def test_json_with_a_byte_order_mark_is_understood() -> None:
    world = World()
    outcome = commands.Outcome(sequence=1, changed=True)
    world.owners.answers["command.ingestion.declare-source.v1"] = outcome

    async with world.client() as client:
        response = await client.put(
            f"{SOURCES}/s",
            content=b'\xef\xbb\xbf{"title": "T"}',
            headers={"Content-Type": "application/json"},
        )

    assert response.status_code == 200


async def test_what_is_told_of_wrong_fields_has_a_bound() -> None:
    world = World()
    world.owners.answers["query.release.identity.v1"] = queries.Identity.model_construct()
    wrong = {f"{'x' * 400}{number}": 1 for number in range(500)}

    async with world.client() as client:
        response = await client.put(f"{SOURCES}/s", json={"title": "T", **wrong})

    assert response.status_code == 422
    assert len(response.content) < 20_000


@pytest.mark.parametrize("body", ["[", '{"a": 1}'])
async def test_an_upload_in_json_is_refused_without_repeating_it(body: str) -> None:
    world = World()
    world.owners.answers["query.ingestion.upload-permission.v1"] = commands.Outcome(
        sequence=1, changed=False
    )

    async with world.client() as client:
        response = await client.post(
            f"{SOURCES}/s/revisions", content=body, headers={"Content-Type": "application/json"}
        )

    assert response.status_code == 422


async def test_no_redirect_repeats_the_host_that_a_request_names() -> None:
    world = World()
    world.owners.answers["query.release.sources.v1"] = queries.ResourceList(resources=())

    async with world.client() as client:
        found = await client.get(SOURCES)
        slashed = await client.get(f"{SOURCES}/", headers={"Host": "evil.example"})

    assert found.status_code == 200
    assert slashed.status_code == 404
    assert "location" not in slashed.headers


async def test_a_method_that_is_not_taken_says_which_ones_are() -> None:
    world = World()

    async with world.client() as client:
        response = await client.patch(f"{SOURCES}/s", json={})

    assert response.status_code == 405
    assert response.json()["status"] == 405
    assert "PUT" in response.headers["Allow"] or "GET" in response.headers["Allow"]


@pytest.mark.parametrize(
    "expires_at", ["9999-12-31T23:59:59-23:00", "0001-01-01T00:00:00+23:00", "2030-01-01T00:00:00"]
)
async def test_a_moment_that_has_no_utc_form_is_refused_by_name(expires_at: str) -> None:
    world = World()

    async with world.client() as client:
        response = await client.post(
            "/v1/credentials", json={"principal": "p", "expires_at": expires_at}
        )

    assert response.status_code == 422
    assert response.json()["field"] == "expires_at"


@pytest.mark.parametrize("day", ["2025-13-01", "2025-02-30", "\u0662\u0660\u0662\u0665-01-01"])
async def test_a_day_that_no_calendar_has_is_refused(day: str) -> None:
    world = World()

    async with world.client() as client:
        response = await client.put(f"{SOURCES}/s", json={"title": "T", "date": day})

    assert response.status_code == 422
    assert response.json()["field"] == "date"


def published() -> World:
    """Return a world in which any upload is published."""
    world = World()
    world.owners.answers["query.ingestion.upload-permission.v1"] = commands.Outcome(
        sequence=1, changed=False
    )
    world.owners.answers["command.ingestion.publish-revision.v1"] = commands.PublishedOutcome(
        key="k", revision=1, sequence=1, content_sha256="0" * 64, event_id="e", changed=True
    )
    return world


@pytest.mark.req("EV-14")
async def test_a_form_sent_again_under_one_key_is_the_same_request() -> None:
    world = published()
    key = {"Idempotency-Key": "once"}

    async with world.client() as client:
        for text in (b"same", b"same", b"other"):
            response = await client.post(
                f"{SOURCES}/s/revisions",
                files={"file": ("page.txt", text, "text/plain")},
                headers=key,
            )
            assert response.status_code == 202

    first, again, other = (
        request.request_sha256
        for subject, request in world.owners.asked
        if subject.startswith("command.")
    )
    assert first == again
    assert other != first


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"x"),
        ("multipart/form-data; boundary=b", b"--b--\r\n"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--b--\r\n',
        ),
    ],
)
async def test_a_form_without_its_one_file_is_refused_by_name(
    content_type: str, body: bytes
) -> None:
    world = published()

    async with world.client() as client:
        response = await client.post(
            f"{SOURCES}/s/revisions", content=body, headers={"Content-Type": content_type}
        )

    assert response.status_code == 422
    assert response.json()["code"] == "malformed_form"


async def test_a_packed_body_is_refused_by_the_name_of_its_header() -> None:
    world = published()

    async with world.client() as client:
        response = await client.post(
            f"{SOURCES}/s/revisions",
            content=b"\x1f\x8b",
            headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"},
        )

    assert response.status_code == 415
    assert response.json()["field"] == "Content-Encoding"
    assert world.owners.asked == []
