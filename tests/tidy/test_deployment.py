"""The compose file and the image say what they promise; no engine is needed to see that."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from chancery.bus.accounts import SERVICE_API_PREFIX, from_environment, render_accounts
from tests.tidy.tree import ROOT

SERVICES = ("gateway", "ingestion", "indexing", "retrieval", "execution", "release")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
PARTS: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "deploy" / "docker" / "Dockerfile").read_text("utf-8")


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_built_from_the_one_file_and_waits_for_its_tables(service: str) -> None:
    part = PARTS[service]

    assert part["build"]["dockerfile"] == "deploy/docker/Dockerfile"
    assert part["build"]["args"] == {"SERVICE": service}
    assert part["depends_on"]["prepare"]["condition"] == "service_completed_successfully"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_logs_in_as_its_own_role(service: str) -> None:
    dsn: str = PARTS[service]["environment"]["CHANCERY_POSTGRES_DSN"]
    roles = (ROOT / "deploy" / "postgres" / "roles.sql").read_text("utf-8")

    assert dsn.startswith(f"postgresql://chancery_{service}:")
    assert f"CREATE ROLE chancery_{service} LOGIN" in roles


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_logs_in_to_the_bus_as_itself_alone(service: str) -> None:
    environment = PARTS[service]["environment"]
    variable = f"CHANCERY_NATS_PASSWORD_{service.upper()}"

    assert environment["CHANCERY_NATS_URL"] == f"nats://{service}:${{{variable}:?}}@nats:4222"
    assert environment["CHANCERY_NATS_API_PREFIX"] == SERVICE_API_PREFIX
    assert variable in PARTS["nats"]["environment"]
    assert [key for key in environment if "NATS_PASSWORD" in key] == []


def test_the_accounts_of_the_deployment_are_those_of_the_topology() -> None:
    written = (ROOT / "deploy" / "nats" / "accounts.conf").read_text("utf-8")
    mounted = [volume.partition(":")[0] for volume in PARTS["nats"]["volumes"]]

    assert written == render_accounts(from_environment), "run: chancery accounts render"
    assert "./deploy/nats/accounts.conf" in mounted


def test_compose_has_the_two_servers_the_preparation_and_the_six_services() -> None:
    assert set(PARTS) == {"nats", "postgres", "prepare", *SERVICES}


@pytest.mark.req("EV-10")
def test_the_bus_syncs_every_write() -> None:
    config = (ROOT / "deploy" / "nats" / "server.conf").read_text("utf-8")

    mounted = [volume.partition(":")[0] for volume in PARTS["nats"]["volumes"]]

    assert "./deploy/nats/server.conf" in mounted
    assert re.search(r"^\s*sync_interval: always$", config, re.MULTILINE)


def test_only_the_gateway_is_reachable_and_only_from_this_machine() -> None:
    ports = {name: part["ports"] for name, part in PARTS.items() if "ports" in part}

    assert list(ports) == ["gateway"]
    assert all(port.startswith("127.0.0.1:") for port in ports["gateway"])
    # A published port leads to the container's address, not to its loopback.
    assert PARTS["gateway"]["environment"]["CHANCERY_HTTP_HOST"] == "0.0.0.0"


def test_secrets_come_from_outside_and_must_be_given() -> None:
    values = [
        (name, key, value)
        for name, part in PARTS.items()
        for key, value in part.get("environment", {}).items()
        if "PASSWORD" in key or key.endswith(("_KEY", "_DSN", "NATS_URL"))
    ]

    assert len(values) > len(SERVICES)
    assert [item for item in values if not re.search(r"\$\{CHANCERY_[A-Z_]+:\?\}", item[2])] == []


def test_images_are_pinned_to_a_version() -> None:
    images = [part["image"] for part in PARTS.values() if "image" in part]

    assert images == ["nats:2.15-alpine", "postgres:18-alpine"]


def test_the_image_checks_hashes_and_runs_without_root() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]

    assert "--require-hashes" in DOCKERFILE
    assert "\nUSER chancery\n" in last
    assert last.index("USER chancery") < last.index("CMD [")
