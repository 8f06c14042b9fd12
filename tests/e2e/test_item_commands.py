"""The commands about items between a curator and a publisher."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.curating import GUIDE
from tests.e2e.running import System, command


@pytest.mark.req("CR-2", "CR-6")
def test_a_publisher_publishes_a_curators_draft_and_what_serves_once_only(
    system: System, tmp_path: Path
) -> None:
    text = tmp_path / "guide.md"
    text.write_text(GUIDE, "utf-8")
    name = f"two-{tmp_path.name}"[:40].replace("_", "-")
    env = system.environment
    command(["workspace", "create", name], env)
    command(["member", "add", "cora", "-w", name, "--role", "curator"], env)
    token = command(["token", "--principal", "cora"], env).stdout.strip()
    cora = {**env, "CHANCERY_TOKEN": token}
    words = ["item", "publish", "guide", str(text), "-w", name]
    denied = command(words, cora)
    nothing = command(["item", "list", "-w", name], cora)
    draft = json.loads(command([*words, "--draft", "--json"], cora).stdout)
    from_draft = ["item", "publish", "guide", "-w", name, "--from-draft", draft["draft_id"]]

    published = command(from_draft, env)
    again = command(words, env)
    about = command(["item", "show", "guide", "-w", name], cora)
    command(["item", "withdraw", "guide", "-w", name], env)
    withdrawn = command(["item", "show", "guide", "-w", name, "--version", "1"], cora)
    absent = command(["item", "show", "guide", "-w", name, "--version", "2"], cora)

    assert (denied.returncode, nothing.stdout) == (1, ""), denied.stderr
    assert published.stdout == "guide version 1 is ready\n", published.stderr
    assert draft["content_sha256"] in published.stderr
    assert "guide version 1 is ready, unchanged" in again.stdout
    assert about.stdout.count("\nversion ") == 1
    assert (withdrawn.returncode, "it is withdrawn" in withdrawn.stderr) == (1, True)
    assert (absent.returncode, "withdrawn" in absent.stderr) == (1, False)
