"""Curated items in the running system: exact publication, answers, and what ends them."""

from __future__ import annotations

from typing import Any

import pytest

from chancery.client.http import Ask, Chancery
from chancery.client.replies import RefusedAnswer, SealedAnswer, WithheldAnswer
from chancery.testkit.waiting import eventually
from tests.e2e.world import World, send

SOURCE = "# Pumps\n\nThe spare pump stands in hall seven.\n"
BODY = "# Glossary\n\nA churn rate is the share of customers who leave within a year.\n"
LATER = "# Glossary\n\nA churn rate is the share of customers who leave within a month.\n"
QUESTION = "What is a churn rate?"
EVIDENCE = [{"kind": "source", "id": "pumps", "revision": 1}]


async def saved(world: World, text: str = BODY, **fields: Any) -> dict[str, Any]:
    """Save a draft of the item `glossary` as the publisher."""
    body = {
        "title": "Glossary",
        "kind": "note",
        "domain": "finance",
        "tags": ["terms"],
        "text": text,
        "evidence": EVIDENCE,
        **fields,
    }
    path = f"/v1/workspaces/{world.id}/items/glossary/drafts"
    told = await send(world.publisher, "POST", path, json=body)
    assert told.status_code == 201, told.text
    draft: dict[str, Any] = told.json()
    return draft


async def publish(world: World, draft: dict[str, Any], **fields: Any) -> tuple[int, dict[str, Any]]:
    """Publish exactly that draft, with some fields changed."""
    path = f"/v1/workspaces/{world.id}/items/glossary/drafts/{draft['draft_id']}/publish"
    body = {"content_sha256": draft["content_sha256"], "evidence": EVIDENCE, **fields}
    told = await send(world.publisher, "POST", path, json=body)
    found: dict[str, Any] = told.json()
    return told.status_code, found


async def published(world: World, text: str = BODY, **fields: Any) -> int:
    """Save, publish, wait until it is indexed, and return the version."""
    draft = await saved(world, text, **fields)
    status, told = await publish(world, draft)
    assert status in {201, 202}, told

    async def ready() -> bool:
        path = f"/v1/workspaces/{world.id}/items"
        items = (await send(world.publisher, "GET", path)).json()["items"]
        wanted = (told["version"], "ready")
        return any((each["version"], each["state"]) == wanted for each in items)

    await eventually(ready, within_s=20)
    version: int = told["version"]
    return version


async def act(world: World, place: str, verb: str) -> int:
    """Withdraw or restore as the publisher."""
    told = await send(world.publisher, "POST", f"/v1/workspaces/{world.id}/{place}/{verb}")
    return told.status_code


async def asked(world: World, client: Chancery, *, item: str) -> Any:
    """Ask about one selected item."""
    handle = await client.ask(world.id, Ask(question=QUESTION, items=(item,)))
    return handle, await client.answer(handle)


@pytest.mark.req("CR-2", "CR-6", "CR-13")
async def test_an_answer_rests_on_the_published_version_and_ends_with_it(world: World) -> None:
    await world.document("pumps", SOURCE)
    await published(world)
    await saved(world, LATER)

    handle, answer = await asked(world, world.reader, item="glossary")
    assert isinstance(answer, SealedAnswer)
    assert [each.text for each in answer.statements] == [
        "A churn rate is the share of customers who leave within a year."
    ]
    assert await act(world, "items/glossary", "withdraw") < 300

    assert isinstance(await world.reader.answer(handle), WithheldAnswer)
    _, again = await asked(world, world.reader, item="glossary")
    assert isinstance(again, RefusedAnswer)


@pytest.mark.req("CR-4", "CR-6")
async def test_an_answer_is_withheld_once_the_evidence_of_its_item_is_withdrawn(
    world: World,
) -> None:
    await world.document("pumps", SOURCE)
    await published(world)
    handle, answer = await asked(world, world.reader, item="glossary")
    assert isinstance(answer, SealedAnswer)

    assert await act(world, "sources/pumps", "withdraw") < 300
    withheld = await world.reader.answer(handle)
    _, refused = await asked(world, world.reader, item="glossary")
    assert await act(world, "sources/pumps", "restore") < 300

    assert isinstance(withheld, WithheldAnswer)
    assert isinstance(refused, RefusedAnswer)
    assert refused.outcome == "source_access"
    assert isinstance(await world.reader.answer(handle), SealedAnswer)


@pytest.mark.req("CR-3", "CR-27")
async def test_only_the_exact_draft_is_published_and_read_by_its_readers(world: World) -> None:
    await world.document("pumps", SOURCE)
    draft = await saved(world, visibility="restricted")

    status, problem = await publish(world, draft, content_sha256="0" * 64)
    assert (status, problem["code"]) == (409, "draft_changed")
    status, problem = await publish(world, draft, evidence=[])
    assert (status, problem["code"]) == (409, "draft_changed")
    assert (await publish(world, draft))[0] in {201, 202}

    path = f"/v1/workspaces/{world.id}/items/glossary"
    unseen = await send(world.reader, "GET", path)
    missing = await send(world.reader, "GET", f"/v1/workspaces/{world.id}/items/nothing")
    grant = await send(world.publisher, "PUT", f"{path}/grants/{world.reader_name}")
    seen = await send(world.reader, "GET", path)

    assert (unseen.status_code, unseen.json()["code"]) == (404, missing.json()["code"])
    assert unseen.json()["detail"] == missing.json()["detail"]
    assert grant.status_code < 300
    assert seen.status_code == 200
    assert [each["version"] for each in seen.json()["versions"]] == [1]
    assert seen.json()["drafts"] == []
