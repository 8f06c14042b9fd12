"""An installation that is damaged on purpose, examined, and made whole again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from chancery.kernel.canonical import Json
from chancery.release.app import Depth, examine
from chancery.release.settings import ReleaseSettings
from chancery.store.pool import Connection
from chancery.store.pool import connect as connect_database
from tests.integration.release.published import Published
from tests.integration.release.world import World


@dataclass(frozen=True, slots=True)
class Examined:
    """What an examination told."""

    codes: tuple[str, ...]
    findings: tuple[Mapping[str, Json], ...]
    counts: Mapping[str, int]
    progress: int


@dataclass(slots=True)
class Lab:
    """An installation with one sealed answer, where damage is done and undone."""

    world: World
    settings: ReleaseSettings
    source: Published
    run_id: str

    async def examine(self, *, deep: bool = False, pending_s: float = 0.0) -> Examined:
        """Examine everything, impatiently."""
        lines: list[Mapping[str, Json]] = []
        depth = Depth(deep=deep, pending_s=pending_s, patience_s=0.2)
        report = await examine(self.settings, depth, lines.append)
        findings = tuple(line for line in lines if line["event"] == "finding")
        return Examined(
            tuple(finding.code for finding in report.findings),
            findings,
            report.counts,
            sum(line["event"] == "progress" for line in lines),
        )

    async def damaged(self, table: str, statement: str, *, deep: bool = False) -> Examined:
        """Examine with a damage that is undone afterwards."""
        async with self.superuser() as db:
            await db.execute(f"CREATE TABLE public.kept AS TABLE release.{table}")
            await _trigger(db, table, "DISABLE")
            await db.execute(statement)
            try:
                return await self.examine(deep=deep)
            finally:
                await db.execute(f"DELETE FROM release.{table}")
                await db.execute(
                    f"INSERT INTO release.{table} OVERRIDING SYSTEM VALUE TABLE public.kept"
                )
                await _trigger(db, table, "ENABLE ALWAYS")
                await db.execute("DROP TABLE public.kept")

    def superuser(self) -> AbstractAsyncContextManager[Connection]:
        """Connect as the one whom no right and no trigger stops."""
        return connect_database(self.world.database.superuser_dsn, name="test")


async def _trigger(db: Connection, table: str, verb: str) -> None:
    rows = await db.fetch(
        "SELECT tgname FROM pg_trigger WHERE tgrelid = $1::text::regclass AND NOT tgisinternal",
        f"release.{table}",
    )
    for row in rows:
        await db.execute(f"ALTER TABLE release.{table} {verb} TRIGGER {row['tgname']}")
    keys = "DISABLE" if verb == "DISABLE" else "ENABLE"
    await db.execute(
        f"SET session_replication_role = {'replica' if keys == 'DISABLE' else 'origin'}"
    )
