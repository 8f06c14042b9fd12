"""What each service is told: its own role, only the keys it needs, nothing of `up` itself."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from chancery.embedded.folder import DataFolder, hold_folder
from chancery.embedded.services import Wiring, answers_ready, service_children
from chancery.embedded.settings import UpSettings, UpSteps, service_argv
from chancery.store.roles import SERVICES

WIRING = Wiring(
    nats_urls={service: f"nats://{service}@n" for service in SERVICES},
    nats_api_prefix="LOG.API",
    dsns={service: f"postgresql://chancery_{service}@h/db" for service in SERVICES},
    blobs_url="file:///blobs",
    http_port=8080,
)


async def _nothing(*_: object) -> None:
    return


STEPS = UpSteps(_nothing, _nothing, service_argv)


@pytest.fixture
def folder(tmp_path: Path) -> Generator[DataFolder]:
    with hold_folder(tmp_path) as folder:
        yield folder


def _environments(folder: DataFolder, **environment: str) -> dict[str, dict[str, str]]:
    settings = UpSettings(data_dir=folder.path, environment=environment)
    children = service_children(folder, settings, STEPS, WIRING)
    return {child.spec.name: dict(child.spec.environment) for child in children}


@pytest.mark.req("EV-1")
def test_each_service_logs_in_with_its_own_role(folder: DataFolder) -> None:
    found = _environments(folder)

    for service in SERVICES:
        dsn_file = Path(found[service]["CHANCERY_POSTGRES_DSN_FILE"])
        assert dsn_file.read_text().strip() == WIRING.dsns[service]
        assert dsn_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("EV-1")
def test_each_service_gets_its_own_login_of_nats_and_nobody_elses(folder: DataFolder) -> None:
    found = _environments(folder, CHANCERY_NATS_URL="nats://all", CHANCERY_NATS_URL_FILE="x")

    for service in SERVICES:
        told = found[service]
        nats_file = Path(told["CHANCERY_NATS_URL_FILE"])
        assert nats_file.read_text().strip() == f"nats://{service}@n"
        assert nats_file.stat().st_mode & 0o777 == 0o600
        assert told["CHANCERY_NATS_API_PREFIX"] == "LOG.API"
        assert "CHANCERY_NATS_URL" not in told


def test_only_who_needs_a_key_is_told_where_it_is(folder: DataFolder) -> None:
    found = _environments(folder)

    def told(name: str) -> set[str]:
        return {service for service in SERVICES if name in found[service]}

    assert told("CHANCERY_SIGNING_KEY_FILE") == {"release"}
    assert told("CHANCERY_TOKEN_KEY_FILE") == {"gateway", "ingestion"}
    assert told("CHANCERY_OPERATOR_TOKEN_FILE") == {"ingestion"}


def test_no_secret_stands_in_the_environment(folder: DataFolder) -> None:
    values = [value for found in _environments(folder).values() for value in found.values()]
    keys = [(folder.path / name).read_text().strip() for name in ("signing.key", "token.key")]

    assert not [value for value in values if any(key in value for key in keys)]
    assert not [value for value in values if value.startswith("postgresql://")]


def test_a_configured_key_is_passed_on_and_none_is_drawn(folder: DataFolder) -> None:
    found = _environments(folder, CHANCERY_SIGNING_KEY="ab" * 32)

    assert found["release"]["CHANCERY_SIGNING_KEY"] == "ab" * 32
    assert "CHANCERY_SIGNING_KEY_FILE" not in found["release"]
    assert not (folder.path / "signing.key").exists()


def test_the_migrating_role_is_not_passed_on(folder: DataFolder) -> None:
    found = _environments(folder, CHANCERY_POSTGRES_DSN="postgresql://owner", PATH="/bin")

    assert all("CHANCERY_POSTGRES_DSN" not in environment for environment in found.values())
    assert {environment["PATH"] for environment in found.values()} == {"/bin"}


def test_each_service_is_run_as_a_module(folder: DataFolder) -> None:
    children = service_children(folder, UpSettings(data_dir=folder.path), STEPS, WIRING)

    assert [child.spec.argv[1:] for child in children] == [
        ("-m", f"chancery.{service}") for service in SERVICES
    ]


@pytest.mark.parametrize("text", ["", "nonsense"])
def test_a_service_that_does_not_answer_is_not_ready(tmp_path: Path, text: str) -> None:
    (tmp_path / "port").write_text(text)

    assert not answers_ready(tmp_path / "port")
    assert not answers_ready(tmp_path / "absent")
