"""Attacks on the sealed tables as the runtime role, and what the catalog says of them."""

from __future__ import annotations

import asyncpg
import pytest

from chancery.kernel.ids import random_id
from chancery.store.pool import connect
from tests.integration.release.world import TENANT, World

pytestmark = pytest.mark.integration

SEALED = ("release", "release_read", "citation", "card", "receipt", "content", "run_event")
TEXT = "Service reviews are owned by Mara Lindt.\n"
DENIED = (asyncpg.InsufficientPrivilegeError, asyncpg.IntegrityConstraintViolationError)


async def sealed(world: World) -> tuple[str, str]:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, TEXT.strip()))
    assert (await world.ended(run_id)).status == "sealed"
    async with connect(world.database.superuser_dsn, name="test") as db:
        release_id = await db.fetchval(
            "SELECT release_id FROM release.release WHERE run_id = $1", run_id
        )
    return run_id, release_id


async def rows_of(world: World) -> dict[str, int]:
    async with connect(world.database.superuser_dsn, name="test") as db:
        return {
            table: await db.fetchval(f"SELECT count(*) FROM release.{table}") for table in SEALED
        }


def attacks_on(table: str) -> tuple[str, ...]:
    return (
        f"UPDATE release.{table} SET tenant = tenant",
        f"DELETE FROM release.{table}",
        f"TRUNCATE release.{table} CASCADE",
        f"UPDATE release.{table} SET tenant = 'x' WHERE tenant = '{TENANT}'",
    )


@pytest.mark.req("KO-13")
@pytest.mark.parametrize("role", ["runtime", "superuser"])
async def test_sealed_rows_cannot_be_changed_or_removed(world: World, role: str) -> None:
    await sealed(world)
    before = await rows_of(world)
    is_runtime = role == "runtime"
    dsn = world.database.dsn("release") if is_runtime else world.database.superuser_dsn
    attacks = [attack for table in SEALED for attack in attacks_on(table)]
    async with connect(dsn, name="attacker") as db:
        for attack in attacks:
            with pytest.raises(DENIED):
                await db.execute(attack)

    assert await rows_of(world) == before
    assert all(count > 0 for count in before.values())


@pytest.mark.req("KO-13")
async def test_a_late_citation_is_refused_and_a_forged_transaction_does_not_help(
    world: World,
) -> None:
    _, release_id = await sealed(world)
    late = (
        "INSERT INTO release.citation (tenant, release_id, n, citation_id, kind, aggregate_kind,"
        " aggregate_id, revision) VALUES ($1, $2, 7, 'late', 'quote', 'source', 'k', 1)"
    )
    forged = (
        "INSERT INTO release.release (tenant, release_id, run_id, generation, kind, outcome,"
        " workspace_id, principal, cut_sequence, decided_at, language, request, citations, cards,"
        " sealed_xid) VALUES ($1, $2, 'r', 1, 'refused', 'unavailable', 'w', 'p', 0, now(), 'en',"
        " '{}', 0, 0, '1') RETURNING sealed_xid = pg_current_xact_id()"
    )
    async with connect(world.database.dsn("release"), name="attacker") as db:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await db.execute(late, TENANT, release_id)
        assert await db.fetchval(forged, TENANT, random_id()) is True
        async with db.transaction():
            own = random_id()
            await db.fetchval(forged.replace("'r'", "'r2'"), TENANT, own)
            assert await db.execute(late, TENANT, own) == "INSERT 0 1"


@pytest.mark.req("KO-13")
async def test_a_second_release_of_a_generation_is_refused(world: World) -> None:
    run_id, _ = await sealed(world)
    copy = (
        "INSERT INTO release.release (tenant, release_id, run_id, generation, kind, outcome,"
        " workspace_id, principal, cut_sequence, decided_at, language, request, citations, cards)"
        " VALUES ($1, $2, $3, $4, 'refused', 'unavailable', 'w', 'p', 0, now(), 'en', '{}', 0, 0)"
    )
    async with connect(world.database.dsn("release"), name="attacker") as db:
        with pytest.raises(asyncpg.UniqueViolationError):
            await db.execute(copy, TENANT, random_id(), run_id, 1)
        assert await db.execute(copy, TENANT, random_id(), run_id, 2) == "INSERT 0 1"


