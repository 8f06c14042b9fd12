"""Secrets: drawn once, private, never overwritten, and refused when damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from chancery.embedded.database import role_passwords, runtime_dsn
from chancery.embedded.errors import SecretDamaged
from chancery.embedded.secret_files import hex_key, write_secret
from chancery.store.roles import SERVICES, runtime_role


def test_a_key_is_drawn_once_and_stays(tmp_path: Path) -> None:
    first = hex_key(tmp_path / "signing.key")
    second = hex_key(tmp_path / "signing.key")
    other = hex_key(tmp_path / "token.key")

    assert first == second != other
    assert len(bytes.fromhex(first)) == 32


def test_only_its_owner_may_read_a_secret(tmp_path: Path) -> None:
    hex_key(tmp_path / "signing.key")
    role_passwords(tmp_path / "roles.json")

    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "a" * 63, "a" * 65])
def test_a_damaged_key_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "signing.key"
    path.write_text(text)

    with pytest.raises(SecretDamaged, match=r"signing\.key does not hold 64 hex digits"):
        hex_key(path)

    assert path.read_text() == text


def test_a_failed_write_leaves_the_old_secret_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_secret(path, "old")

    with pytest.raises(UnicodeEncodeError):
        write_secret(path, "näw")

    assert path.read_text() == "old\n"
    assert [found.name for found in tmp_path.iterdir()] == ["secret"]


def test_every_service_has_a_password_of_its_own_that_stays(tmp_path: Path) -> None:
    first = role_passwords(tmp_path / "roles.json")
    second = role_passwords(tmp_path / "roles.json")

    assert set(first) == {runtime_role(service) for service in SERVICES}
    assert len({password.get_secret_value() for password in first.values()}) == len(SERVICES)
    assert first == second


def test_a_service_that_is_new_gets_a_password_and_the_others_keep_theirs(tmp_path: Path) -> None:
    write_secret(tmp_path / "roles.json", '{"chancery_release":"kept"}')

    found = role_passwords(tmp_path / "roles.json")

    assert found["chancery_release"].get_secret_value() == "kept"
    assert len(found) == len(SERVICES)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '"x"'])
def test_a_damaged_file_of_passwords_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "roles.json").write_text(text)

    with pytest.raises(SecretDamaged, match="holds no passwords"):
        role_passwords(tmp_path / "roles.json")


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        (
            "postgresql://u:p@h:5432/db?sslmode=require",
            "postgresql://r:s@h:5432/db?sslmode=require",
        ),
        ("postgresql://h/db", "postgresql://r:s@h/db"),
        ("postgres://u:p%40x@[::1]:5/db", "postgres://r:s@[::1]:5/db"),
    ],
)
def test_a_runtime_dsn_changes_only_the_login(dsn: str, expected: str) -> None:
    assert runtime_dsn(dsn, "r", SecretStr("s")) == expected


@given(password=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1))
def test_any_password_survives_in_a_dsn(password: str) -> None:
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(runtime_dsn("postgresql://u:p@h:1/db", "role", SecretStr(password)))

    assert (parts.username, unquote(parts.password or "")) == ("role", password)
    assert (parts.hostname, parts.port, parts.path) == ("h", 1, "/db")
