"""Private files over HTTP: only their owner, and only when they select them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chancery.client.errors import ProblemError
from chancery.client.http import Ask, Chancery
from chancery.extract.media import PNG
from tests.e2e.curating import (
    GUIDE,
    LAW,
    asking,
    cited,
    item,
    problem,
    refused,
    sealed,
    source,
    whole,
)
from tests.e2e.running import System, command
from tests.e2e.world import World, send

TEXT = "The secret garden is behind the blue door of the east wing.\n"
QUESTION = "Where is the secret garden?"
PER_RUN = {"run_id", "receipt", "reset_context"}
PICTURE = b"\x89PNG\r\n\x1a\n" + TEXT.encode()


async def keep(client: Chancery, text: str = TEXT) -> str:
    """Upload a file, wait until it is indexed, and return its id."""
    uploaded = await client.files.upload(text.encode(), "text/plain", title="my notes")
    assert (await client.files.wait_until_ready(uploaded.file_id)).state == "ready"
    return uploaded.file_id


@pytest.mark.req("KO-3", "CR-27", "CL-12")
async def test_a_file_answers_its_owner_when_it_is_selected_and_nobody_else(
    world: World, tmp_path: Path
) -> None:
    file_id = await keep(world.reader)
    ask = Ask(question=QUESTION, files=[file_id])

    own = await sealed(world.reader, world, ask)
    unselected = await refused(world.reader, world, Ask(question=QUESTION))
    others = [await refused(client, world, ask) for client in (world.publisher, world.operator)]
    lists = [
        [each.id for each in await client.files.all()]
        for client in (world.reader, world.publisher, world.operator)
    ]
    bundle = tmp_path / "bundle.json"
    bundle.write_bytes(await world.reader.bundle(own.run_id))
    audit = json.loads(json.dumps(await world.reader.audit(own.run_id)))

    (citation,) = own.citations
    assert (citation.file_id, citation.revision, citation.page) == (file_id, 1, None)
    assert own.statements[0].text == TEXT.strip()
    assert unselected == "insufficient_evidence"
    assert others == ["source_access", "source_access"]
    assert file_id in lists[0]
    assert not any(file_id in each for each in lists[1:])
    assert [each["id"] for each in audit["files"]] == [file_id]
    assert audit["sources"] == []
    assert command(["verify", str(bundle)]).returncode == 0


@pytest.mark.req("KO-3", "KO-9")
async def test_a_foreign_file_and_one_that_does_not_exist_are_one_case(world: World) -> None:
    file_id = await keep(world.reader)
    runs: list[dict[str, object]] = []
    for wanted in (file_id, "no-such-file"):
        answer = await asking(world.publisher, world, Ask(question=QUESTION, files=[wanted]))
        shown = await whole(world.publisher, answer.run_id)
        runs.append({k: v for k, v in shown.items() if k not in PER_RUN})
    deleted = [
        await problem(world.publisher, "DELETE", f"/v1/files/{wanted}")
        for wanted in (file_id, "no-such-file")
    ]

    assert runs[0] == runs[1]
    assert runs[0]["outcome"] == "source_access"
    assert deleted[0] == deleted[1]
    assert deleted[0][0] == 404
    assert [each.id for each in await world.reader.files.all()] == [file_id]


@pytest.mark.req("CR-27", "CL-13")
async def test_a_deleted_file_takes_its_answers_along(world: World) -> None:
    file_id = await keep(world.reader)
    ask = Ask(question=QUESTION, files=[file_id])
    answer = await sealed(world.reader, world, ask)

    done = await world.reader.files.delete(file_id)
    again = await world.reader.files.delete(file_id)
    after = await whole(world.reader, answer.run_id)

    assert (done.changed, again.changed) == (True, False)
    assert set(after) == {"run_id", "generation", "status", "explanation"}
    assert after["status"] == "withheld"
    assert await refused(world.reader, world, ask) == "source_access"
    assert await world.reader.files.all() == ()


@pytest.mark.req("KO-3")
async def test_an_image_is_kept_and_never_a_fact(world: World) -> None:
    image = await world.reader.files.upload(PICTURE, PNG, title="The secret garden")
    kept = await world.reader.files.wait_until_ready(image.file_id)
    text = await keep(world.reader)

    only = Ask(question=QUESTION, files=[image.file_id])
    beside = Ask(question=QUESTION, files=[image.file_id, text])

    assert (kept.state, kept.reason) == ("excluded", "no_text")
    assert await refused(world.reader, world, only) == "insufficient_evidence"
    assert cited(await sealed(world.reader, world, beside)) == {("file", text)}


@pytest.mark.req("CR-10", "CR-14", "KO-4")
async def test_an_answer_from_three_kinds_keeps_them_apart(world: World) -> None:
    await source(world, "law", LAW)
    await item(world, "guide", GUIDE)
    file_id = await keep(world.reader, "The wine cellar opens at eleven in the morning.\n")
    ask = Ask(
        question="What opens in the morning: the town hall, the reading room, the wine cellar?",
        sources=["law"],
        items=["guide"],
        files=[file_id],
    )

    answer = await sealed(world.reader, world, ask)
    await world.desk.withdraw("items", "guide")
    after = await whole(world.reader, answer.run_id)

    assert cited(answer) == {("source", "law"), ("item", "guide"), ("file", file_id)}
    assert after["status"] == "withheld"


@pytest.mark.req("EV-14")
async def test_one_key_keeps_one_file(world: World) -> None:
    headers = {"content-type": "text/plain", "idempotency-key": f"k-{world.id}"}
    first = await send(world.reader, "POST", "/v1/files", content=TEXT, headers=headers)
    repeat = await send(world.reader, "POST", "/v1/files", content=TEXT, headers=headers)
    other = await send(world.reader, "POST", "/v1/files", content=GUIDE, headers=headers)

    assert (first.status_code, repeat.status_code, other.status_code) == (202, 202, 409)
    assert first.json()["file_id"] == repeat.json()["file_id"]
    assert len(await world.reader.files.all()) == 1
    with pytest.raises(ProblemError):
        await world.reader.acting_with(None).files.all()


@pytest.mark.req("KO-3")
def test_the_command_line_keeps_lists_and_removes_files(system: System, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(TEXT, "utf-8")
    env = system.environment
    added = command(["file", "add", str(path)], env)
    file_id = added.stdout.strip()
    listed = command(["file", "list"], env)
    removed = command(["file", "remove", file_id], env)
    after = command(["file", "list"], env)
    image = tmp_path / "picture.png"
    image.write_bytes(PICTURE)
    no = command(["file", "add", str(image)], env)

    assert added.returncode == 0, added.stderr
    assert f"{file_id}\tready\t{len(TEXT)}\tnotes.txt" in listed.stdout.splitlines()
    assert removed.returncode == 0
    assert file_id not in after.stdout
    assert no.returncode == 1
    assert "picture.png" in no.stderr
