"""A publication tells its owner whether something withdrawn is to serve again: only when asked."""

from __future__ import annotations

import pytest

from chancery.authority.errors import Withdrawn
from chancery.events import commands
from tests.unit.gateway.fakes import World

WORKSPACE = "/v1/workspaces/w"
REVISIONS = f"{WORKSPACE}/sources/s/revisions"
PUBLICATION = f"{WORKSPACE}/items/i/drafts/d/publish"
SUBJECTS = {
    REVISIONS: "command.ingestion.publish-revision.v1",
    PUBLICATION: "command.ingestion.publish-draft.v1",
}


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("query", ["", "?restore=false", "?restore=true"])
@pytest.mark.parametrize("route", [REVISIONS, PUBLICATION])
async def test_only_who_asks_for_it_lets_something_withdrawn_serve_again(
    route: str, query: str
) -> None:
    world = World()
    permitted = commands.Outcome(sequence=1, changed=False)
    world.owners.answers["query.ingestion.upload-permission.v1"] = permitted
    world.owners.answers[SUBJECTS[route]] = Withdrawn("source")
    body = {"text": "a"} if route == REVISIONS else {"content_sha256": "0" * 64}

    async with world.client() as client:
        response = await client.post(f"{route}{query}", json=body)

    told = response.json()
    assert (response.status_code, told["code"], told["field"]) == (409, "withdrawn", "restore")
    (asked,) = [each.body for name, each in world.owners.asked if name == SUBJECTS[route]]
    assert isinstance(asked, commands.PublishRevision | commands.PublishDraft)
    assert asked.restore is (query == "?restore=true")


@pytest.mark.parametrize("route", [REVISIONS, PUBLICATION])
async def test_neither_a_spelling_nor_a_value_that_nobody_knows_is_passed_over(route: str) -> None:
    world = World()

    async with world.client() as client:
        misspelled = await client.post(f"{route}?restored=true", json={})
        unclear = await client.post(f"{route}?restore=perhaps", json={})

    assert (misspelled.status_code, misspelled.json()["field"]) == (422, "restored")
    assert unclear.status_code == 422
    assert "restore" in unclear.json()["field"]
