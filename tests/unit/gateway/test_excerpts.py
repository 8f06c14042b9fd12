"""`rag` and `rlm` at the edge: exact excerpts, no answer with its reason, or not ended yet."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from chancery.events import commands, queries
from chancery.events.run import RunRequested
from chancery.events.topology import command_subject, query_subject
from chancery.gateway.handlers import excerpts
from chancery.kernel.canonical import Json
from chancery.kernel.errors import NotFound
from tests.unit.gateway.fakes import World

ANSWER = query_subject("release", "answer")
CONVERSATION = command_subject("release", "create-conversation")
MESSAGE = command_subject("release", "post-message")
COVERAGE: Json = {"state": "complete", "eligible": 1}
SEALED: dict[str, Json] = {
    "run_id": "r",
    "generation": 2,
    "status": "sealed",
    "coverage": COVERAGE,
    "text": "From the sources:\n\n[1] “The pump.”\n— Pumps, part 1, 0–9",
    "citations": [{"id": "c", "kind": "quote", "source_id": "s", "start": 0, "end": 9}],
    "statements": [{"id": "f", "kind": "quote", "text": "The pump.", "citation": "c"}],
}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(excerpts, "WAIT_S", 0.02)
    world = World()
    world.owners.answers[CONVERSATION] = commands.ConversationCreated(conversation_id="conv")
    world.owners.answers[MESSAGE] = commands.MessagePosted(
        run_id="r",
        message_id="m",
        message=1,
        workspace_id="w",
        requested_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
    return world


async def ask(
    world: World,
    status: str,
    document: dict[str, Json],
    body: dict[str, Json] | None = None,
    *,
    route: str = "rag",
) -> tuple[int, dict[str, Json]]:
    world.owners.answers[ANSWER] = queries.Document.model_validate(
        {"status": status, "json_text": json.dumps(document)}
    )
    async with world.client() as client:
        asked = {"question": "Where is the pump?", **(body or {})}
        response = await client.post(f"/v1/workspaces/w/{route}", json=asked)
    found: dict[str, Json] = response.json()
    return response.status_code, found


@pytest.mark.req("CR-18")
async def test_a_sealed_run_is_told_as_answer_and_citations(world: World) -> None:
    filters: dict[str, Json] = {"date_from": "2026-01-02"}
    body: dict[str, Json] = {"sources": ["s"], "bounds": {"max_sources": 2}, "filters": filters}

    status, found = await ask(world, "sealed", SEALED, body)

    assert status == 200
    assert found == {
        "answer": SEALED["text"],
        "citations": SEALED["citations"],
        "no_answer": False,
        "explanation": None,
        "run_id": "r",
        "generation": 2,
        "coverage": COVERAGE,
    }
    (event,) = world.announcements.events.values()
    assert isinstance(event.data, RunRequested)
    assert (event.data.mode, event.data.sources) == ("rag", ("s",))
    assert event.data.bounds.max_sources == 2
    assert event.data.filters.date_from == "2026-01-02"


@pytest.mark.req("CR-18")
@pytest.mark.parametrize("outcome", ["insufficient_evidence", "source_access", "unavailable"])
async def test_a_refused_run_is_told_as_no_answer(world: World, outcome: str) -> None:
    document: dict[str, Json] = {
        "run_id": "r",
        "generation": 1,
        "status": "refused",
        "outcome": outcome,
        "explanation": "Nothing.",
        "coverage": None,
    }

    status, found = await ask(world, "refused", document)

    assert status == 200
    assert (found["answer"], found["citations"], found["no_answer"]) == (None, [], True)
    assert found["explanation"] == "Nothing."


@pytest.mark.req("CR-18", "CL-13")
async def test_a_withheld_answer_shows_nothing_of_itself(world: World) -> None:
    document: dict[str, Json] = {
        "run_id": "r",
        "generation": 1,
        "status": "withheld",
        "explanation": "Withheld.",
    }

    _, found = await ask(world, "withheld", document)

    assert found == {
        "answer": None,
        "citations": [],
        "no_answer": True,
        "explanation": "Withheld.",
        "run_id": "r",
        "generation": 1,
        "coverage": None,
    }


async def test_a_run_that_is_still_open_is_told_by_its_id(world: World) -> None:
    status, found = await ask(world, "open", {"run_id": "r", "state": "gathered"})

    assert (status, found) == (202, {"run_id": "r"})
    asked = [subject for subject, _ in world.owners.asked]
    assert asked.count(ANSWER) > 1


async def test_rlm_starts_a_run_of_its_own_mode(world: World) -> None:
    await ask(world, "sealed", SEALED, route="rlm")

    (event,) = world.announcements.events.values()
    assert isinstance(event.data, RunRequested)
    assert event.data.mode == "rlm"


@pytest.mark.req("CL-8", "CR-11")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"question": " "}, "question"),
        ({"mode": "data"}, "mode"),
        ({"datasets": ["d"]}, "datasets"),
        ({"filters": {"author": "Ada"}}, "filters.author"),
        ({"bounds": {"min_sources": 3, "max_sources": 2}}, "bounds"),
        ({"bounds": {"max_duration_s": 601}}, "bounds.max_duration_s"),
        ({"bounds": {"max_source": 2}}, "bounds.max_source"),
    ],
)
async def test_a_wrong_field_is_refused_by_name(
    world: World, body: dict[str, Json], field: str
) -> None:
    status, found = await ask(world, "sealed", SEALED, body)

    assert (status, found["field"]) == (422, field)
    assert world.owners.asked == []


async def test_a_foreign_workspace_starts_nothing(world: World) -> None:
    refused = NotFound("there is no such workspace", code="workspace_not_found")
    world.owners.answers[CONVERSATION] = refused

    status, found = await ask(world, "sealed", SEALED)

    assert (status, found["code"]) == (404, "workspace_not_found")
    assert world.announcements.events == {}
