"""The data folder: private, held once, and clear about why it cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chancery.embedded.errors import FolderInUse, FolderNotUsable, NotRunning
from chancery.embedded.folder import hold_folder, is_held, require_running


def test_a_missing_folder_is_made_and_closed_to_others(tmp_path: Path) -> None:
    with hold_folder(tmp_path / "deep" / "data") as folder:
        secret = [folder.blobs, folder.nats, folder.run, folder.logs]

        assert {path.stat().st_mode & 0o777 for path in secret} == {0o700}
        assert folder.path.stat().st_mode & 0o066 == 0


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with hold_folder(tmp_path), pytest.raises(FolderInUse) as caught, hold_folder(tmp_path):
        pass
    with hold_folder(tmp_path) as folder:
        assert folder.path == tmp_path

    assert caught.value.detail == (
        f"The data folder {tmp_path} is in use by process {os.getpid()}; "
        "stop that one or choose another folder."
    )


def test_asking_whether_a_folder_is_held_makes_and_takes_nothing(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    with hold_folder(tmp_path):
        assert is_held(tmp_path)
        require_running(tmp_path)
    assert not is_held(tmp_path)
    with pytest.raises(NotRunning, match="start it with chancery up"):
        require_running(tmp_path)
    with hold_folder(tmp_path) as again:
        assert again.path == tmp_path


def test_two_folders_are_held_side_by_side(tmp_path: Path) -> None:
    with hold_folder(tmp_path / "a") as one, hold_folder(tmp_path / "b") as other:
        assert one.path != other.path


def test_a_path_that_is_no_folder_is_said_so_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(FolderNotUsable) as caught, hold_folder(tmp_path / "file"):
        pass

    assert "file exists" in caught.value.detail
    assert "\n" not in caught.value.detail


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_without_permission_is_said_so_in_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FolderNotUsable, match="permission denied"), hold_folder(tmp_path / "a"):
            pass
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_may_not_be_written_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    refused = pytest.raises(FolderNotUsable, match="permission denied; make it writable")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        with refused, hold_folder(tmp_path):
            pass
