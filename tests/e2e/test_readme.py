"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import System
from tests.e2e.showing import block

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SNIPPET_LINES_MAX = 15
LIMITS = ("Truth, currency or entailment", "Protection from the owner of the database", "Recall")


def test_the_snippet_publishes_and_asks_in_fifteen_lines(system: System, tmp_path: Path) -> None:
    snippet = block(README, "python")
    script = tmp_path / "snippet.py"
    script.write_text(snippet, "utf-8")

    shown = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        env=system.environment,
    )

    assert len(snippet.strip().splitlines()) <= SNIPPET_LINES_MAX
    assert shown.returncode == 0, shown.stderr
    assert "[1] “The spare pump stands in hall seven.”" in shown.stdout


@pytest.mark.req("KO-26")
@pytest.mark.parametrize("limit", LIMITS)
def test_the_limits_are_stated(limit: str) -> None:
    guaranteed, _, rest = README.partition("Not guaranteed:")

    assert limit in rest
    assert limit not in guaranteed


def test_every_page_that_is_named_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
