"""What `fsck` makes of what the examining process tells: words, documents, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from chancery.client.command import fsck
from chancery.client.command.fsck import Wanted, run_fsck
from chancery.client.command.release_process import Ended
from chancery.client.command.settings import CommandSettings
from chancery.kernel.canonical import Json

Line = Mapping[str, Json]

PLACE: Line = {"run_id": "r1", "result": 0}
FINDING: Line = {"event": "finding", "code": "c", "what": "w", "where": PLACE, "remedy": "mend"}
LEFT: Line = {"event": "unchecked", "reason": "sql_timeout", "what": "too slow", "where": PLACE}
DONE: Line = {"event": "examined", "findings": 0, "counts": {"results": 1}}
FAILED: Line = {"event": "failed", "code": "not_found", "detail": "no such run"}
AWAY: Line = {"event": "failed", "code": "unavailable", "detail": "the bus is away"}


async def examined(
    monkeypatch: pytest.MonkeyPatch, *lines: Line, as_json: bool = False
) -> tuple[int, list[str]]:
    """Return the exit code for a process that tells `lines`, and what that was called with."""
    called: list[str] = []

    async def run(
        settings: CommandSettings,
        folder: Path,
        arguments: tuple[str, ...],
        take: Callable[[Line], None],
    ) -> Ended:
        assert (settings.language, folder) == ("en", Path("somewhere"))
        called.extend(arguments)
        for line in lines:
            take(line)
        return Ended(0, "")

    monkeypatch.setattr(fsck, "run_release", run)
    wanted = Wanted(deep=False, pending_s=600, run="r1")
    return await run_fsck(Path("somewhere"), wanted, as_json=as_json), called


@pytest.mark.req("XB-5")
@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ((DONE,), 0),
        ((FINDING, DONE), 1),
        ((FINDING, LEFT, DONE), 1),
        ((LEFT, DONE), 4),
        ((FAILED,), 1),
        ((AWAY,), 3),
        ((FINDING, AWAY), 3),
        ((), 3),
    ],
)
async def test_the_exit_code_tells_a_finding_from_what_could_not_be_checked(
    monkeypatch: pytest.MonkeyPatch, lines: tuple[Line, ...], code: int
) -> None:
    assert await examined(monkeypatch, *lines) == (code, ["fsck", "run", "r1"])


@pytest.mark.req("XB-5")
async def test_what_could_not_be_checked_is_told_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await examined(monkeypatch, LEFT, DONE)
    words = capsys.readouterr().out
    await examined(monkeypatch, LEFT, DONE, as_json=True)
    document = json.loads(capsys.readouterr().out)
    await examined(monkeypatch, DONE)
    clean = capsys.readouterr().out

    assert "NOT CHECKED sql_timeout: too slow (run_id=r1 result=0)" in words
    assert "1 results not checked; everything else fits together" in words
    assert document["unchecked"] == [{"reason": "sql_timeout", "what": "too slow", "where": PLACE}]
    assert (document["findings"], document["counts"]) == ([], {"results": 1})
    assert "everything fits together" in clean
    assert "not checked" not in clean


async def test_what_was_found_before_something_was_away_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await examined(monkeypatch, FINDING, AWAY)
    words = capsys.readouterr()
    await examined(monkeypatch, FINDING, AWAY, as_json=True)
    document = json.loads(capsys.readouterr().out)

    assert "PROBLEM c: w (run_id=r1 result=0)" in words.out
    assert "the bus is away" in words.err
    assert [each["code"] for each in document["findings"]] == ["c"]
    assert document["error"]["code"] == "unavailable"


def test_what_is_examined_is_handed_on() -> None:
    assert Wanted(deep=True, pending_s=5).arguments() == ("fsck", "5", "deep")
    assert Wanted(deep=False, pending_s=5).arguments() == ("fsck", "5")
    assert Wanted(deep=True, pending_s=5, run="r").arguments() == ("fsck", "run", "r")
