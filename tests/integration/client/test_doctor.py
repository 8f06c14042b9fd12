"""`doctor` asks the servers that the settings name, and tells no login of theirs."""

from __future__ import annotations

import socket

import pytest
from pydantic import SecretStr

from chancery.client.command import given_settings
from chancery.client.command.given_settings import examine_given
from chancery.client.command.settings import CommandSettings
from chancery.testkit.postgres import Database

SECRET = "quagmire7741"


async def test_a_bus_that_does_not_answer_is_found_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_settings, "WITHIN_S", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"nats://me:{SECRET}@127.0.0.1:{silent.getsockname()[1]}"

        [finding] = await examine_given(CommandSettings(nats_url=url))

    assert (finding.name, finding.is_well) == ("CHANCERY_NATS_URL", False)
    assert SECRET not in finding.detail


async def test_a_database_that_refuses_is_found_without_its_login() -> None:
    dsn = SecretStr(f"postgres://me:{SECRET}@127.0.0.1:1/x")

    [finding] = await examine_given(CommandSettings(postgres_dsn=dsn))

    assert (finding.name, finding.is_well) == ("CHANCERY_POSTGRES_DSN", False)
    assert SECRET not in finding.detail


async def test_servers_that_answer_are_well(provisioned_nats_url: str, database: Database) -> None:
    given = CommandSettings(
        nats_url=provisioned_nats_url, postgres_dsn=SecretStr(database.dsn("gateway"))
    )

    findings = await examine_given(given)

    assert [each.name for each in findings] == ["CHANCERY_NATS_URL", "CHANCERY_POSTGRES_DSN"]
    assert all(each.is_well for each in findings), findings
