"""The HTTP surface: bad input is refused by field before any owner or store sees it."""

from __future__ import annotations

import pytest

from chancery.events import commands, queries
from chancery.events.run import RunRequested
from chancery.extract.media import DOCX
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Conflict, Denied, NotFound, Rejected, Unavailable
from tests.unit.gateway.fakes import TOKEN, World

SOURCES = "/v1/workspaces/w/sources"


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    "token", [None, "", "x", "chy1.a.b.c", f"{TOKEN}.x", TOKEN.replace("default", "a b")]
)
async def test_a_request_without_a_well_formed_credential_is_401(
    world: World, token: str | None
) -> None:
    async with world.client(token) as client:
        response = await client.get(SOURCES)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert response.json()["code"] in {"unauthenticated", "malformed_token"}
    assert response.json()["field"] == "Authorization"
    assert world.owners.asked == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Denied("no"), 401),
        (NotFound("no"), 404),
        (Rejected("no", field="title"), 422),
        (Rejected("no", code="not_permitted"), 403),
        (Conflict("no"), 409),
        (Unavailable("no"), 503),
    ],
)
async def test_an_owners_refusal_becomes_a_problem_document(
    world: World, error: Rejected, status: int
) -> None:
    world.owners.answers["query.release.sources.v1"] = error

    async with world.client() as client:
        response = await client.get(SOURCES)

    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == error.code
    assert len(response.json()["trace_id"]) == 32


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"title": ""}', "title"),
        ('{"title": "a\\nb"}', "title"),
        ('{"title": 7}', "title"),
        ('{"title": "t", "visibility": "public"}', "visibility"),
        ('{"title": "t", "colour": "red"}', "colour"),
        ("{}", "title"),
        ('{"title": "t", "date": "yesterday"}', "date"),
    ],
)
async def test_a_field_out_of_bounds_is_refused_by_name(
    world: World, body: str, field: str
) -> None:
    async with world.client() as client:
        response = await client.put(
            f"{SOURCES}/s", content=body, headers={"Content-Type": "application/json"}
        )

    assert response.status_code == 422
    assert response.json()["field"] == field
    assert world.owners.asked == []


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b'{"title":"a","title":"b"}', b'{"title":"\\u0000"}', b"[NaN]"]
)
async def test_malformed_json_is_refused(world: World, body: bytes) -> None:
    async with world.client() as client:
        response = await client.put(
            f"{SOURCES}/s", content=body, headers={"Content-Type": "application/json"}
        )

    assert response.status_code == 422
    assert response.json()["code"] == "malformed_json"


@pytest.mark.parametrize("source", ["a.b", "a%20b", "x" * 65, "%2A", "%3E"])
async def test_an_id_that_is_no_subject_token_is_refused(world: World, source: str) -> None:
    async with world.client() as client:
        response = await client.get(f"{SOURCES}/{source}")

    assert response.status_code == 422
    assert response.json()["field"] == "source"
    assert world.owners.asked == []


@pytest.mark.parametrize(
    ("media_type", "data", "code"),
    [
        ("text/plain", b"", "empty_content"),
        ("text/plain", b" \n", "empty_content"),
        ("text/markdown", "\ufeff\u200b\u00ad".encode(), "empty_content"),
        ("text/html", "\ufeff".encode(), "empty_content"),
        ("text/plain", b"a\x00b", "nul_byte"),
        ("text/plain", b"a\xffb", "invalid_utf8"),
        ("image/gif", b"a", "unsupported_media_type"),
        ("image/png", b"a", "wrong_media_type"),
        ("image/png", b"", "empty_content"),
        ("application/pdf", b"# Text", "wrong_media_type"),
        ("application/pdf", b"%PDF-1.7 and no end", "truncated_file"),
        (DOCX, b"%PDF-1.7", "wrong_media_type"),
        ("text/html", b"<p>\xff", "invalid_utf8"),
        ("text/plain", b"x" * 1001, "too_large"),
    ],
)
async def test_bytes_that_cannot_be_quoted_are_refused_and_not_stored(
    world: World, media_type: str, data: bytes, code: str
) -> None:
    world.owners.answers["query.ingestion.upload-permission.v1"] = commands.Outcome(
        sequence=1, changed=False
    )

    async with world.client() as client:
        response = await client.post(
            f"{SOURCES}/s/revisions", content=data, headers={"Content-Type": media_type}
        )

    assert response.json()["code"] == code
    statuses = {"too_large": 413, "unsupported_media_type": 415}
    assert response.status_code == statuses.get(code, 422)
    assert [subject for subject, _ in world.owners.asked if subject.startswith("command")] == []


async def test_a_stream_without_length_is_cut_off_at_the_bound(world: World) -> None:
    allowed = commands.Outcome(sequence=1, changed=False)
    world.owners.answers["query.ingestion.upload-permission.v1"] = allowed

    async def chunks() -> object:
        for _ in range(100):
            yield b"x" * 100

    async with world.client() as client:
        response = await client.post(
            f"{SOURCES}/s/revisions",
            content=chunks(),  # pyright: ignore[reportArgumentType]
            headers={"Content-Type": "text/plain"},
        )

    assert response.status_code == 413


