"""Private files over the bus in the running system: asked over HTTP by the principal that sent."""

from __future__ import annotations

import pytest

from chancery.client.http import Chancery
from chancery.client.replies import RefusedAnswer, SealedAnswer, WithheldAnswer
from chancery.events.intake import (
    FileDeletionSubmitted,
    FileSubmitted,
    IntakeAccepted,
    IntakeRejected,
)
from chancery.testkit.producers import producer
from chancery.testkit.waiting import eventually
from tests.e2e.producing import invited, submitted
from tests.e2e.running import System
from tests.e2e.test_private_files import SENTENCE, TEXT, asked, files
from tests.e2e.world import World, send


async def uploaded(client: Chancery) -> str:
    """Upload the minutes as bytes for a submission and return their hash."""
    headers = {"Content-Type": "application/octet-stream"}
    told = await send(client, "POST", "/v1/blobs", content=TEXT.encode(), headers=headers)
    assert told.status_code == 201, told.text
    found: str = told.json()["sha256"]
    return found


async def ready(client: Chancery, file_id: str) -> bool:
    """Tell whether the file can be asked."""
    return (file_id, "ready") in [(each["id"], each["state"]) for each in await files(client)]


@pytest.mark.req("EV-9", "KO-9", "CR-10")
@pytest.mark.parametrize("binary", [False, True], ids=["text, structured", "upload, binary"])
async def test_a_submitted_file_answers_its_sender_alone_until_it_deletes_it(
    system: System, world: World, *, binary: bool
) -> None:
    content = {"content_sha256": await uploaded(world.reader)} if binary else {"text": TEXT}
    data = {"title": "Minutes", "media_type": "text/markdown", **content}
    name, other = world.reader_name, f"publisher-{world.id}"
    async with producer(await invited(system, name)) as client:
        told = await submitted(client, name, FileSubmitted.TYPE, data, binary=binary)
        assert told["type"] == IntakeAccepted.TYPE
        file_id = told["data"]["file_id"]
        await eventually(lambda: ready(world.reader, file_id), within_s=90)

        handle, answer = await asked(world, world.reader, file_id)
        _, foreign = await asked(world, world.publisher, file_id)
        _, missing = await asked(world, world.publisher, "no-such-file")
        assert await files(world.publisher) == []
        async with producer(await invited(system, other)) as intruder:
            refused = [
                await submitted(intruder, other, FileDeletionSubmitted.TYPE, {"file_id": each})
                for each in (file_id, "no-such-file")
            ]
        kept = await world.reader.answer(handle)
        deletion = {"file_id": file_id}
        gone = await submitted(client, name, FileDeletionSubmitted.TYPE, deletion, binary=binary)

    assert isinstance(answer, SealedAnswer)
    assert [each.text for each in answer.statements] == [SENTENCE]
    assert isinstance(foreign, RefusedAnswer)
    assert isinstance(missing, RefusedAnswer)
    same = [each.model_dump(exclude={"run_id", "receipt"}) for each in (foreign, missing)]
    assert same[0] == same[1]
    assert {each["type"] for each in refused} == {IntakeRejected.TYPE}
    assert {(each["data"]["code"], each["data"]["field"]) for each in refused} == {
        ("not_found", "data.file_id")
    }
    assert isinstance(kept, SealedAnswer)
    assert gone["type"] == IntakeAccepted.TYPE
    assert isinstance(await world.reader.answer(handle), WithheldAnswer)
    assert await files(world.reader) == []
    _, again = await asked(world, world.reader, file_id)
    assert isinstance(again, RefusedAnswer)
    assert again.outcome == "source_access"
