"""Migrations on a real PostgreSQL: once each, in order, by one at a time, as the owner."""

from __future__ import annotations

import asyncio
import secrets

import asyncpg
import pytest
from pydantic import SecretStr

from chancery.kernel.errors import Unavailable
from chancery.store.migrations import (
    Migration,
    MigrationDrift,
    MigrationFailed,
    NotPermitted,
    migrate,
)
from chancery.store.pool import connect
from chancery.store.roles import ERASER, OWNER, SERVICES, MissingPassword, runtime_role
from chancery.testkit.postgres import TEST_PASSWORD, Database
from chancery.testkit.queries import QUERIES

pytestmark = pytest.mark.integration

PASSWORDS = {runtime_role(service): TEST_PASSWORD for service in SERVICES}
TABLE = Migration(
    "release",
    1,
    "tables",
    "CREATE TABLE release.thing (id integer PRIMARY KEY);"
    "GRANT SELECT, INSERT ON release.thing TO chancery_release;",
)
MORE = Migration("release", 2, "more", "ALTER TABLE release.thing ADD COLUMN name text;")


async def _migrate(database: Database, *migrations: Migration) -> list[str]:
    async with connect(database.superuser_dsn, name="test") as connection:
        applied = await migrate(connection, migrations, passwords=PASSWORDS)
    return [migration.label for migration in applied]


async def _labels(database: Database) -> list[str]:
    async with connect(database.superuser_dsn, name="test") as connection:
        rows = await connection.fetch(
            "SELECT service, number, name FROM chancery_meta.migration ORDER BY service, number"
        )
    return [f"{row['service']}/{row['number']:04d}_{row['name']}" for row in rows]


async def test_each_migration_is_applied_once(empty_database: Database) -> None:
    first = await _migrate(empty_database, TABLE)
    second = await _migrate(empty_database, TABLE, MORE)
    third = await _migrate(empty_database, TABLE, MORE)

    assert (first, second, third) == (["release/0001_tables"], ["release/0002_more"], [])
    assert await _labels(empty_database) == ["release/0001_tables", "release/0002_more"]


async def test_an_applied_file_that_changed_is_refused_and_nothing_is_applied(
    empty_database: Database,
) -> None:
    await _migrate(empty_database, TABLE)
    changed = Migration("release", 1, "tables", TABLE.sql + " ")

    with pytest.raises(MigrationDrift, match="release/0001_tables was changed"):
        await _migrate(empty_database, changed, MORE)

    assert await _labels(empty_database) == ["release/0001_tables"]


async def test_the_previous_version_still_starts_on_a_newer_database(
    empty_database: Database,
) -> None:
    await _migrate(empty_database, TABLE, MORE)

    assert await _migrate(empty_database, TABLE) == []


async def test_a_failing_migration_leaves_nothing_of_itself(empty_database: Database) -> None:
    broken = Migration(
        "release", 2, "broken", "CREATE TABLE release.half (id integer); SELECT 1 / 0;"
    )

    with pytest.raises(MigrationFailed, match="release/0002_broken failed with SQLSTATE 22012"):
        await _migrate(empty_database, TABLE, broken)

    assert await _labels(empty_database) == ["release/0001_tables"]
    async with connect(empty_database.superuser_dsn, name="test") as connection:
        assert await connection.fetchval("SELECT to_regclass('release.half')") is None
        assert await connection.fetchval("SELECT to_regclass('release.thing')") is not None


async def test_a_migration_that_commits_on_its_own_is_refused(empty_database: Database) -> None:
    sneaky = Migration("release", 1, "sneaky", "CREATE TABLE release.x (id integer); COMMIT;")

    with pytest.raises(MigrationDrift, match="leave COMMIT and ROLLBACK out"):
        await _migrate(empty_database, sneaky)


async def test_two_at_once_apply_each_migration_once(empty_database: Database) -> None:
    results = await asyncio.gather(
        *(_migrate(empty_database, TABLE, MORE) for _ in range(4)),
    )

    assert sorted(results, key=len) == [[], [], [], ["release/0001_tables", "release/0002_more"]]