async def test_nothing_is_stored_for_a_caller_who_may_not_publish(world: World) -> None:
    world.owners.answers["query.ingestion.upload-permission.v1"] = NotFound("no")

    async with world.client() as client:
        response = await client.post(
            f"{SOURCES}/s/revisions", content=b"secret", headers={"Content-Type": "text/plain"}
        )

    assert response.status_code == 404
    assert [subject for subject, _ in world.owners.asked] == [
        "query.ingestion.upload-permission.v1"
    ]


@pytest.mark.parametrize("form", ["raw", "json", "multipart"])
async def test_a_revision_may_be_sent_in_three_forms(world: World, form: str) -> None:
    world.owners.answers["query.ingestion.upload-permission.v1"] = commands.Outcome(
        sequence=1, changed=False
    )
    world.owners.answers["command.ingestion.publish-revision.v1"] = commands.PublishedOutcome(
        key="k", revision=1, sequence=2, content_sha256="a" * 64, event_id="e", changed=True
    )

    async with world.client() as client:
        url = f"{SOURCES}/s/revisions"
        if form == "raw":
            response = await client.post(
                url, content=b"# Hi", headers={"Content-Type": "text/markdown; charset=utf-8"}
            )
        elif form == "json":
            response = await client.post(url, json={"media_type": "text/markdown", "text": "# Hi"})
        else:
            response = await client.post(url, files={"file": ("a.md", b"# Hi", "text/markdown")})

    assert response.status_code == 202
    assert response.json()["state"] == "pending"
    sent = world.owners.asked[-1][1].body
    assert isinstance(sent, commands.PublishRevision)
    assert (sent.media_type, sent.size_bytes) == ("text/markdown", 4)
    assert await world.blobs.exists("default", sent.content_sha256)


@pytest.mark.req("CL-8")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"question": ""}, "question"),
        ({"question": "   \n\t "}, "question"),
        ({"question": "x" * 4001}, "question"),
        ({"question": "q", "mode": "magic"}, "mode"),
        ({"question": "q", "sources": ["a.b"]}, "sources.0"),
        ({"question": "q", "bounds": {"max_source": 2}}, "bounds.max_source"),
        ({"question": "q", "bounds": {"profile": ""}}, "bounds.profile"),
        ({"question": "q", "bounds": {"profile": "x" * 201}}, "bounds.profile"),
        ({"question": "q", "bounds": {"policy_revision": ""}}, "bounds.policy_revision"),
        ({"question": "q", "bounds": {"policy_revision": "x" * 201}}, "bounds.policy_revision"),
        ({"question": "q", "bounds": {"max_input_tokens": 0}}, "bounds.max_input_tokens"),
        ({"question": "q", "bounds": {"max_input_tokens": 32_769}}, "bounds.max_input_tokens"),
        ({"question": "q", "bounds": {"max_output_tokens": 0}}, "bounds.max_output_tokens"),
        ({"question": "q", "bounds": {"max_output_tokens": 4097}}, "bounds.max_output_tokens"),
        ({"question": "q", "bounds": {"max_duration_s": 0}}, "bounds.max_duration_s"),
        ({"question": "q", "bounds": {"max_duration_s": 601}}, "bounds.max_duration_s"),
        ({"question": "q", "bounds": {"min_sources": 0}}, "bounds.min_sources"),
        ({"question": "q", "bounds": {"max_sources": 13}}, "bounds.max_sources"),
        ({"question": "q", "bounds": {"min_sources": 3, "max_sources": 2}}, "bounds"),
        ({"question": "q", "bounds": {"min_sources": 1.5}}, "bounds.min_sources"),
    ],
)
async def test_each_bound_of_a_question_is_an_error_that_names_the_field(
    world: World, body: dict[str, object], field: str
) -> None:
    async with world.client() as client:
        response = await client.post("/v1/conversations/c/messages", json=body)

    assert response.status_code == 422
    assert response.json()["field"] == field
    assert world.owners.asked == []


@pytest.mark.req("CL-8")
async def test_a_question_at_its_bounds_is_accepted_and_announced_once(world: World) -> None:
    posted = commands.MessagePosted(
        run_id="r1",
        message_id="m1",
        message=1,
        workspace_id="w",
        requested_at=SystemClock().now(),
    )
    world.owners.answers["command.release.post-message.v1"] = posted
    body = {
        "question": " " + "x" * 4000 + " ",
        "bounds": {"max_input_tokens": 32_768, "max_duration_s": 600, "max_sources": 12},
    }

    async with world.client() as client:
        first = await client.post(
            "/v1/conversations/c/messages", json=body, headers={"Idempotency-Key": "k"}
        )
        second = await client.post(
            "/v1/conversations/c/messages", json=body, headers={"Idempotency-Key": "k"}
        )

    assert first.status_code == second.status_code == 202
    assert first.json() == second.json() == {"run_id": "r1", "message_id": "m1"}
    assert first.headers["Location"] == "/v1/runs/r1"
    assert list(world.announcements.events) == ["run.default.r1.requested"]
    event = world.announcements.events["run.default.r1.requested"]
    assert isinstance(event.data, RunRequested)
    assert await world.blobs.exists("default", event.data.question_sha256, run="r1")


