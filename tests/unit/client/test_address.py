"""The operator's token goes to the system that runs on its folder, and to nobody else."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from chancery.client.command import app as command_line
from chancery.client.command.address import TokenForAnother, called, in_the_clear
from chancery.client.command.settings import CommandSettings
from chancery.embedded.errors import NotRunning
from chancery.embedded.folder import hold_folder

OPERATOR = "chy1.default.admin.a.b"
RECORDED = "http://127.0.0.1:18080"
MEMBERS: dict[str, object] = {"workspaces": []}

Sent = list[tuple[str, str | None]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that a system has served, and was killed in."""
    (tmp_path / "run").mkdir()
    (tmp_path / "lock").touch()
    (tmp_path / "operator.token").write_text(OPERATOR, "ascii")
    (tmp_path / "run" / "http.port").write_text("18080\n", "ascii")
    return tmp_path


@pytest.fixture
def running(folder: Path) -> Generator[Path]:
    """Return the folder while a system runs on it."""
    with hold_folder(folder):
        (folder / "run" / "http.port").write_text("18080\n", "ascii")
        yield folder


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Return what is sent and where to, whatever listens there."""
    noted: Sent = []

    def answer(request: httpx.Request) -> httpx.Response:
        noted.append((str(request.url), request.headers.get("Authorization")))
        return httpx.Response(200, json=MEMBERS)

    def connect(url: str, transport: object) -> httpx.AsyncClient:
        del transport
        return httpx.AsyncClient(base_url=url, transport=httpx.MockTransport(answer))

    for name in ("URL", "TOKEN", "HTTP_PORT"):
        monkeypatch.delenv(f"CHANCERY_{name}", raising=False)
    monkeypatch.setattr("chancery.client.http.open_http", connect)
    return noted


@pytest.mark.parametrize(
    "given", [None, RECORDED, f"{RECORDED}/", "http://localhost:18080", "HTTP://127.0.0.1:18080"]
)
def test_the_operators_token_goes_to_the_port_that_the_running_system_recorded(
    running: Path, given: str | None
) -> None:
    to = called(CommandSettings(data_dir=running, url=given))

    assert (to.url, to.token) == (RECORDED, OPERATOR)
    assert OPERATOR not in repr(to)


@pytest.mark.parametrize(
    "given",
    [
        "http://127.0.0.1:19977",
        "https://127.0.0.1:18080",
        "http://[::1]:18080",
        "http://127.0.0.1:18080@there:1",
        "http://one@127.0.0.1:18080",
        "http://127.0.0.1:18080/elsewhere",
        "http://127.0.0.1.there:18080",
        "http://127.0.0.1",
        "http://127.0.0.1:x",
        "127.0.0.1:18080",
    ],
)
def test_the_operators_token_goes_to_no_other_address(running: Path, given: str) -> None:
    with pytest.raises(TokenForAnother) as refused:
        called(CommandSettings(data_dir=running, url=given))

    assert refused.value.field == "CHANCERY_TOKEN"
    for part in ("CHANCERY_URL names", "chancery token --principal NAME", "unset CHANCERY_URL"):
        assert part in refused.value.detail


def test_a_chosen_port_is_an_address_like_another(running: Path) -> None:
    same = called(CommandSettings(data_dir=running, http_port=18080))
    with pytest.raises(TokenForAnother, match="unset CHANCERY_HTTP_PORT"):
        called(CommandSettings(data_dir=running, http_port=9000))

    assert same.url == RECORDED


def test_the_token_that_is_given_goes_where_the_caller_says(running: Path) -> None:
    settings = CommandSettings(
        data_dir=running, url="http://there:1", token=SecretStr("chy1.default.bruno.a.b")
    )

    assert called(settings).token == "chy1.default.bruno.a.b"


def test_nothing_is_sent_where_a_system_was_killed(
    folder: Path, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANCERY_DATA_DIR", str(folder))

    shown = CliRunner().invoke(command_line.app, ["workspace", "list"])

    assert (shown.exit_code, sent) == (3, [])
    assert "start it with `chancery up`" in shown.stderr


def test_nothing_is_sent_to_another_address_and_the_command_says_what_to_set(
    running: Path, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANCERY_DATA_DIR", str(running))
    home = CliRunner().invoke(command_line.app, ["workspace", "list"])
    monkeypatch.setenv("CHANCERY_URL", "http://me:secret@127.0.0.1:19977")

    shown = CliRunner().invoke(command_line.app, ["workspace", "list", "--json"])

    assert home.exit_code == 0, home.output
    assert sent == [(f"{RECORDED}/v1/workspaces", f"Bearer {OPERATOR}")]
    error = json.loads(shown.stdout)["error"]
    assert (shown.exit_code, error["code"], error["field"]) == (2, "no_token", "CHANCERY_TOKEN")
    assert "secret" not in shown.output


def test_a_port_that_a_killed_system_left_is_forgotten_before_another_start(folder: Path) -> None:
    with hold_folder(folder), pytest.raises(NotRunning):
        called(CommandSettings(data_dir=folder))

    assert not (folder / "run" / "http.port").exists()


def test_an_unfinished_start_answers_nowhere_yet(folder: Path) -> None:
    with hold_folder(folder):
        with pytest.raises(NotRunning, match="that is ready"):
            called(CommandSettings(data_dir=folder))
        with pytest.raises(TokenForAnother):
            called(CommandSettings(data_dir=folder, url=RECORDED))


def test_a_token_that_crosses_a_network_unencrypted_is_told(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANCERY_TOKEN", "chy1.default.bruno.a.b")
    told: dict[str, str] = {}
    for url in ("http://there:1", "https://there:1", "http://127.0.0.1:1"):
        monkeypatch.setenv("CHANCERY_URL", url)
        told[url] = CliRunner().invoke(command_line.app, ["workspace", "list"]).stderr

    assert len(sent) == 3
    assert "unencrypted to there" in told["http://there:1"]
    assert not any("unencrypted" in told[url] for url in list(told)[1:])


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://10.0.0.1", "10.0.0.1"),
        ("http://[::1]:1", None),
        ("http://localhost:1", None),
        ("https://there", None),
        ("http://127.0.0.1:x", None),
        ("nothing", None),
    ],
)
def test_only_plain_http_to_another_host_is_unencrypted(url: str, host: str | None) -> None:
    assert in_the_clear(url) == host
