"""Each import rule bites on a planted import, in a small workspace under the real rules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.tidy.places import ROOMS
from tests.tidy.tree import ROOT

LIBRARIES = sorted(path.name for path in (ROOT / "libs").iterdir() if path.is_dir())
SERVICES = sorted(path.name for path in (ROOT / "services").iterdir() if path.is_dir())

PLANTED = (
    ("release/domain.py", "import chancery.gateway", "siblings are strangers"),
    ("bus/load.py", "import chancery.runtime", "libraries are layered"),
    ("runtime/x.py", "import chancery.release", "services stand on libraries"),
    ("release/app.py", "import chancery.verify", "above the runtime"),
    ("store/x.py", "import pytest", "what tests are made of"),
    ("release/app.py", "import chancery.testkit", "what tests are made of"),
    ("release/domain.py", "import chancery.release.handlers", "rooms of every service"),
    ("release/handlers.py", "import chancery.release.adapters", "rooms of every service"),
    ("release/tools.py", "x = 1", "rooms of every service"),
    ("release/domain.py", "import asyncio", "domain is pure"),
    ("authority/evolve.py", "import asyncpg", "domain is pure"),
    ("zeta/__init__.py", "x = 1", "libraries are layered"),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a folder with every package, each service with its rooms, all of them empty."""
    namespace = tmp_path / "src" / "chancery"
    for name in (*LIBRARIES, *SERVICES):
        rooms = ROOMS if name in SERVICES else ()
        (namespace / name).mkdir(parents=True)
        for module in ("__init__", *rooms):
            (namespace / name / f"{module}.py").write_text("")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(workspace: Path) -> subprocess.CompletedProcess[str]:
    """Run the import linter on `workspace` alone: -S leaves out the packages installed here."""
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    path = os.pathsep.join([str(workspace / "src"), sysconfig.get_path("purelib")])
    return subprocess.run(
        [sys.executable, "-S", "-c", program, "--no-cache"],
        cwd=workspace,
        env={"PYTHONPATH": path, "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_rules_hold_for_the_empty_workspace(workspace: Path) -> None:
    answer = lint(workspace)

    assert "5 kept, 0 broken" in answer.stdout, answer.stdout + answer.stderr
    assert answer.returncode == 0


@pytest.mark.req("EV-1")
@pytest.mark.parametrize(("path", "text", "rule"), PLANTED)
def test_planted_import_breaks_its_rule(workspace: Path, path: str, text: str, rule: str) -> None:
    target = workspace / "src" / "chancery" / path
    target.parent.mkdir(exist_ok=True)
    target.write_text(f"{text}\n")

    answer = lint(workspace)

    broken = [line for line in answer.stdout.splitlines() if line.endswith("BROKEN")]
    assert answer.returncode == 1
    assert any(rule in line for line in broken), answer.stdout + answer.stderr
