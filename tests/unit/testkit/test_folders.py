"""The folders of a run are kept in memory only where that works and there is room."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.testkit.folders import in_memory

MUCH = 1 << 60


def test_a_place_with_room_is_taken(tmp_path: Path) -> None:
    assert in_memory(tmp_path, 0) == tmp_path


def test_a_place_without_room_is_not(tmp_path: Path) -> None:
    assert in_memory(tmp_path, MUCH) is None


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_not(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch(0o600)

    assert in_memory(tmp_path / name, 0) is None
