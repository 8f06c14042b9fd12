"""A locked database reaches no file and no setting, and its failures carry codes only."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.twin import check_reads, create_tables, open_twin

ATTEMPTS = [
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{file}')",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "ATTACH '{folder}/other.db'",
]
SETTINGS = [
    "SET enable_external_access=true",
    "SET memory_limit='8GB'",
    "SET threads=4",
    "RESET TimeZone",
    "SET lock_configuration=false",
    "INSTALL httpfs",
    "LOAD httpfs",
]


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_locked_database_reaches_no_file(attempt: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n", encoding="utf-8")
    sql = attempt.format(file=file, folder=tmp_path)

    with Engine() as open_engine, Engine() as locked:
        locked.lock()
        with pytest.raises(EngineFailure) as refused:
            locked.fetch(sql, rows_max=1)
        written = sorted(tmp_path.iterdir())
        open_engine.fetch(sql, rows_max=1)

    assert refused.value.code == "sql_failed"
    assert written == [file]


@pytest.mark.parametrize("attempt", SETTINGS)
def test_a_locked_database_keeps_its_settings(attempt: str) -> None:
    with Engine() as locked:
        locked.run("SET threads=2")
        locked.lock()
        with pytest.raises(EngineFailure):
            locked.run(attempt)


def test_a_failure_never_repeats_data() -> None:
    with Engine() as engine, pytest.raises(EngineFailure) as failed:
        engine.fetch("SELECT CAST('secret' AS INTEGER)", rows_max=1)

    assert failed.value.args == ("sql_failed",)


TABLE = TableSchema("q3-orders", (column_of("a", "BIGINT"), column_of('odd "b', "VARCHAR")))


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(
    ("reads", "flat", "agrees"),
    [
        ({"q3-orders": ['odd "b', "A"]}, True, True),
        ({"q3-orders": ["a"]}, True, False),
        ({"q3-orders": ["a"]}, False, False),
        ({"q3-orders": ["a", 'odd "b', "c"]}, True, False),
        ({"q3-orders": ["a", 'odd "b', "c"]}, False, True),
        ({"q3-orders": ["a", 'odd "b'], "other": []}, False, False),
        ({}, False, False),
    ],
)
def test_the_binder_has_the_last_word_on_what_is_read(
    reads: dict[str, list[str]], flat: bool, agrees: bool
) -> None:
    select = 'SELECT sum(a) FROM "q3-orders" WHERE ("odd ""b" = \'x\')'
    with open_twin() as twin:
        create_tables(twin, [TABLE])

        assert accepted(twin, select, reads, flat=flat) == agrees


def accepted(twin: Engine, select: str, reads: dict[str, list[str]], *, flat: bool) -> bool:
    try:
        check_reads(twin, select, reads, flat=flat)
    except EngineFailure as failure:
        return failure.code != "sql_lineage_disagrees"
    return True
