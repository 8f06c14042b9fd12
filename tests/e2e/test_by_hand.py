"""From nothing to a revoked answer with the command line alone."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.running import System, command

CODE = "The code of the safe is written on the third shelf."
QUESTION = "Where is the code of the safe written?"


def done(arguments: list[str], settings: dict[str, str]) -> str:
    """Run a command that has to succeed and return what it printed."""
    shown = command(arguments, settings)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    return shown.stdout


def test_a_restricted_page_stays_restricted_until_it_is_granted_and_after_it_is_revoked(
    system: System, tmp_path: Path
) -> None:
    admin = system.environment | {"CHANCERY_WORKSPACE": "vault"}
    page = tmp_path / "safe.md"
    page.write_text(CODE, "utf-8")
    done(["workspace", "create", "vault"], admin)
    done(["member", "add", "bruno"], admin)
    bruno = admin | {"CHANCERY_TOKEN": done(["token", "--principal", "bruno"], admin).strip()}

    done(["publish", str(page), "--restricted"], admin)
    page.write_text(f"{CODE} It is blue.", "utf-8")
    again = done(["publish", str(page)], admin)
    mine = done(["workspace", "list"], bruno)
    hidden = done(["sources"], bruno)
    done(["grant", "safe", "bruno"], admin)
    seen = done(["sources"], bruno)
    answer = json.loads(done(["ask", QUESTION, "--json"], bruno))
    audit = json.loads(done(["audit", answer["run_id"], "--json"], bruno))
    revoked = done(["revoke", "safe", "bruno"], admin)
    refused = command(["ask", QUESTION], bruno)

    assert again == "safe  revision 2  ready  restricted\n"
    assert "vault  reader" in mine.splitlines()
    assert hidden == ""
    assert seen == "safe  revision 2  ready  restricted  safe\n"
    assert CODE in answer["text"]
    assert audit["run_id"] == answer["run_id"]
    assert revoked == "bruno has no grant of safe\n"
    assert refused.returncode == 1
    assert CODE not in refused.stdout + refused.stderr


def test_what_is_private_is_granted_only_once_it_is_restricted(
    system: System, tmp_path: Path
) -> None:
    admin = system.environment | {"CHANCERY_WORKSPACE": "closet"}
    page = tmp_path / "diary.md"
    page.write_text(CODE, "utf-8")
    done(["workspace", "create", "closet"], admin)
    done(["member", "add", "carla"], admin)
    carla = admin | {"CHANCERY_TOKEN": done(["token", "--principal", "carla"], admin).strip()}
    done(["publish", str(page), "--visibility", "private"], admin)

    refused = command(["grant", "diary", "carla"], admin)
    hidden = done(["sources"], carla)
    done(["publish", str(page), "--visibility", "restricted"], admin)
    done(["grant", "diary", "carla"], admin)
    seen = done(["sources"], carla)

    assert refused.returncode == 1
    assert refused.stderr.startswith("chancery: visibility: what is private is its declarer's")
    assert "make it restricted first" in refused.stderr
    assert hidden == ""
    assert seen.startswith("diary  revision 1  ready  restricted")


def test_an_unknown_workspace_says_how_it_comes_about(system: System) -> None:
    asked = command(["ask", QUESTION, "-w", "nowhere"], system.environment)
    listed = command(["sources", "-w", "nowhere", "--json"], system.environment)

    assert (asked.returncode, listed.returncode) == (1, 1)
    assert "chancery workspace create nowhere" in asked.stderr
    assert json.loads(listed.stdout)["error"]["code"] == "workspace_not_found"
