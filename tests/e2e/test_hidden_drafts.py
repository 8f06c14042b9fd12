"""A draft on evidence that somebody may not read, tried over HTTP by another publisher."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from chancery.client.knowledge import Draft, Evidence
from chancery.kernel.canonical import sha256_hex
from tests.e2e.curating import LAW, item, problem
from tests.e2e.world import World, send

SECRET = "Plant two is sold in May.\n"


@pytest.mark.req("CR-4", "KO-9")
async def test_a_publisher_can_neither_guess_nor_replace_a_draft_that_is_hidden_from_them(
    world: World,
) -> None:
    other, name = world.stranger, f"stranger-{world.id}"
    await world.operator.workspace(world.id).add_member(name, "publisher")
    await item(world, "memo")
    await world.document("plan", LAW, access="restricted")
    rests: JsonValue = [{"kind": "source", "id": "plan", "revision": 1}]
    draft = Draft(title="M", text=SECRET, evidence=[Evidence("source", "plan", 1)])
    saved = await world.desk.items.save_draft("memo", draft)
    drafts = f"/v1/workspaces/{world.id}/items/memo/drafts"
    mine: dict[str, JsonValue] = {"title": "M", "kind": "k", "domain": "d", "text": "Mine.\n"}
    guesses: list[dict[str, JsonValue]] = [
        {"content_sha256": sha256_hex(text.encode()), "evidence": evidence}
        for text in (SECRET, "Another guess.\n")
        for evidence in ([], rests)
    ]

    told = {
        draft_id: [
            await problem(other, "POST", f"{drafts}/{draft_id}/publish", guess) for guess in guesses
        ]
        for draft_id in (saved.draft_id, "nothing")
    }
    replaced = await problem(other, "PUT", f"{drafts}/{saved.draft_id}", mine)
    await world.desk.grant("sources", "plan", name)
    seen = [
        (await send(other, "POST", f"{drafts}/{saved.draft_id}/publish", json=guess)).status_code
        for guess in reversed(guesses)
    ]

    assert set(told["nothing"]) == {(404, "not_found", "draft_id")}
    assert told[saved.draft_id] == told["nothing"]
    assert replaced == (404, "not_found", "draft_id")
    assert seen == [409, 409, 202, 404]