@pytest.mark.req("EV-1", "KO-21")
async def test_the_runtime_role_reaches_only_what_its_own_service_was_granted(
    empty_database: Database,
) -> None:
    other = Migration("indexing", 1, "tables", "CREATE TABLE indexing.thing (id integer);")
    await _migrate(empty_database, TABLE, other)

    async with connect(empty_database.dsn("release"), name="test") as connection:
        await connection.execute("INSERT INTO release.thing (id) VALUES (1)")
        assert await connection.fetchval("SELECT count(id) FROM release.thing") == 1
        for forbidden in (
            "DELETE FROM release.thing",
            "DROP TABLE release.thing",
            "CREATE TABLE release.mine (id integer)",
            "CREATE TABLE public.mine (id integer)",
            "SELECT id FROM indexing.thing",
            "SELECT name FROM chancery_meta.migration",
            "SET ROLE chancery_owner",
            "SET ROLE chancery_indexing",
            "SET ROLE chancery_eraser",
            "ALTER ROLE chancery_release SUPERUSER",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(forbidden)


@pytest.mark.req("KO-21")
async def test_the_catalog_shows_roles_without_power(database: Database) -> None:
    async with connect(database.superuser_dsn, name="test") as connection:
        roles = await connection.fetch(QUERIES["read_chancery_roles"])
        owners = await connection.fetch(QUERIES["read_object_owners"])
        members = await connection.fetch(QUERIES["read_chancery_members"])

    runtime = {runtime_role(service) for service in SERVICES}
    assert {row["rolname"] for row in roles} == runtime | {OWNER, ERASER}
    assert {row["rolname"] for row in roles if row["rolcanlogin"]} == runtime
    assert not [row["rolname"] for row in roles if row["power"]]
    assert {row["owner"] for row in owners} == {OWNER}
    assert not [row for row in members if row["member"] in runtime]


async def test_the_stored_password_is_a_verifier_and_the_log_in_works(database: Database) -> None:
    async with connect(database.superuser_dsn, name="test") as connection:
        stored = await connection.fetchval(QUERIES["read_stored_password"], runtime_role("release"))

    assert stored.startswith("SCRAM-SHA-256$4096:")
    async with connect(database.dsn("release"), name="test") as connection:
        assert await connection.fetchval("SELECT current_user") == "chancery_release"
    wrong = database.dsn("release").replace(TEST_PASSWORD.get_secret_value(), "wrong")
    with pytest.raises(Unavailable, match="refused the role or password"):
        async with connect(wrong, name="test"):
            pass


@pytest.mark.usefixtures("template_database")
async def test_a_role_that_is_no_superuser_can_migrate_its_own_database(
    postgres_server: str,
) -> None:
    name = f"migrator_{secrets.token_hex(4)}"
    async with connect(postgres_server, name="test") as superuser:
        await superuser.execute(f"CREATE ROLE {name} LOGIN CREATEROLE PASSWORD '{name}'")
        await superuser.execute(f"CREATE DATABASE {name} OWNER {name}")
        await superuser.execute(f"GRANT {OWNER} TO {name} WITH ADMIN TRUE, SET FALSE")
        host = postgres_server.rpartition("@")[2].split("/")[0]
        try:
            async with connect(f"postgresql://{name}:{name}@{host}/{name}", name="test") as own:
                applied = await migrate(own, [TABLE, MORE], passwords={})
        finally:
            await superuser.execute(f"DROP DATABASE {name} WITH (FORCE)")
            await superuser.execute(f"DROP OWNED BY {name}")
            await superuser.execute(f"DROP ROLE {name}")

    assert [migration.number for migration in applied] == [1, 2]


async def test_a_missing_role_without_a_password_is_named(database: Database) -> None:
    role = runtime_role("gateway")
    async with connect(database.superuser_dsn, name="test") as connection:
        hidden = connection.transaction()
        await hidden.start()
        await connection.execute(f"ALTER ROLE {role} RENAME TO hidden")

        with pytest.raises(MissingPassword, match=role):
            await migrate(connection, [], passwords={})

        await hidden.rollback()


async def test_a_role_that_may_not_make_roles_is_told_what_it_needs(database: Database) -> None:
    async with connect(database.dsn("gateway"), name="test") as connection:
        with pytest.raises(NotPermitted, match="give it CREATEROLE"):
            await migrate(connection, [TABLE], passwords=PASSWORDS)


def test_passwords_do_not_show_in_what_is_printed() -> None:
    assert "secret" not in repr({"chancery_release": SecretStr("secret")})
