"""A folder over the command line: new, broken, repeated, changed and cut off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from chancery.client.command.file_ids import hashed_id, source_id
from chancery.client.errors import ProblemError
from chancery.client.workspace import Document
from chancery.testkit.waiting import eventually
from tests.e2e.running import COMMAND, System, command
from tests.e2e.world import World
from tests.unit.extract.files import docx_file, lines, locked_pdf, paragraph, pdf_file

REFUSED, UNFINISHED = 1, 3
MANY = 600


class Summary(BaseModel):
    """What the command tells of all files."""

    files: int
    ready: int
    failed: int
    unchanged: int


class Output(BaseModel):
    """Its JSON, as far as it matters here."""

    summary: Summary


def _publisher(system: System, world: World) -> dict[str, str]:
    token = world.publisher.transport.token
    assert token is not None
    return {**system.environment, "CHANCERY_TOKEN": token}


def _publishing(system: System, world: World, folder: Path) -> subprocess.Popen[str]:
    # A test run in the background of a shell ignores Ctrl-C, and so would the command.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [*COMMAND, "publish", str(folder), "-w", world.id, "--json"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **_publisher(system, world)},
        )
    finally:
        signal.signal(signal.SIGINT, before)


def _publish(system: System, world: World, folder: Path) -> tuple[int, Summary]:
    environment = _publisher(system, world)
    done = command(["publish", str(folder), "-w", world.id, "--json"], environment)
    return done.returncode, Output.model_validate_json(done.stdout).summary


@pytest.mark.req("CL-1", "EV-6")
async def test_a_folder_is_published_repeated_and_changed(
    system: System, world: World, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("The spare kiln stands in hall seven.", "utf-8")
    (tmp_path / "two.pdf").write_bytes(pdf_file(lines("The kiln is cleaned on Mondays.")))
    (tmp_path / "three.docx").write_bytes(docx_file(paragraph("Its lining lasts nine years.")))
    (tmp_path / "locked.pdf").write_bytes(locked_pdf())
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "kilns.csv").write_text("id,hall\n1,7\n", "utf-8")

    first = _publish(system, world, tmp_path)
    again = _publish(system, world, tmp_path)
    (tmp_path / "notes" / "one.md").write_text("The spare kiln stands in hall eight.", "utf-8")
    changed = _publish(system, world, tmp_path)

    assert first == (REFUSED, Summary(files=6, ready=4, failed=2, unchanged=0))
    assert again == (REFUSED, Summary(files=6, ready=4, failed=2, unchanged=4))
    assert changed == (REFUSED, Summary(files=6, ready=4, failed=2, unchanged=3))
    assert (await world.desk.dataset("kilns")).revision == 1
    note = source_id("notes/one.md")
    assert (await world.desk.source(note)).revision == 2
    (tmp_path / "kilns.csv").write_text("id,hall\n1,8\n", "utf-8")
    table = _publish(system, world, tmp_path / "kilns.csv")
    assert table == (0, Summary(files=1, ready=1, failed=0, unchanged=0))
    assert (await world.desk.dataset("kilns")).revision == 2
    found = await world.desk.search("kiln hall eight", sources=[note])
    assert [hit.source_id for hit in found.hits] == [note]


async def test_a_run_that_is_cut_off_is_finished_by_the_next_one(
    system: System, world: World, tmp_path: Path
) -> None:
    for number in range(MANY):
        (tmp_path / f"page-{number}.txt").write_text(f"Page {number} of a long book.", "utf-8")

    async def has_begun() -> bool:
        return bool(await world.desk.sources())

    # Without indexing nothing becomes ready, so that it cannot be done before it is cut off.
    with system.paused("indexing"):
        process = _publishing(system, world, tmp_path)
        await eventually(has_begun, within_s=120)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=120)
    summary = Output.model_validate_json(printed).summary
    code, finished = _publish(system, world, tmp_path)

    assert process.returncode == UNFINISHED
    assert summary.files == MANY > summary.ready
    assert (code, finished.ready, finished.failed) == (0, MANY, 0)
    assert finished.unchanged > 0


@pytest.mark.req("EV-6")
async def test_a_batch_again_changes_nothing_and_is_not_for_strangers(world: World) -> None:
    pages = [
        Document(source_id=f"page-{number}", data=b"A page.", media_type="text/plain")
        for number in range(3)
    ]

    first = await world.desk.publish_all(pages)
    second = await world.desk.publish_all(pages)
    with pytest.raises(ProblemError) as refused:
        await world.stranger.workspace(world.id).publish_all(pages)
    with pytest.raises(ProblemError) as reader_refused:
        await world.reader.workspace(world.id).publish_all(pages)

    assert [(one.revision, one.changed) for one in first] == [(1, True)] * 3
    assert [(one.revision, one.changed) for one in second] == [(1, False)] * 3
    assert (refused.value.status, reader_refused.value.code) == (404, "not_permitted")


@pytest.mark.req("EV-6")
async def test_a_document_keeps_the_id_of_an_earlier_version_and_no_other_one_takes_it(
    system: System, world: World, tmp_path: Path
) -> None:
    text = "The spare lathe stands in hall nine."
    page = Document(source_id="lathe", data=text.encode(), media_type="text/plain", title="lathe")
    await world.desk.publish_all([page])
    (tmp_path / "lathe.txt").write_text(text, "utf-8")

    first = _publish(system, world, tmp_path)
    (tmp_path / "lathe.md").write_text("The spare lathe is no plain text.", "utf-8")
    second = _publish(system, world, tmp_path)

    assert first == (0, Summary(files=1, ready=1, failed=0, unchanged=1))
    assert second == (0, Summary(files=2, ready=2, failed=0, unchanged=1))
    assert {each.id: each.revision for each in await world.desk.sources()} == {
        "lathe": 1,
        hashed_id("lathe.md"): 1,
    }
    assert await world.desk.text("lathe", 1) == text


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
async def test_a_name_that_is_no_text_is_published_beside_the_others(
    system: System, world: World, tmp_path: Path
) -> None:
    for name in (b"na\xefve.md", b"bell\x07.md", b"line\nbreak.txt", b"plain.md"):
        (tmp_path / os.fsdecode(name)).write_text("A page.", "utf-8")

    first = _publish(system, world, tmp_path)
    again = _publish(system, world, tmp_path)

    assert first == (0, Summary(files=4, ready=4, failed=0, unchanged=0))
    assert again == (0, Summary(files=4, ready=4, failed=0, unchanged=4))
    assert {each.title for each in await world.desk.sources()} == {
        "na\N{REPLACEMENT CHARACTER}ve",
        "bell\N{REPLACEMENT CHARACTER}",
        "line\N{REPLACEMENT CHARACTER}break",
        "plain",
    }
