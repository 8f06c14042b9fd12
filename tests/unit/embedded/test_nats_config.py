"""The configuration of the embedded NATS: synced, private, on the loopback address only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chancery.embedded.errors import SecretDamaged
from chancery.embedded.nats import find_program, prepare, render_config


def _settings(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if not line.strip().startswith("#")]


@pytest.mark.req("EV-10")
def test_every_write_is_synced_before_it_is_acknowledged() -> None:
    text = render_config(Path("/data"), password="secret", port=4222, http_port=8222)

    assert "sync_interval: always" in _settings(text)
    assert [line for line in _settings(text) if "sync" in line] == ["sync_interval: always"]


def test_it_listens_on_the_loopback_address_only() -> None:
    text = render_config(Path("/data"), password="secret", port=4222, http_port=8222)

    assert re.findall(r'^(\w+): "([\d.]+):(\d+)"$', text, re.MULTILINE) == [
        ("listen", "127.0.0.1", "4222"),
        ("http", "127.0.0.1", "8222"),
    ]


def test_a_path_with_quotes_and_spaces_stays_one_string() -> None:
    text = render_config(Path('/my "data"'), password="secret", port=1, http_port=2)

    assert r'store_dir: "/my \"data\""' in _settings(text)


def test_credentials_stay_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    first = prepare(tmp_path, run=tmp_path, logs=tmp_path, port=4222)
    second = prepare(tmp_path, run=tmp_path, logs=tmp_path, port=4222)

    assert first.url == second.url
    assert re.fullmatch(r"nats://chancery:[0-9a-f]{48}@127\.0\.0\.1:4222", first.url)
    for name in ("credentials.json", "server.conf"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{}", '{"password": ""}', '{"password": 1}', "[1]"])
def test_damaged_credentials_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "credentials.json").write_text(text)

    with pytest.raises(SecretDamaged, match=r"credentials\.json holds no credentials"):
        prepare(tmp_path, run=tmp_path, logs=tmp_path)


def test_the_password_is_not_on_the_command_line(tmp_path: Path) -> None:
    server = prepare(tmp_path, run=tmp_path, logs=tmp_path)
    password = server.url.split(":")[2].split("@")[0]

    assert password not in " ".join(server.spec.argv)


def test_the_program_of_the_wheel_is_found() -> None:
    assert find_program().name == "nats-server"
