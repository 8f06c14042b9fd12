"""A lost database: fsck tells of it, and a backup brings it back on one machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.running import System, command, running

QUESTION = "Who keeps the keys of the archive?"


def done(system: System, *arguments: str) -> str:
    """Run a command on a system and return its output."""
    shown = command([*arguments], system.environment)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


def moved(folder: Path, target: Path) -> Path:
    """Copy everything of a stopped folder except its database."""
    ignored = shutil.ignore_patterns("postgres", "run", "logs", "lock", "index")
    shutil.copytree(folder, target, ignore=ignored)
    return target


@pytest.mark.req("KO-21")
def test_a_lost_database_is_found_and_restored_on_one_machine(tmp_path: Path) -> None:
    page, kept = tmp_path / "page.md", str(tmp_path / "kept")
    page.write_text("The keys of the archive are kept by Ada Brandt.\n", encoding="utf-8")
    with running(tmp_path / "first") as first:
        done(first, "workspace", "create", "plant")
        done(first, "publish", str(page), "-w", "plant")
        answer = json.loads(done(first, "ask", QUESTION, "-w", "plant", "--json"))
        done(first, "backup", kept, "--data-dir", str(first.folder))
        while_running = command(["restore", kept, "--data-dir", str(first.folder)])
    not_empty = command(["restore", kept, "--data-dir", str(tmp_path / "first")])
    lost = moved(tmp_path / "first", tmp_path / "lost")
    second = moved(tmp_path / "first", tmp_path / "second")
    restored = command(["restore", kept, "--data-dir", str(second)])
    assert restored.returncode == 0, restored.stdout + restored.stderr
    with running(lost) as system:
        found = command(["fsck", "--data-dir", str(system.folder), "--json"])
    with running(second) as system:
        examined = command(["fsck", "--deep", "--data-dir", str(system.folder)])
        assert examined.returncode == 0, examined.stdout + examined.stderr
        done(system, "verify", answer["run_id"])

    assert (while_running.returncode, not_empty.returncode) == (1, 1)
    assert "in use" in while_running.stderr
    assert "move that folder away" in not_empty.stderr
    assert found.returncode == 1
    assert [each["code"] for each in json.loads(found.stdout)["findings"]] == ["release_missing"]
