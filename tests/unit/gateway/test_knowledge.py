"""Items, files and corpora at the edge: bounds before any owner, failures that stay failures."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chancery.events import commands, corpora, queries
from chancery.events.authority_knowledge import ITEM_BYTES_MAX
from chancery.events.topology import command_subject, query_subject
from chancery.gateway.domain.body_limits import DRAFT_BYTES_MAX, JSON_BYTES_MAX, limits_of
from chancery.kernel.canonical import Json, sha256_hex
from chancery.kernel.errors import NotFound, Unavailable
from tests.unit.gateway.fakes import World

WORKSPACE = "/v1/workspaces/w"
DRAFTS = f"{WORKSPACE}/items/guide/drafts"
ANSWER = f"{WORKSPACE}/corpora/Handbook/answer"
AVAILABLE = query_subject("release", "available")
REQUEST: dict[str, Json] = {
    "source": "ticket 1",
    "revision": 1,
    "question": "Why?",
    "profile": "desk",
    "policy_revision": "1",
}
UPLOAD_BYTES_MAX = 9_000_000
IDENTITY = query_subject("release", "identity")
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def draft(text: str) -> dict[str, Json]:
    """Return a draft with this text."""
    return {"title": "T", "kind": "a", "domain": "b", "text": text}


@pytest.mark.parametrize(
    ("path", "bytes_max", "any_type"),
    [
        ("/v1/files", UPLOAD_BYTES_MAX, True),
        ("/v1/blobs", UPLOAD_BYTES_MAX, True),
        (f"{WORKSPACE}/sources/s/revisions", UPLOAD_BYTES_MAX, True),
        (f"{WORKSPACE}/datasets/d/snapshots", UPLOAD_BYTES_MAX, True),
        (f"{WORKSPACE}/sources", UPLOAD_BYTES_MAX, False),
        (f"{WORKSPACE}/sources/s/other/revisions", JSON_BYTES_MAX, False),
        (f"{WORKSPACE}/sources/s/revisions/1", JSON_BYTES_MAX, False),
        (DRAFTS, DRAFT_BYTES_MAX, False),
        (f"{DRAFTS}/d1", DRAFT_BYTES_MAX, False),
        (f"{DRAFTS}/d1/publish", JSON_BYTES_MAX, False),
        (f"{WORKSPACE}/corpora/Handbook", JSON_BYTES_MAX, True),
        (ANSWER, JSON_BYTES_MAX, False),
        ("/v1/files/f1", JSON_BYTES_MAX, False),
        (f"{WORKSPACE}/policy", JSON_BYTES_MAX, False),
    ],
)
def test_a_path_says_what_its_body_may_be(path: str, bytes_max: int, *, any_type: bool) -> None:
    limits = limits_of("POST", path, upload_bytes_max=UPLOAD_BYTES_MAX)

    assert (limits.bytes_max, limits.any_type) == (bytes_max, any_type)


@pytest.mark.req("CR-8")
async def test_a_body_above_every_draft_is_told_the_bound_of_its_text() -> None:
    async with World().client() as client:
        refused = await client.post(DRAFTS, json=draft("a" * DRAFT_BYTES_MAX))
        other = await client.put("/v1/workspaces/w/policy", json={"language": "a" * JSON_BYTES_MAX})

    told = [(each.status_code, "262,144 bytes (256 KiB)" in each.text) for each in (refused, other)]
    assert told == [(413, True), (413, False)]


@pytest.mark.req("CR-8")
@pytest.mark.parametrize("letter", ["a", "ä"])
async def test_a_body_above_its_bound_is_refused_by_name_before_its_owner(letter: str) -> None:
    world = World()
    world.owners.answers[IDENTITY] = queries.Identity.model_construct()
    fits = letter * (ITEM_BYTES_MAX // len(letter.encode()))
    async with world.client() as client:
        refused = await client.post(DRAFTS, json=draft(f"{fits}."))
        asked_before = list(world.owners.asked)
        taken = await client.post(DRAFTS, json=draft(fits))

    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
    assert {subject for subject, _ in asked_before} <= {IDENTITY}
    # The control: the bound itself passes the edge; here nobody answers behind it.
    assert taken.status_code == 503
    assert world.owners.asked[-1][0] == query_subject("ingestion", "upload-permission")


@pytest.mark.req("CL-14")
async def test_a_failed_check_of_availability_is_a_failure_and_neither_answer() -> None:
    world = World()
    place = f"{WORKSPACE}/corpora/Handbook/available"
    handle: dict[str, Json] = {"answer": {"run_id": "r1", "generation": 1}}
    found: list[tuple[int, object]] = []
    async with world.client() as client:
        for answer in (
            Unavailable("the store is away"),
            NotFound("there is no such run", code="run_not_found"),
            corpora.Availability(available=True),
            corpora.Availability(available=False),
        ):
            world.owners.answers[AVAILABLE] = answer
            response = await client.post(place, json=handle)
            found.append((response.status_code, response.json().get("available")))
        missing = await client.post(place, json={})

    assert found == [(503, None), (404, None), (200, True), (200, False)]
    assert missing.status_code == 422


@pytest.mark.req("CL-8")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"min_sources": 9}, "max_sources"),
        ({"min_sources": 3, "max_sources": 2}, "max_sources"),
        ({"max_sources": 13}, "max_sources"),
        ({"min_sources": 0}, "min_sources"),
        ({"bounds": {}}, "bounds"),
        ({"max_source": 2}, "max_source"),
    ],
)
async def test_bounds_that_do_not_go_together_are_named(
    change: dict[str, Json], field: str
) -> None:
    world = World()
    async with world.client() as client:
        refused = await client.post(ANSWER, json=REQUEST | change)

    assert (refused.status_code, refused.json()["field"]) == (422, field)
    assert world.owners.asked == []


@pytest.mark.req("CL-5")
async def test_a_misspelt_attribute_of_a_corpus_is_named_before_the_one_that_is_missing() -> None:
    written = {"model": "Revision", "scope": "parent.parent", "title": "title",
               "content": ["body"], "where": "live(row)"}  # fmt: skip
    world, found = World(), list[str]()
    async with world.client() as client:
        for each in ({"frm": "deployment.knowledge"}, {}):
            refused = await client.put(f"{WORKSPACE}/corpora/Handbook", json=written | each)
            found.append(refused.json()["field"])

    assert found == ["frm", "from"]


@pytest.mark.req("CL-6")
async def test_a_request_whose_question_was_lost_is_reconciled_by_repeating_it() -> None:
    world = World()
    question = str(REQUEST["question"]).encode()
    asked = commands.PostMessage(
        conversation_id="c1", run_id="r1", question_sha256=sha256_hex(question), mode="rag",
        corpus="Handbook",
    )  # fmt: skip
    begun = corpora.RunBegun(
        generation=1, message=1, workspace_id="w", requested_at=MOMENT,
        credential_id="c1", request_sha256="0" * 64, is_open=True, asked=asked,
    )  # fmt: skip
    for subject in (
        command_subject("release", "ask-corpus"),
        query_subject("release", "corpus-run"),
    ):
        world.owners.answers[subject] = begun
    world.owners.answers[query_subject("release", "run")] = queries.Document(
        status="open", json_text='{"run_id": "r1"}'
    )
    place = ANSWER.replace("answer", "reconcile")
    pair = {"source": REQUEST["source"], "revision": REQUEST["revision"]}
    async with world.client() as client:
        lost = await client.post(place, json=pair)
        announced = len(world.announcements.events)
        await client.post(ANSWER, json=REQUEST)
        found = await client.post(place, json=pair)

    assert (lost.status_code, lost.json()["code"]) == (409, "question_missing")
    assert announced == 0
    assert found.status_code == 200
    assert len(world.announcements.events) == 1


@pytest.mark.req("CL-6")
async def test_a_request_is_announced_with_its_corpus_while_its_run_is_open() -> None:
    for is_open in (True, False):
        world = World()
        asked = commands.PostMessage(
            conversation_id="c1", run_id="r1", question_sha256="0" * 64, mode="rag",
            corpus="Handbook",
        )  # fmt: skip
        world.owners.answers[command_subject("release", "ask-corpus")] = corpora.RunBegun(
            generation=1, message=1, workspace_id="w", requested_at=MOMENT,
            credential_id="c1", request_sha256="0" * 64, is_open=is_open, asked=asked,
        )  # fmt: skip
        world.owners.answers[query_subject("release", "run")] = queries.Document(
            status="open", json_text='{"run_id": "r1", "source": "c1", "revision": 1}'
        )
        async with world.client() as client:
            begun = await client.post(ANSWER, json=REQUEST | {"revision": 7})

        assert (begun.status_code, begun.headers["location"]) == (202, "/v1/runs/r1")
        assert (begun.json()["source"], begun.json()["revision"]) == ("ticket 1", 7)
        told = [getattr(each.data, "corpus", None) for each in world.announcements.events.values()]
        assert told == (["Handbook"] if is_open else [])
