"""Failures say what is wrong and nothing more; what is in a folder needs not be typed again."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from chancery.attest.signing import SigningKey
from chancery.client.command import app as command_line
from chancery.client.command.calls import check_target
from chancery.client.command.output import speaking, tell_error
from chancery.client.command.settings import (
    CommandSettings,
    InvalidSetting,
    NoToken,
    operator_token,
    server_token,
    server_url,
)
from chancery.client.errors import Problem, ProblemError
from chancery.client.reachability import may_pass, unreachable
from chancery.embedded.folder import hold_folder
from chancery.kernel.errors import Rejected

URL = httpx.URL("https://chancery.example:1")
SEED = "ab" * 32


def caused(error: httpx.TransportError, cause: Exception | None) -> httpx.TransportError:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "part", "passes"),
    [
        (httpx.UnsupportedProtocol("x"), "begins with http://", False),
        (httpx.LocalProtocolError("x"), "token", False),
        (caused(httpx.ConnectError("x"), ssl.SSLError("x")), "speak http://", False),
        (caused(httpx.ConnectError("x"), socket.gaierror(1, "x")), "chancery.example", True),
        (httpx.ConnectError("x"), "`chancery up`", True),
        (httpx.RemoteProtocolError("x"), "broke the connection off", True),
        (httpx.ReadTimeout("x"), "in time", True),
    ],
)
def test_each_way_not_to_be_answered_has_its_sentence(
    error: httpx.TransportError, part: str, passes: bool
) -> None:
    assert part in unreachable(URL, error).detail
    assert may_pass(error) is passes


def test_the_port_of_a_running_system_is_read_from_its_folder(tmp_path: Path) -> None:
    found = CommandSettings(data_dir=tmp_path)
    named = CommandSettings(data_dir=tmp_path, url="http://there:1")
    chosen = CommandSettings(data_dir=tmp_path, http_port=9000)
    none = CommandSettings(data_dir=tmp_path / "other")

    with hold_folder(tmp_path) as folder:
        (folder.run / "http.port").write_text("18080\n", "ascii")
        while_running = server_url(found)

    assert while_running == "http://127.0.0.1:18080"
    assert server_url(found) == "http://127.0.0.1:8080"
    assert server_url(named) == "http://there:1"
    assert server_url(chosen) == "http://127.0.0.1:9000"
    assert server_url(none) == "http://127.0.0.1:8080"


@pytest.mark.parametrize("token", [" \n", "a b", "a\nb", "tökén"])
def test_what_is_no_token_is_named_and_not_sent(token: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        server_token(CommandSettings(token=SecretStr(token)))

    assert (refused.value.code, refused.value.field) == ("no_token", "CHANCERY_TOKEN")
    assert "set CHANCERY_TOKEN to what `chancery token" in refused.value.detail
    assert token not in refused.value.detail


@pytest.mark.parametrize("written", [None, b"", b" \n", b"two words", b"\xff"])
def test_a_missing_token_of_the_operator_names_the_variable_and_the_command(
    tmp_path: Path, written: bytes | None
) -> None:
    if written is not None:
        (tmp_path / "operator.token").write_bytes(written)

    with pytest.raises(NoToken) as refused:
        operator_token(tmp_path)

    assert refused.value.field == "CHANCERY_TOKEN"
    assert refused.value.detail.startswith(f"CHANCERY_TOKEN is not set and {tmp_path}")
    for remedy in ("chancery token --principal NAME", "CHANCERY_DATA_DIR"):
        assert remedy in refused.value.detail


@pytest.mark.parametrize("as_json", [False, True])
def test_a_token_that_the_server_refuses_names_the_variable_and_the_command(
    capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    refusal = Problem(status=401, code="denied", detail="the credential is not known")

    tell_error(ProblemError(refusal), as_json=as_json)
    told = "".join(capsys.readouterr())
    tell_error(ProblemError(Problem(status=404, detail="no such run")), as_json=as_json)
    other = "".join(capsys.readouterr())

    remedy = "set CHANCERY_TOKEN to what `chancery token --principal NAME` prints"
    assert f"the credential is not known; {remedy} there" in told
    assert "CHANCERY_TOKEN" not in other


def test_a_token_is_sent_without_the_white_space_around_it() -> None:
    assert server_token(CommandSettings(token=SecretStr(" tok\n"))) == "tok"


@pytest.mark.parametrize("name", ["none/answer.json", "."])
def test_a_proof_that_cannot_be_saved_is_refused_before_anything_is_asked(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(Rejected):
        check_target(tmp_path / name)
    check_target(tmp_path / "answer.json")


def test_the_public_key_is_shown_and_nothing_of_the_private_one(tmp_path: Path) -> None:
    (tmp_path / "signing.key").write_text(SEED + "\n", "ascii")

    shown = CliRunner().invoke(command_line.app, ["key", "show", "--data-dir", str(tmp_path)])

    assert shown.exit_code == 0
    assert shown.output.strip() == SigningKey.from_hex(SEED).public_key.hex()
    assert SEED not in shown.output


def test_a_missing_key_is_refused(tmp_path: Path) -> None:
    shown = CliRunner().invoke(command_line.app, ["key", "show", "--data-dir", str(tmp_path)])

    assert shown.exit_code == 1


def test_wrong_usage_is_a_document_for_machines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["chancery", "nonsense", "--json"])

    with pytest.raises(SystemExit) as left:
        command_line.main()

    assert left.value.code == 2
    assert '"code":"usage"' in capsys.readouterr().out


def test_a_reader_that_leaves_ends_the_output_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BrokenPipeError), speaking(as_json=False):
        raise BrokenPipeError
    assert capsys.readouterr().err == ""