@pytest.mark.req("KO-13")
async def test_the_runtime_role_cannot_switch_the_protection_off(world: World) -> None:
    await sealed(world)
    async with connect(world.database.dsn("release"), name="attacker") as db:
        for attack in (
            "SET session_replication_role = replica",
            "ALTER TABLE release.release DISABLE TRIGGER ALL",
            "DROP TRIGGER refuse_change ON release.release",
            "ALTER TABLE release.citation DROP CONSTRAINT citation_pkey",
            "DROP TABLE release.content",
            "SET ROLE chancery_owner",
            "SET ROLE chancery_eraser",
            "DELETE FROM release.release_key",
            "CREATE TABLE release.shadow (n integer)",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await db.execute(attack)
        assert await db.fetchval("SELECT count(*) FROM release.release_key") == 1


async def test_replica_mode_does_not_silence_the_triggers(world: World) -> None:
    await sealed(world)
    async with connect(world.database.superuser_dsn, name="attacker") as db:
        await db.execute("SET session_replication_role = replica")

        for attack in ("UPDATE release.content SET n = 9", "DELETE FROM release.release"):
            with pytest.raises(asyncpg.IntegrityConstraintViolationError):
                await db.execute(attack)

        assert await db.fetchval("SELECT count(*) FROM release.release") == 1


async def test_erasing_a_key_leaves_receipt_and_rows_and_shows_no_content(world: World) -> None:
    run_id, release_id = await sealed(world)
    async with connect(world.database.superuser_dsn, name="eraser") as db, db.transaction():
        await db.execute("SET LOCAL ROLE chancery_eraser")
        erased = await db.execute(
            "DELETE FROM release.release_key WHERE release_id = $1", release_id
        )

    assert erased == "DELETE 1"
    for noun in ("answer", "audit", "bundle"):
        document = await world.document(noun, run_id)
        assert document.status == "withheld"
        assert "Mara" not in document.json_text
    assert await world.count("release", run_id) == 1


async def test_no_content_stands_in_clear_in_the_sealed_tables(world: World) -> None:
    await sealed(world)
    async with connect(world.database.superuser_dsn, name="test") as db:
        for table in (*SEALED, "outbox", "release_key"):
            rows = await db.fetch(f"SELECT t::text AS line FROM release.{table} AS t")
            assert rows
            for row in rows:
                assert "Mara" not in row["line"]
                assert b"Mara".hex() not in row["line"]


@pytest.mark.req("KO-13", "KO-21")
async def test_the_catalog_shows_the_hardening_of_every_sealed_table(world: World) -> None:
    async with connect(world.database.superuser_dsn, name="test") as db:
        triggers = await db.fetch(
            "SELECT c.relname, t.tgname, t.tgenabled::text AS enabled FROM pg_trigger AS t"
            " JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n"
            " ON n.oid = c.relnamespace WHERE n.nspname = 'release' AND NOT t.tgisinternal"
        )
        actions = await db.fetch(
            "SELECT confdeltype::text AS d, confupdtype::text AS u FROM pg_constraint AS k"
            " JOIN pg_namespace AS n ON n.oid = k.connamespace"
            " WHERE n.nspname = 'release' AND contype = 'f'"
        )
        owners = await db.fetch(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'release'"
        )
        grants = await db.fetch(
            "SELECT table_name, privilege_type FROM information_schema.role_table_grants"
            " WHERE table_schema = 'release' AND grantee = 'chancery_release'"
        )

    found = {(row["relname"], row["tgname"]) for row in triggers}
    assert {row["enabled"] for row in triggers} == {"A"}
    for table in (*SEALED, "release_key"):
        assert {(table, "refuse_change"), (table, "refuse_truncate")} <= found
        held = {row["privilege_type"] for row in grants if row["table_name"] == table}
        assert held == {"SELECT", "INSERT"}
    for table in (*SEALED[1:], "release_key"):
        assert (table, "own_releases") in found
    assert {(row["d"], row["u"]) for row in actions} <= {("r", "a"), ("a", "a")}
    assert [row["tableowner"] for row in owners] == ["chancery_owner"]


async def test_the_key_of_every_table_starts_with_the_tenant(world: World) -> None:
    async with connect(world.database.superuser_dsn, name="test") as db:
        keys = await db.fetch(
            "SELECT c.relname, a.attname FROM pg_index AS i"
            " JOIN pg_class AS c ON c.oid = i.indrelid"
            " JOIN pg_namespace AS n ON n.oid = c.relnamespace"
            " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]"
            " WHERE n.nspname = 'release' AND i.indisunique"
        )

    service_wide = {"live_set", "checkpoint", "outbox", "parked"}
    assert {row["attname"] for row in keys if row["relname"] not in service_wide} == {"tenant"}
    assert len(keys) > 15
