"""Things stand where a reader looks for them, and name nobody's machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy import places
from tests.tidy.tree import ROOT, Check, Source, findings

SUFFIXES = ".py .conf .sql .md .toml .in .lock .yml .yaml .json .sh .html"
READ = frozenset({*SUFFIXES.split(), ""})
WHOLE = (*places.REQUIRED, "pyproject.toml")
ROOMS = tuple(f"{room}.py" for room in places.ROOMS)


def written() -> Iterator[Source]:
    """Yield every text file below the root that a commit would hold."""
    for top in sorted(_top_level()):
        entry = ROOT / top
        paths = [entry] if entry.is_file() else sorted(entry.rglob("*"))
        for path in paths:
            if path.is_file() and path.suffix in READ and "__pycache__" not in path.parts:
                yield Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def _top_level() -> set[str]:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    names = {entry.strip("/") for entry in ignored} | {".git"}
    return {path.name for path in ROOT.iterdir() if path.name not in names}


def test_check_finds_what_is_missing_or_foreign_at_the_top() -> None:
    lacking = list(places.top_level(set(WHOLE) - {"LICENSE"}))
    crowded = list(places.top_level({*WHOLE, "notes.txt"}))
    whole = list(places.top_level({*WHOLE, ".ci", "docs"}))

    assert [item.message for item in lacking] == ["LICENSE is missing"]
    assert [item.message for item in crowded] == ["notes.txt does not belong at the top level"]
    assert whole == []


def test_check_finds_a_room_that_is_missing_or_none() -> None:
    lacking = list(places.rooms(ROOMS[1:]))
    crowded = list(places.rooms((*ROOMS, "utils.py")))
    whole = list(places.rooms((*ROOMS, "__init__.py", "py.typed", "sql")))
    grown = list(places.rooms((*ROOMS[1:], ROOMS[0].removesuffix(".py"))))

    assert len(lacking) == 1
    assert [item.message for item in crowded] == ["utils is no room of a service"]
    assert whole == []
    assert grown == []


FOREIGN = (
    "https://p" + "ypi.org/simple",
    "https://files.python" + "hosted.org/packages/x",
    "--index-" + "url=https://mirror.example",
    "open('/ho" + "me/someone/data.txt')",
    '"/wo' + 'rk/main"',
)


@pytest.mark.parametrize("bad", FOREIGN)
def test_check_finds_a_registry_or_a_path_of_one_machine(bad: str) -> None:
    found = list(places.foreign_addresses(f"first\n{bad}\n"))

    assert [item.line for item in found] == [2]


@pytest.mark.parametrize(
    "good", ["https://example.com/home/", "/v1/workspaces", "the home/ folder"]
)
def test_check_spares_other_addresses(good: str) -> None:
    found = list(places.foreign_addresses(good))

    assert found == []


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        (places.decision, "# Decide\n" + "x\n" * 60, "# Decide\n" + "x\n" * 59),
        (places.decision, "Decide\n", "# Decide\n"),
    ],
)
def test_check_finds_a_decision_that_nobody_reads(check: Check, bad: str, good: str) -> None:
    found = list(check(bad))
    spared = list(check(good))

    assert len(found) == 1
    assert spared == []


@pytest.mark.req("EV-11")
def test_the_top_level_is_the_agreed_one() -> None:
    found = list(places.top_level(_top_level()))

    assert found == []


@pytest.mark.req("EV-1")
def test_every_service_has_the_same_rooms() -> None:
    found = [
        f"{folder.name}: {item.message}"
        for folder in _services()
        for item in places.rooms(
            path.name for path in folder.iterdir() if path.name != "__pycache__"
        )
    ]

    assert len(_services()) == 6
    assert found == []


def test_decisions_are_short_and_decide() -> None:
    folder = ROOT / "contracts" / "decisions"
    records = [Source(path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir()]

    assert records
    assert findings(records, places.decision) == []


def test_nothing_names_a_registry_or_a_path_of_one_machine() -> None:
    sources = list(written())

    assert len(sources) > 50
    assert findings(sources, places.foreign_addresses) == []


def _services() -> list[Path]:
    return sorted((ROOT / "services").glob("*/src/chancery/*/"))
