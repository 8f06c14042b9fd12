"""What the command was called with and what it then ran into end with exit codes of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chancery.client.command import app as command_line

IN_W = ("--workspace", "w")
PARKED = "release-proposed-1"

WRONG = [
    ["no-such-command"],
    ["token"],
    ["token", "--principal", "a b"],
    ["token", "--principal", "a", "--tenant", "a.b"],
    ["up", "--port", "70000"],
    ["up", "--port", "x"],
    ["ask", "Where?", "-w", "a b"],
    ["ask", " ", *IN_W],
    ["ask", "Where?", *IN_W, "--source", "a b"],
    ["ask", "Where?", *IN_W, "--item", "a b"],
    ["ask", "Where?", *IN_W, "--dataset", "a b"],
    ["ask", "Where?", *IN_W, "--file", "a b"],
    ["search", "pump", "-w", "a b"],
    ["search", " ", *IN_W],
    ["search", "pump", *IN_W, "-k", "0"],
    ["search", "pump", *IN_W, "--source", "a b"],
    ["publish", ".", "-w", "a b"],
    ["publish", ".", *IN_W, "--title", "T"],
    ["publish", ".", *IN_W, "--restricted", "--visibility", "private"],
    ["publish", ".", *IN_W, "--visibility", "open"],
    ["publish", "page.md", *IN_W, "--title", ""],
    ["sources", "-w", "a b"],
    ["workspace", "create", "a b"],
    ["workspace", "create", "a", "--title", ""],
    ["member", "add", "a b", *IN_W],
    ["member", "add", "a", *IN_W, "--role", "king"],
    ["member", "remove", "a", "-w", "a b"],
    ["grant", "a b", "p", *IN_W],
    ["grant", "a", "group:a b", *IN_W],
    ["grant", "a", "p", *IN_W, "--dataset", "--item"],
    ["revoke", "a", "p q", *IN_W],
    ["audit", "a b"],
    ["verify", "/dev/null", "--public-key", "xyz"],
    ["item", "show", "a b", *IN_W],
    ["item", "withdraw", "a b", *IN_W],
    ["item", "publish", "a", "-", *IN_W, "--evidence", "page:a:1"],
    ["item", "publish", "a", "-", *IN_W, "--evidence", "source:a b:1"],
    ["item", "publish", "a", "-", *IN_W, "--evidence", "source:a:1", "--no-evidence"],
    ["item", "publish", "a", "page.md", *IN_W, "--tag", "y", "--no-tags"],
    ["item", "publish", "a", "page.md", *IN_W, "--draft", "--restore"],
    ["item", "publish", "a", "page.md", *IN_W, "--draft", "--force"],
    ["item", "publish", "a", *IN_W],
    ["item", "publish", "a", *IN_W, "--from-draft", "a b"],
    ["item", "publish", "a", "page.md", *IN_W, "--from-draft", "d"],
    ["item", "publish", "a", *IN_W, "--from-draft", "d", "--title", "T"],
    ["item", "publish", "a", *IN_W, "--from-draft", "d", "--no-tags"],
    ["item", "publish", "a", "page.md", *IN_W, "--tag", " "],
    ["item", "publish", "a", "page.md", *IN_W, "--title", ""],
    ["item", "publish", "a", "page.md", *IN_W, "--kind", ""],
    ["item", "publish", "a", "page.md", *IN_W, "--domain", " "],
    ["item", "show", "a", *IN_W, "--version", "0"],
    ["file", "add", "page.md", "--title", ""],
    ["file", "remove", "a b"],
    ["corpus", "show", "a b", *IN_W],
    ["corpus", "ask", "a b", "s", "1", "Where?", *IN_W],
    ["corpus", "ask", "c", "s", "0", "Where?", *IN_W],
    ["corpus", "ask", "c", "s", "1", " ", *IN_W],
    ["corpus", "status", "a b", "s", "1", *IN_W],
    ["corpus", "refresh", "a b", "s", "1", *IN_W],
    ["corpus", "cancel", "a b", "s", "1", *IN_W],
    ["corpus", "reconcile", "a b", "s", "1", *IN_W],
    ["corpus", "available", "c", "a b", *IN_W],
    ["parked", "ls", "--service", "nobody"],
    ["parked", "ls", "--consumer", "nobody"],
    ["parked", "ls", "--service", "indexing", "--consumer", "release-proposed"],
    ["parked", "show", "nonsense"],
    ["parked", "retry"],
    ["parked", "retry", PARKED, "--service", "release"],
    ["parked", "retry", "--service", "nobody"],
    ["parked", "discard", PARKED, "--reason", " "],
    ["parked", "discard", "nonsense", "--reason", "old"],
    ["producers", "add", "a b"],
    ["producers", "add", "a", "--tenant", "a b"],
    ["accounts", "render", "--producer", "nonsense"],
    ["projections", "status", "nonsense"],
    ["blobs", "sweep", "--older-than", "soon"],
    ["fsck", "--run", "a b"],
    ["fsck", "--run", "a", "--deep"],
    ["fsck", "--pending-after", "-1"],
    ["restore", "backups", "--label", "a b"],
    ["streams", "diff", "--replicas-of-retrieval", "0"],
    ["migrate"],
]


@pytest.fixture(autouse=True)
def nothing_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no system run, and no variable say anything but where none answers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.md").write_text("A page.")
    for name in ("POSTGRES_DSN", "NATS_URL", "WORKSPACE"):
        monkeypatch.delenv(f"CHANCERY_{name}", raising=False)
    monkeypatch.setenv("CHANCERY_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CHANCERY_TOKEN", "chy1.a.b.c.d")


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage_ends_with_two_and_a_word(arguments: list[str]) -> None:
    shown = CliRunner().invoke(command_line.app, arguments)

    assert shown.exit_code == 2, shown.output
    assert "Error" in shown.stderr or shown.stderr.startswith("chancery: ")


@pytest.mark.parametrize(
    ("arguments", "bounds"),
    [
        (["search", "pump", *IN_W, "-k", "51"], "'-k': 51 is no whole number from 1 to 50"),
        (["search", "pump", *IN_W, "-k", "x"], "'-k': x is no whole number from 1 to 50"),
        (["up", "--port", "70000"], "70000 is no whole number from 0 to 65535"),
        (["item", "show", "a", *IN_W, "--version", "0"], "0 is no whole number of at least 1"),
        (["corpus", "status", "c", "s", "0", *IN_W], "0 is no whole number of at least 1"),
    ],
    ids=str,
)
def test_a_number_that_does_not_fit_is_told_with_its_bounds(
    arguments: list[str], bounds: str
) -> None:
    assert bounds in CliRunner().invoke(command_line.app, arguments).stderr


def test_what_is_no_file_is_told_as_what_it_is() -> None:
    os.mkfifo("pipe.txt")
    expected = {
        "nothere": "nothere does not exist",
        "nothere.pdf": "nothere.pdf does not exist",
        "pipe.txt": "pipe.txt is no regular file",
    }
    for name, sentence in expected.items():
        for arguments in (["file", "add", name], ["publish", name, *IN_W]):
            shown = CliRunner().invoke(command_line.app, arguments)

            assert (shown.exit_code, sentence in shown.stderr) == (1, True), shown.stderr


@pytest.mark.parametrize(
    ("name", "value"), [("HTTP_PORT", "x"), ("TOKEN", ""), ("TOKEN", "two words")]
)
def test_a_wrong_environment_is_wrong_usage_too(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"CHANCERY_{name}", value)

    shown = CliRunner().invoke(command_line.app, ["sources", *IN_W])

    assert shown.exit_code == 2
    assert f"CHANCERY_{name}" in shown.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "no-such-file", *IN_W],
        ["ask", "Where?", *IN_W, "--bundle", "."],
        ["verify", "no such file"],
        ["item", "publish", "a", "no-such-file", *IN_W],
        ["file", "add", "no-such-file.md"],
        ["corpus", "declare", "no-such-file", *IN_W],
        ["restore", "no-such-folder"],
        ["key", "show"],
    ],
    ids=" ".join,
)
def test_what_a_file_or_folder_refuses_ends_with_one(arguments: list[str]) -> None:
    shown = CliRunner().invoke(command_line.app, arguments)

    assert shown.exit_code == 1, shown.output
    assert shown.stderr.startswith("chancery: ")


@pytest.mark.parametrize(
    "arguments",
    [["parked", "ls"], ["fsck"], ["streams", "diff"], ["projections", "status"]],
    ids=" ".join,
)
def test_what_is_not_running_ends_with_three(arguments: list[str]) -> None:
    shown = CliRunner().invoke(command_line.app, arguments)

    assert shown.exit_code == 3, shown.output


def test_the_help_tells_the_exit_codes() -> None:
    shown = CliRunner().invoke(command_line.app, ["--help"])

    told = " ".join(shown.stdout.split())
    assert "Exit codes: 0 done, 1 refused or does not match, 2 wrong usage" in told
