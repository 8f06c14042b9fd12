"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import System, command
from tests.e2e.showing import block, blocks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
USING = (ROOT / "docs" / "using.md").read_text("utf-8")
SNIPPET_LINES_MAX = 15
LIMITS = ("Truth, currency or entailment", "Protection from the owner of the database", "Recall")


def test_the_snippet_publishes_and_asks_in_fifteen_lines(system: System, tmp_path: Path) -> None:
    snippet = block(README, "python")
    script = tmp_path / "snippet.py"
    script.write_text(snippet, "utf-8")

    for environment in (system.environment, system.environment, None):
        shown = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            check=False,
            text=True,
            timeout=180,
            env=environment or _importer(system),
        )
        assert shown.returncode == 0, shown.stderr
        assert "[1] “The spare pump stands in hall seven.”" in shown.stdout
    assert len(snippet.strip().splitlines()) <= SNIPPET_LINES_MAX


def _importer(system: System) -> dict[str, str]:
    """Return the environment of a publisher of the workspace, who administers nothing."""
    issued = command(["token", "--principal", "importer"], system.environment)
    let_in = ["member", "add", "importer", "-w", "maintenance", "--role", "publisher"]
    added = command(let_in, system.environment)
    assert (issued.returncode, added.returncode) == (0, 0), issued.stderr + added.stderr
    return {**system.environment, "CHANCERY_TOKEN": issued.stdout.strip()}


@pytest.mark.parametrize(
    ("page", "part"),
    [(README, "The spare pump stands in hall seven."), (USING, '"run_id":')],
    ids=["README", "using"],
)
def test_the_commands_of_a_page_work_as_they_stand(
    system: System, tmp_path: Path, page: str, part: str
) -> None:
    lines = next(each for each in blocks(page, "sh") if "$CHANCERY_URL" in each or "ask " in each)
    script = lines.replace(". .venv/bin/activate\n", "").replace("curl ", "curl --fail ")
    # The other test of this page may have made the workspace before.
    script = script.replace("maintenance", "by-commands")
    beside = str(Path(sys.executable).parent)

    shown = subprocess.run(
        ["sh", "-e", "-c", script],
        capture_output=True,
        check=False,
        text=True,
        timeout=360,
        cwd=tmp_path,
        env={**os.environ, **system.environment, "PATH": f"{beside}:{os.environ['PATH']}"},
    )

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert part in shown.stdout


@pytest.mark.req("CR-27")
def test_a_reader_sees_what_the_example_of_a_policy_says(system: System, tmp_path: Path) -> None:
    script = next(each for each in blocks(USING, "sh") if "row_filters" in each)
    beside = str(Path(sys.executable).parent)

    shown = subprocess.run(
        ["sh", "-e", "-c", script.replace("curl ", "curl --fail ")],
        capture_output=True,
        check=False,
        text=True,
        timeout=360,
        cwd=tmp_path,
        env={**os.environ, **system.environment, "PATH": f"{beside}:{os.environ['PATH']}"},
    )

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert '"rows":[["north","1250.50"],["north","900.00"]]' in shown.stdout
    assert "SUM(wages.amount) WHERE wages.region = 'north' = 2,150.50" in shown.stdout
    assert '"columns":[["region","VARCHAR"],["amount","DECIMAL(10,2)"]],"rows":2' in shown.stdout
    assert "Ada" not in shown.stdout


@pytest.mark.req("KO-26")
@pytest.mark.parametrize("limit", LIMITS)
def test_the_limits_are_stated(limit: str) -> None:
    guaranteed, _, rest = README.partition("Not guaranteed:")

    assert limit in rest
    assert limit not in guaranteed


def test_every_command_is_in_the_table_of_the_commands() -> None:
    from chancery.client.command.app import app

    groups = [each.name for each in app.registered_groups]
    commands = [
        each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands
    ]

    assert len(groups) + len(commands) > 15
    assert [name for name in (*groups, *commands) if f"`chancery {name}" not in USING] == []


def test_every_page_that_is_named_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
