"""A filter narrows what an answer may rest on; one that is not supported is an error."""

from __future__ import annotations

import pytest

from chancery.client.replies import ANSWER, Answer, RefusedAnswer, SealedAnswer
from tests.e2e.world import World, send

QUESTION = "Where does the spare pump stand?"
PAGES = {
    "rule": ("normative", "2024-03-01", "The spare pump stands in hall seven."),
    "diary": ("historical", "1999-05-05", "The spare pump stands in the old boiler house."),
    "note": (None, None, "The spare pump stands behind the canteen."),
}


async def publish(world: World) -> None:
    """Publish what different sources say of one thing."""
    for name, (authority, date, sentence) in PAGES.items():
        body = {"title": name, "authority": authority, "date": date}
        path = f"/v1/workspaces/{world.id}/sources/{name}"
        declared = await send(
            world.publisher, "PUT", path, json={k: v for k, v in body.items() if v is not None}
        )
        assert declared.status_code == 200, declared.text
        published = await world.desk.publish_text(name, f"# Pumps\n\n{sentence}\n")
        assert (await world.desk.wait_until_ready(name, published.revision)).state == "ready"


async def ask(world: World, **body: object) -> Answer:
    """Ask with the body as given; return what the run ended with."""
    conversation = await world.reader.workspace(world.id).open_conversation()
    path = f"/v1/conversations/{conversation}/messages"
    posted = await send(world.reader, "POST", path, json={"question": QUESTION, **body})
    assert posted.status_code == 202, posted.text
    await world.reader.wait(posted.json()["run_id"])
    found = await send(world.reader, "GET", f"/v1/runs/{posted.json()['run_id']}/answer")
    return ANSWER.validate_json(found.content)


def sources(answer: Answer) -> set[str | None]:
    """Return the sources that an answer cites; a refusal cites none."""
    return {each.source_id for each in answer.citations} if answer.status == "sealed" else set()


@pytest.mark.req("CR-11")
async def test_filters_and_selections_only_narrow_what_an_answer_rests_on(world: World) -> None:
    await publish(world)
    everything = await ask(world)
    narrowed = {
        "normative": await ask(world, filters={"authority": ["normative"]}),
        "early": await ask(world, filters={"date_to": "2000-01-01"}),
        "undated": await ask(world, filters={"authority": ["reference"]}),
        "both": await ask(world, filters={"authority": ["normative"]}, sources=["diary", "rule"]),
    }
    nothing = await ask(world, filters={"authority": ["normative"], "date_to": "2000-01-01"})
    outside = await ask(world, filters={"authority": ["normative"]}, sources=["diary"])
    no_documents = await ask(world, filters={"date_from": "2000-01-01"}, mode="data")

    assert isinstance(everything, SealedAnswer)
    assert {name: sources(each) for name, each in narrowed.items()} == {
        "normative": {"rule"},
        "early": {"diary"},
        "undated": {"note"},
        "both": {"rule"},
    }
    for refused in (nothing, outside, no_documents):
        assert isinstance(refused, RefusedAnswer)
        assert refused.outcome == "insufficient_evidence"


@pytest.mark.req("CR-11")
async def test_an_unsupported_filter_or_parameter_is_an_error_that_names_it(world: World) -> None:
    conversation = await world.reader.workspace(world.id).open_conversation()
    start = f"/v1/workspaces/{world.id}"
    asked: tuple[tuple[str, str, str, dict[str, object]], ...] = (
        ("POST", f"/v1/conversations/{conversation}/messages", "filters.region",
         {"question": QUESTION, "filters": {"region": "north"}}),
        ("POST", f"/v1/conversations/{conversation}/messages", "filter",
         {"question": QUESTION, "filter": {}}),
        ("GET", f"{start}/sources?visibility=private", "visibility", {}),
        ("POST", f"{start}/query?offset=10", "offset", {"sql": "SELECT 1"}),
        ("POST", f"{start}/query", "filters", {"sql": "SELECT 1", "filters": {}}),
    )  # fmt: skip

    told = [await send(world.reader, method, path, json=body) for method, path, _, body in asked]
    messages = await world.reader.conversation(conversation)

    assert [(each.status_code, each.json()["field"]) for each in told] == [
        (422, field) for _, _, field, _ in asked
    ]
    assert messages["messages"] == []
