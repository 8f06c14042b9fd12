"""What is said of a database that nobody prepared, and that it then can be used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from chancery.store.pool import connect
from chancery.store.roles import runtime_role
from chancery.testkit.postgres import running_postgres
from chancery.testkit.servers import ServerSettings

pytestmark = pytest.mark.integration

PASSWORD = "onlyHere4711"


@pytest.fixture
def fresh(tmp_path: Path) -> Generator[str]:
    """Yield the superuser's DSN of a cluster without any role of ours."""
    with running_postgres(ServerSettings(postgres_dsn=None, containers=False), tmp_path) as dsn:
        yield dsn


def command(arguments: list[str], dsn: str, password: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command on a database."""
    settings = {"CHANCERY_POSTGRES_DSN": dsn}
    settings |= {"CHANCERY_ROLE_PASSWORD": password} if password else {}
    return subprocess.run(
        [sys.executable, "-m", "chancery.client.command", *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        env={**os.environ, **settings},
    )


async def test_each_step_names_the_one_before_it_and_the_variable_it_needs(
    fresh: str, tmp_path: Path
) -> None:
    folder = str(tmp_path / "backups")
    unmigrated = command(["backup", folder], fresh)
    without = command(["migrate"], fresh)
    migrated = command(["migrate"], fresh, PASSWORD)
    again = command(["migrate"], fresh)
    saved = command(["backup", folder], fresh)
    host = fresh.rpartition("@")[2]
    release = f"postgresql://{runtime_role('release')}:{PASSWORD}@{host}"
    not_permitted = command(["backup", folder + "-of-release"], release)
    no_dsn = command(["migrate"], "localhost")

    assert (unmigrated.returncode, unmigrated.stderr.count("\n")) == (1, 1)
    assert "run chancery migrate first" in unmigrated.stderr
    assert (without.returncode, without.stderr.count("\n")) == (1, 1)
    assert "set CHANCERY_ROLE_PASSWORD" in without.stderr
    assert (migrated.returncode, again.returncode, saved.returncode) == (0, 0, 0)
    assert PASSWORD not in migrated.stdout + migrated.stderr
    for refused in (not_permitted, no_dsn):
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        assert "CHANCERY_POSTGRES_DSN" in refused.stderr
    async with connect(release, name="test"):
        pass


async def test_a_restore_into_a_database_without_tables_says_what_comes_first(
    fresh: str, database_backup: Path
) -> None:
    refused = command(["restore", str(database_backup)], fresh)

    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "run chancery migrate first" in refused.stderr


@pytest.fixture
def database_backup(tmp_path: Path) -> Path:
    """Return a folder with a backup of nothing."""
    folder = tmp_path / "kept"
    (folder / "first").mkdir(parents=True)
    manifest = '{"version": 1, "migrations": ["release/1"], "tables": []}'
    (folder / "first" / "manifest.json").write_text(manifest, encoding="utf-8")
    return folder
