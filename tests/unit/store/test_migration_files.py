"""Migration files: numbered from one, without gaps, named after what they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.store.migrations import Migration, MigrationDrift, discover, read_migrations
from chancery.store.roles import SERVICES


def _write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text(f"-- {name}\n", encoding="utf-8")
    return folder


def test_files_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = _write(tmp_path, "0002_more.sql", "0001_tables.sql", "README.md")

    found = read_migrations("release", folder)

    assert [migration.label for migration in found] == ["release/0001_tables", "release/0002_more"]


@pytest.mark.parametrize(
    "names",
    [
        ("0002_more.sql",),
        ("0001_tables.sql", "0003_more.sql"),
        ("0001_tables.sql", "0001_twin.sql"),
        ("1_tables.sql",),
        ("0001-tables.sql",),
        ("0000_tables.sql",),
    ],
)
def test_a_gap_a_twin_or_a_wrong_name_is_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(MigrationDrift):
        read_migrations("release", _write(tmp_path, *names))


def test_line_ends_of_a_checkout_do_not_change_the_hash(tmp_path: Path) -> None:
    (tmp_path / "0001_tables.sql").write_bytes(b"SELECT 1;\r\nSELECT 2;\r\n")

    (found,) = read_migrations("release", tmp_path)

    assert found.sha256 == Migration("release", 1, "tables", "SELECT 1;\nSELECT 2;\n").sha256


@pytest.mark.req("EV-1")
def test_the_installed_services_bring_well_formed_migrations() -> None:
    found = discover()

    assert {migration.service for migration in found} <= set(SERVICES)
