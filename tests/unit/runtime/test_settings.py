"""Settings: from the environment, secrets also from files, never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from chancery.runtime.settings import ServiceSettings, UnreadableSecret


class Extended(ServiceSettings):
    """A service's own setting that ends like a file name."""

    operator_token: str | None = None
    operator_token_file: Path | None = None


def test_defaults_need_no_environment() -> None:
    settings = ServiceSettings()

    assert (settings.management_port, settings.stop_s, settings.language) == (0, 20.0, "en")


def test_a_secret_is_read_from_its_file_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    path.write_text("c0ffee\n", encoding="ascii")
    monkeypatch.setenv("CHANCERY_SIGNING_KEY_FILE", str(path))

    settings = ServiceSettings()

    assert settings.signing_key == SecretStr("c0ffee")
    assert "c0ffee" not in repr(settings)


def test_the_environment_wins_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dsn"
    path.write_text("postgresql://file", encoding="ascii")
    monkeypatch.setenv("CHANCERY_POSTGRES_DSN_FILE", str(path))
    monkeypatch.setenv("CHANCERY_POSTGRES_DSN", "postgresql://environment")

    assert ServiceSettings().postgres_dsn == SecretStr("postgresql://environment")


def test_a_missing_file_is_refused_by_the_name_of_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANCERY_TOKEN_KEY_FILE", str(tmp_path / "absent"))

    with pytest.raises(UnreadableSecret) as caught:
        ServiceSettings()

    assert caught.value.field == "CHANCERY_TOKEN_KEY_FILE"
    assert "absent" not in caught.value.detail


def test_a_setting_that_is_a_file_name_keeps_its_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANCERY_OPERATOR_TOKEN_FILE", str(tmp_path / "token"))

    settings = Extended()

    assert settings.operator_token_file == tmp_path / "token"
    assert settings.operator_token is None


def test_the_standard_variable_names_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")

    assert ServiceSettings().otlp_endpoint == "http://collector:4318"


@pytest.mark.parametrize(
    ("name", "value"), [("STOP_S", "0"), ("HTTP_PORT", "70000"), ("LOG_LEVEL", "loud")]
)
def test_a_value_out_of_bounds_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"CHANCERY_{name}", value)

    with pytest.raises(ValidationError):
        ServiceSettings()
