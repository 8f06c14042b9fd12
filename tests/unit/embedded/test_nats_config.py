"""The configuration of the embedded NATS: synced, private, on the loopback address only."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from chancery.bus.accounts import create_producer
from chancery.embedded.errors import SecretDamaged
from chancery.embedded.nats import find_program, listening_port, prepare, render_config
from chancery.embedded.nats_users import load_users, write_users
from chancery.events.topology import SERVICES
from chancery.testkit.ports import reserved_port


def _settings(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if not line.strip().startswith("#")]


@pytest.mark.req("EV-10")
def test_every_write_is_synced_before_it_is_acknowledged() -> None:
    text = render_config(Path("/data"), port=4222, http_port=8222)

    assert "sync_interval: always" in _settings(text)
    assert [line for line in _settings(text) if "sync" in line] == ["sync_interval: always"]


def test_it_listens_on_the_loopback_address_only() -> None:
    text = render_config(Path("/data"), port=4222, http_port=8222)

    assert re.findall(r'^(\w+): "([\d.]+):(\d+)"$', text, re.MULTILINE) == [
        ("listen", "127.0.0.1", "4222"),
        ("http", "127.0.0.1", "8222"),
    ]


def test_a_path_with_quotes_and_spaces_stays_one_string() -> None:
    text = render_config(Path('/my "data"'), port=1, http_port=2)

    assert r'store_dir: "/my \"data\""' in _settings(text)


def test_credentials_stay_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    first = prepare(tmp_path, run=tmp_path, logs=tmp_path, port=4222)
    second = prepare(tmp_path, run=tmp_path, logs=tmp_path, port=4222)

    assert first.url == second.url
    assert re.fullmatch(r"nats://chancery:[0-9a-f]{48}@127\.0\.0\.1:4222", first.url)
    assert first.service_urls == second.service_urls
    for name in ("credentials.json", "users.json", "accounts.conf", "server.conf"):
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


@pytest.mark.req("EV-1")
def test_each_service_logs_in_with_a_password_of_its_own(tmp_path: Path) -> None:
    server = prepare(tmp_path, run=tmp_path, logs=tmp_path, port=4222)
    logins = [server.url, *server.service_urls.values()]
    accounts = (tmp_path / "accounts.conf").read_text()

    assert set(server.service_urls) == set(SERVICES)
    assert len({url.split(":")[2] for url in logins}) == len(SERVICES) + 1
    assert all(f'"{url.split(":")[2].split("@")[0]}"' in accounts for url in logins)


def test_a_service_that_is_new_gets_a_password_and_the_others_keep_theirs(tmp_path: Path) -> None:
    first = load_users(tmp_path)
    kept = {name: first.services[name] for name in SERVICES if name != "release"}
    (tmp_path / "users.json").write_text(json.dumps({"services": kept, "producers": {}}))

    second = load_users(tmp_path)

    assert second.services["release"] != first.services["release"]
    assert {name: second.services[name] for name in kept} == kept
    assert load_users(tmp_path) == second


def test_producers_are_kept_with_the_users(tmp_path: Path) -> None:
    producer = create_producer("default", "desk")
    users = load_users(tmp_path).with_producer(producer)
    write_users(tmp_path, users)

    assert load_users(tmp_path) == users
    assert users.with_producer(producer).producers[producer] != users.producers[producer]


@pytest.mark.parametrize(
    "text", ['{"services": 1}', '{"services": {"gateway": ""}}', '{"producers": {"a": "x"}}']
)
def test_damaged_users_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "users.json").write_text(text)

    with pytest.raises(SecretDamaged, match=r"users\.json holds no credentials"):
        load_users(tmp_path)


def test_the_port_of_the_start_before_is_taken_again_unless_it_is_busy(tmp_path: Path) -> None:
    with reserved_port() as port:
        first = prepare(tmp_path, run=tmp_path, logs=tmp_path, port=port.number)
        again = prepare(tmp_path, run=tmp_path, logs=tmp_path)
        port.take()
        moved = prepare(tmp_path, run=tmp_path, logs=tmp_path)

    assert first.url == again.url
    assert (first.port_before, again.port_before) == (None, None)
    assert moved.url != first.url
    assert (moved.port_before, listening_port(tmp_path)) == (port.number, moved.port)


def test_streams_from_before_the_accounts_are_the_logs(tmp_path: Path) -> None:
    old = tmp_path / "data" / "jetstream" / "$G" / "streams"
    old.mkdir(parents=True)

    prepare(tmp_path, run=tmp_path, logs=tmp_path)

    assert not old.exists()
    assert (tmp_path / "data" / "jetstream" / "LOG" / "streams").is_dir()


def test_the_program_of_the_wheel_is_found() -> None:
    assert find_program().name == "nats-server"
