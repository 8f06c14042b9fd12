"""A folder is published while indexing and retrieval are killed; CHANCERY_DOCUMENTS says how many.

`CHANCERY_DOCUMENTS=1000 python -m pytest -s tests/chaos/test_bulk.py` takes some minutes.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from pydantic import BaseModel

from chancery.client.found import Found
from chancery.client.workspace import Workspace
from chancery.testkit.waiting import eventually
from tests.chaos.folders import BROKEN, MADE, PHRASE, made_words, make_folder
from tests.chaos.lost import lost, own_words
from tests.e2e.killing import FAST, came_back, kill
from tests.e2e.running import COMMAND, System, running

DOCUMENTS: Final = int(os.environ.get("CHANCERY_DOCUMENTS", "300"))
WITHIN_S: Final = 60 + DOCUMENTS
KINDS: Final = frozenset({".pdf", ".docx", ".xlsx", ".html", ".md", ".txt"})
SETTINGS: Final = {**FAST, "CHANCERY_EXTRACTION_S": "2"}
"""A document that hangs is given up soon."""


class Failure(BaseModel):
    """Why a file failed."""

    code: str
    detail: str


class Told(BaseModel):
    """What the command tells of one file."""

    path: Path
    source: str | None = None
    revision: int | None = None
    state: str | None = None
    error: Failure | None = None


class Summary(BaseModel):
    """What it tells of all."""

    files: int
    ready: int
    failed: int
    unchanged: int


class Output(BaseModel):
    """Its JSON."""

    published: list[Told]
    summary: Summary


@pytest.mark.chaos
@pytest.mark.req("CL-1", "CL-4", "EV-6", "EV-7")
async def test_every_file_ends_though_indexing_and_retrieval_are_killed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    make_folder(folder, DOCUMENTS)
    with running(tmp_path / "data", SETTINGS) as system:
        async with system.operator() as operator:
            desk = await operator.create_workspace("bulk", "Bulk")
            begun = time.monotonic()
            first = await _published_while_killed(system, desk, folder)
            took_s = time.monotonic() - begun
            begun = time.monotonic()
            with _publishing(system, folder) as process:
                second = _output(process)
            again_s = time.monotonic() - begun
            await eventually(lambda: came_back(system, "indexing"), within_s=30)
            found = await _search(desk, first)
            await _assert_indexed(desk, first)
    print(f"\n{first.summary} in {took_s:.1f} s, again in {again_s:.1f} s")

    _assert_ended(first)
    assert second.summary.unchanged == second.summary.ready == first.summary.ready
    assert [(one.source, one.revision) for one in second.published] == [
        (one.source, one.revision) for one in first.published
    ]
    assert {one.revision for one in first.published} <= {None, 1}
    assert {hit.source_id for hit in found.hits} <= _made(first)
    assert found.hits


async def _published_while_killed(system: System, desk: Workspace, folder: Path) -> Output:
    with _publishing(system, folder) as process:
        await eventually(lambda: _has_ready(desk, DOCUMENTS // 10), within_s=WITHIN_S)
        kill(system, "indexing")
        kill(system, "retrieval")
        await eventually(lambda: came_back(system, "retrieval"), within_s=30)
        await eventually(lambda: _has_ready(desk, DOCUMENTS // 3), within_s=WITHIN_S)
        kill(system, "retrieval")
        kill(system, "indexing")
        return _output(process)


async def _assert_indexed(desk: Workspace, output: Output) -> None:
    """See that each document that is ready is found at its beginning and its end."""
    words = await _words(desk, output)
    missing = await lost(desk, words, within_s=WITHIN_S)
    # A published document that is not in the index has to be seen as lost.
    unindexed = dict.fromkeys(_unindexed(output), next(iter(words.values())))
    control = await lost(desk, unindexed, within_s=WITHIN_S)
    print(f"\n{len(words)} searched by words, lost {missing}, on purpose {len(control)}")
    assert missing == []
    assert len(words) > 0.9 * output.summary.ready
    assert control
    assert control == list(unindexed)


def _assert_ended(output: Output) -> None:
    assert output.summary.files == DOCUMENTS == len(output.published)
    assert output.summary.ready + output.summary.failed == DOCUMENTS
    failed = {one.path.name: one.error for one in output.published if one.error is not None}
    assert set(BROKEN) <= failed.keys()
    assert all(error.code and error.detail for error in failed.values())
    assert {one.state for one in output.published if one.error is None} == {"ready"}
    assert len(_made(output)) == len([one for one in output.published if _is_made(one)])
    kinds = Counter(one.path.suffix for one in output.published if one.state == "ready")
    print(dict(kinds))
    assert kinds.keys() == KINDS
    assert min(kinds.values()) > DOCUMENTS // 50


def _made(output: Output) -> set[str]:
    return {
        one.source
        for one in output.published
        if _is_made(one) and one.source is not None and one.state == "ready"
    }


def _is_made(told: Told) -> bool:
    return told.path.name.startswith(MADE)


def _unindexed(output: Output) -> list[str]:
    return [one.source for one in output.published if one.source and one.state == "failed"]


async def _words(desk: Workspace, output: Output) -> dict[str, list[str]]:
    """Return words of each source that is ready, of those that have a plain one."""
    words: dict[str, list[str]] = {}
    for one in output.published:
        if one.source is None or one.state != "ready":
            continue
        if _is_made(one):
            words[one.source] = made_words(one.path)
        elif one.path.suffix == ".html":
            words[one.source] = own_words(await desk.text(one.source, 1))
        else:
            words[one.source] = own_words(one.path.read_text("utf-8"))
    return {source: each for source, each in words.items() if each}


async def _search(desk: Workspace, output: Output) -> Found:
    return await desk.search(PHRASE, k=20, sources=sorted(_made(output))[:50])


async def _has_ready(desk: Workspace, count: int) -> bool:
    return sum(each.state == "ready" for each in await desk.sources()) >= count


def _publishing(system: System, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "publish", str(folder), "-w", "bulk", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **system.environment},
    )


def _output(process: subprocess.Popen[str]) -> Output:
    printed, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 1, printed  # Some files cannot be published.
    return Output.model_validate_json(printed)
