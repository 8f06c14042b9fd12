"""A restored database verifies, discloses nothing that was taken away since, and mixes nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from chancery.bus.connection import connect
from chancery.events.queries import OfRun
from chancery.evidence.texts import withheld_notice
from chancery.kernel.errors import NotFound, Unavailable
from chancery.release.adapters.sealed import Releases
from chancery.release.app import Resources, create_parts
from chancery.release.errors import BehindLog
from chancery.store.backup import BackupDamaged, NotEmpty, backup, labels, restore
from chancery.store.pool import connect as connect_database
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database, create_database, drop_database
from chancery.verify.verify import verify_bundle
from tests.integration.release.stage import KEY, playing
from tests.integration.release.test_disclosure import QUOTE, TEXT, sealed_run
from tests.integration.release.world import TENANT, World, parse, request_of

pytestmark = pytest.mark.integration


@asynccontextmanager
async def restored(
    server: str, template: Database, folder: Path, label: str
) -> AsyncGenerator[Database]:
    fresh = await create_database(server, template=template.name)
    try:
        await restore(fresh.superuser_dsn, folder, label)
        yield fresh
    finally:
        await drop_database(server, fresh.name)


async def erase(database: Database, run_id: str) -> None:
    async with connect_database(database.superuser_dsn, name="test") as db:
        await db.execute("SET ROLE chancery_eraser")
        await db.execute(
            "DELETE FROM release.release_key WHERE release_id = ANY ($1::text[])",
            await releases(database, run_id),
        )


async def releases(database: Database, run_id: str) -> list[str]:
    async with connect_database(database.superuser_dsn, name="test") as db:
        rows = await db.fetch("SELECT release_id FROM release.release WHERE run_id = $1", run_id)
    return [row["release_id"] for row in rows]


async def answer_unprojected(nats_url: str, world: World, database: Database, run: str) -> str:
    """Ask parts whose projection stands where the backup left it."""
    dsn = database.dsn("release")
    async with (
        connect(nats_url, name="test") as bus,
        await open_pool(dsn, name="test") as pool,
    ):
        parts = await create_parts(Resources(bus, pool, SecretStr(dsn), world.blobs, KEY))
        request = request_of("answer", OfRun(run_id=run), who="anna")
        return (await parts.disclosures.answer(request)).json_text


@pytest.mark.req("KO-21", "KO-13", "CL-13")
async def test_an_older_database_discloses_nothing_before_it_has_caught_up(
    nats_url: str,
    database: Database,
    postgres_server: str,
    template_database: Database,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "backups"
    async with playing(nats_url, database, tmp_path) as world:
        run_id = await sealed_run(world)
        kept = await world.publish_source("kept", TEXT)
        kept_run = await world.answer_with((kept, QUOTE))
        assert (await world.ended(kept_run)).status == "sealed"
        bundle = (await world.document("bundle", kept_run)).json_text
        await backup(database.superuser_dsn, folder, "first")
        await world.withdraw("handbook")
        later = await world.answer_with((kept, QUOTE))
        await world.ended(later)

    async with restored(postgres_server, template_database, folder, "first") as older:
        with pytest.raises(BehindLog):
            await answer_unprojected(nats_url, world, older, kept_run)
        async with playing(nats_url, older, tmp_path, provision=False) as again:
            withheld = await again.document("answer", run_id)
            shown = await again.document("bundle", kept_run)
            with pytest.raises((NotFound, Unavailable)):
                await again.document("answer", later)
            found = await again.parts.disclosures.discloser.releases.read(TENANT, run_id, 1)

    assert parse(withheld.json_text)["explanation"] == withheld_notice("en")
    assert shown.json_text == bundle
    assert verify_bundle(shown.json_text.encode(), public_key=KEY.public_key).exit_code == 0
    assert found is not None
    assert found.parsed_receipt().sha256 == found.receipt_sha256


@pytest.mark.req("KO-21")
async def test_a_key_erased_later_stays_erased_in_every_older_backup(
    world: World, postgres_server: str, template_database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    run_id = await sealed_run(world)
    await backup(world.database.superuser_dsn, folder, "first")
    await erase(world.database, run_id)
    await backup(world.database.superuser_dsn, folder, "second")

    async with (
        restored(postgres_server, template_database, folder, "first") as older,
        await open_pool(older.dsn("release"), name="test") as pool,
    ):
        found = await Releases(pool).read(TENANT, run_id, 1)

    assert found is not None
    assert found.keys is None
    assert found.parsed_receipt().sha256 == found.receipt_sha256
    assert labels(folder) == ["first", "second"]
    assert (folder / "keys.copy").stat().st_mode & 0o777 == 0o600


@pytest.mark.req("KO-21")
async def test_restored_rows_stay_hardened_and_nothing_is_mixed(
    world: World, postgres_server: str, template_database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    run_id = await sealed_run(world)
    manifest = await backup(world.database.superuser_dsn, folder, "first")

    with pytest.raises(NotEmpty):
        await restore(world.database.superuser_dsn, folder, "first")
    async with restored(postgres_server, template_database, folder, "first") as older:
        assert await releases(older, run_id) == await releases(world.database, run_id)
        assert await dump(older, len(manifest.tables)) == await dump(
            world.database, len(manifest.tables)
        )
        async with connect_database(older.dsn("release"), name="test") as db:
            with pytest.raises(Exception, match="permission denied"):
                await db.execute("DELETE FROM release.receipt")


@pytest.mark.req("KO-21")
async def test_an_altered_file_is_refused_and_nothing_is_restored(
    world: World, postgres_server: str, template_database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    run_id = await sealed_run(world)
    await backup(world.database.superuser_dsn, folder, "first")
    path = folder / "first" / "release.receipt.copy"
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    fresh = await create_database(postgres_server, template=template_database.name)

    with pytest.raises(BackupDamaged):
        await restore(fresh.superuser_dsn, folder, "first")

    assert await releases(fresh, run_id) == []
    await drop_database(postgres_server, fresh.name)


async def dump(database: Database, tables: int) -> list[str]:
    """Return the sealed rows, but for what names a transaction."""
    assert tables > 10
    found: list[str] = []
    async with connect_database(database.superuser_dsn, name="test") as db:
        for table in ("receipt", "content", "release_read", "citation", "card", "run_event"):
            rows = await db.fetch(f"SELECT t::text AS line FROM release.{table} AS t ORDER BY 1")
            found += [row["line"] for row in rows]
    return found
