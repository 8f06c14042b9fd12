"""The product's own steps, on real servers: the whole topology, every migration, twice the same."""

from __future__ import annotations

import pytest

from chancery.bus.connection import connect as connect_bus
from chancery.bus.provision import diff
from chancery.embedded.database import migrate_database
from chancery.embedded.steps import product_steps, provision_topology
from chancery.store.migrations import discover, migrate
from chancery.store.pool import connect
from chancery.store.roles import SERVICES
from chancery.testkit.postgres import Database

pytestmark = pytest.mark.integration


async def test_the_topology_is_applied_and_a_second_time_changes_nothing(nats_url: str) -> None:
    async with connect_bus(nats_url, name="test") as connection:
        before = await diff(connection)
        await provision_topology(nats_url)
        after = await diff(connection)
        await provision_topology(nats_url)
        again = await diff(connection)

    assert before != []
    assert (after, again) == ([], [])


async def test_a_fresh_database_has_every_migration(database: Database) -> None:
    async with connect(database.superuser_dsn, name="test") as connection:
        assert await migrate(connection, discover(), passwords={}) == ()


async def test_migrating_a_database_again_changes_nothing(database: Database) -> None:
    await migrate_database(database.superuser_dsn, {})

    async with connect(database.dsn("release"), name="test") as connection:
        assert await connection.fetchval("SELECT 1") == 1


def test_every_service_is_run_as_a_module() -> None:
    steps = product_steps()

    assert [steps.service_argv(service)[1:] for service in SERVICES] == [
        ("-m", f"chancery.{service}") for service in SERVICES
    ]