async def test_an_absent_idempotency_key_is_drawn_and_echoed(world: World) -> None:
    world.owners.answers["command.ingestion.declare-source.v1"] = commands.Outcome(
        sequence=1, changed=True
    )

    async with world.client() as client:
        drawn = await client.put(f"{SOURCES}/s", json={"title": "t"})
        read = await client.get(f"{SOURCES}/s", headers={"Idempotency-Key": "mine"})
        given = await client.put(
            f"{SOURCES}/s", json={"title": "t"}, headers={"Idempotency-Key": "mine"}
        )
        bad = await client.put(
            f"{SOURCES}/s", json={"title": "t"}, headers={"Idempotency-Key": "a b"}
        )

    assert "Idempotency-Key" not in read.headers
    assert drawn.headers["Idempotency-Key"] == world.owners.asked[0][1].idempotency_key
    assert given.headers["Idempotency-Key"] == "mine"
    assert bad.status_code == 422
    assert bad.json()["field"] == "Idempotency-Key"


async def test_a_disclosure_is_passed_on_byte_for_byte(world: World) -> None:
    text = '{"text":"a\\u00e9 “x”",  "b":1}'
    world.owners.answers["query.release.answer.v1"] = queries.Document(
        status="sealed", json_text=text, superseded=True
    )

    async with world.client() as client:
        response = await client.get("/v1/runs/r/answer")

    assert response.content == text.encode()
    assert response.headers["Chancery-Superseded-By-Publication"] == "true"
    assert response.headers["Cache-Control"] == "no-store"


async def test_an_open_run_has_no_answer_yet(world: World) -> None:
    world.owners.answers["query.release.answer.v1"] = queries.Document(
        status="open", json_text='{"run_id":"r"}'
    )

    async with world.client() as client:
        response = await client.get("/v1/runs/r/answer")

    assert response.status_code == 202


async def test_a_stream_that_the_owner_refuses_never_opens(world: World) -> None:
    world.owners.answers["query.release.events.v1"] = NotFound("there is no such run")

    async with world.client() as client:
        response = await client.get("/v1/runs/r/events")

    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


async def test_events_are_framed_with_their_numbers_and_end(world: World) -> None:
    world.owners.answers["query.release.events.v1"] = queries.EventRows(
        rows=(
            queries.EventRow(number=1, event="state", data='{"a":1}'),
            queries.EventRow(number=2, event="end", data="{}"),
        ),
        ended=True,
    )

    async with world.client() as client:
        response = await client.get("/v1/runs/r/events", headers={"Last-Event-ID": "r.0"})

    assert response.text == (
        'id: r.1\nevent: state\ndata: {"a":1}\n\nid: r.2\nevent: end\ndata: {}\n\n'
    )


async def test_readiness_tells_an_owner_that_is_away_from_one_that_refuses(world: World) -> None:
    world.owners.answers["query.release.identity.v1"] = Denied("no")

    async with world.client(token=None) as client:
        away = await client.get("/readyz")
        world.owners.answers["query.ingestion.upload-permission.v1"] = Denied("no")
        ready = await client.get("/readyz")

    assert (away.status_code, away.json()["waiting_for"]) == (503, ["ingestion"])
    assert ready.status_code == 200


async def test_an_unknown_route_is_a_problem_document(world: World) -> None:
    async with world.client() as client:
        response = await client.get("/v1/nothing")

    assert response.status_code == 404
    assert response.json()["code"] == "not_found"


async def test_a_caller_is_told_their_workspaces_and_roles(world: World) -> None:
    world.owners.answers["query.release.identity.v1"] = queries.Identity(
        tenant="default", principal="ada", tenant_admin=True, workspaces=(("w", "reader"),)
    )

    async with world.client() as client:
        response = await client.get("/v1/workspaces")

    assert response.json() == {"workspaces": [{"workspace_id": "w", "role": "reader"}]}


async def test_the_description_asks_for_a_credential_on_every_route_that_needs_one(
    world: World,
) -> None:
    async with world.client(None) as client:
        paths = (await client.get("/openapi.json")).json()["paths"]

    named = {path: verb.get("security") for path, verbs in paths.items() for verb in verbs.values()}
    assert named["/v1/workspaces"] == [{"bearerAuth": []}]
    assert {path for path, schemes in named.items() if not schemes} == {
        "/healthz",
        "/readyz",
        "/metrics",
    }
