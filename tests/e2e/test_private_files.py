"""Private files in the running system: their owner asks them, nobody else learns of them."""

from __future__ import annotations

from typing import Any

import pytest

from chancery.client.http import Ask, Chancery
from chancery.client.replies import RefusedAnswer, SealedAnswer, WithheldAnswer
from chancery.testkit.waiting import eventually
from tests.e2e.world import World, send

TEXT = "# Minutes\n\nThe board meets on the second Tuesday of each month.\n"
SENTENCE = "The board meets on the second Tuesday of each month."
QUESTION = "When does the board meet?"


async def upload(client: Chancery) -> str:
    """Upload the minutes, wait until they are indexed, and return the file's id."""
    told = await send(
        client,
        "POST",
        "/v1/files?title=Minutes",
        content=TEXT.encode(),
        headers={"Content-Type": "text/markdown"},
    )
    assert told.status_code < 300, told.text
    file_id: str = told.json()["file_id"]

    async def ready() -> bool:
        found = [(each["id"], each["state"]) for each in await files(client)]
        return (file_id, "ready") in found

    await eventually(ready, within_s=90)
    return file_id


async def files(client: Chancery) -> list[dict[str, Any]]:
    """Return the files that the client is told of."""
    told = await send(client, "GET", "/v1/files")
    found: list[dict[str, Any]] = told.json()["files"]
    return found


async def asked(world: World, client: Chancery, file_id: str) -> Any:
    """Ask about one selected file and return the handle and what the run ended with."""
    handle = await client.ask(world.id, Ask(question=QUESTION, files=(file_id,)))
    return handle, await client.answer(handle)


@pytest.mark.req("KO-9", "CR-10")
async def test_a_file_answers_its_owner_alone_and_only_when_it_is_selected(world: World) -> None:
    file_id = await upload(world.reader)

    _, answer = await asked(world, world.reader, file_id)
    _, foreign = await asked(world, world.publisher, file_id)
    _, missing = await asked(world, world.publisher, "no-such-file")
    unselected = await world.ask(QUESTION)

    assert isinstance(answer, SealedAnswer)
    assert [each.text for each in answer.statements] == [SENTENCE]
    assert isinstance(foreign, RefusedAnswer)
    assert isinstance(missing, RefusedAnswer)
    told = [each.model_dump(exclude={"run_id", "receipt"}) for each in (foreign, missing)]
    assert told[0] == told[1]
    assert told[0]["outcome"] == "source_access"
    assert isinstance(unselected, RefusedAnswer)
    assert [each["id"] for each in await files(world.reader)] == [file_id]
    assert await files(world.publisher) == []


@pytest.mark.req("CL-13", "CR-6")
async def test_a_deleted_file_withholds_the_answers_that_used_it(world: World) -> None:
    file_id = await upload(world.reader)
    handle, answer = await asked(world, world.reader, file_id)
    assert isinstance(answer, SealedAnswer)

    foreign = await send(world.publisher, "DELETE", f"/v1/files/{file_id}")
    missing = await send(world.publisher, "DELETE", "/v1/files/no-such-file")
    kept = await world.reader.answer(handle)
    deleted = await send(world.reader, "DELETE", f"/v1/files/{file_id}")

    assert (foreign.status_code, foreign.json()["detail"]) == (404, missing.json()["detail"])
    assert isinstance(kept, SealedAnswer)
    assert deleted.status_code < 300
    assert isinstance(await world.reader.answer(handle), WithheldAnswer)
    assert await files(world.reader) == []
    _, again = await asked(world, world.reader, file_id)
    assert isinstance(again, RefusedAnswer)
    assert again.outcome == "source_access"
