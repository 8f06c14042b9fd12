"""SQL is found where it belongs, keeps to its own schema and lists its columns."""

from __future__ import annotations

import pytest

from tests.tidy import queries
from tests.tidy.tree import ROOT, Check, Finding, findings, production, statements

SCHEMAS = frozenset(path.name for path in (ROOT / "services").iterdir() if path.is_dir())
WRITES_SQL = "libs/tabular/"
"""The SQL gate: text of DuckDB is what it is about."""


def own_schema(text: str) -> list[Finding]:
    """Check a statement as if it stood in the service `release`."""
    return list(queries.foreign_schemas(text, "release", SCHEMAS))


PLANTED: tuple[tuple[Check, str, str], ...] = (
    (queries.statements_in_code, 'x = "SELECT a FROM b"\n', 'x = "SELECTED a"\n'),
    (queries.statements_in_code, 'x = "\\n  INSERT INTO a VALUES (1)"\n', 'x = "Insert into a"\n'),
    (queries.statements_in_code, 'x = f"DELETE FROM {y}"\n', 'x = "DELETE"\n'),
    (queries.statements_in_code, 'x = "UPDATE a.b SET c = 1"\n', 'x = "UPDATE"\n'),
    (queries.statements_in_code, 'x = "-- Why.\\nWITH a AS (VALUES (1))"\n', '"""SELECT a."""\n'),
    (own_schema, "SELECT a FROM ingestion.b", "SELECT a FROM release.b"),
    (own_schema, 'SELECT a FROM "retrieval"."b"', "SELECT 'retrieval.b' AS a"),
    (own_schema, "SELECT x FROM release.a -- fine\nJOIN execution.b ON true", "-- gateway.a\n"),
    (
        own_schema,
        "CREATE FUNCTION release.f() RETURNS void AS $$ BEGIN PERFORM indexing.g(); END $$",
        "CREATE FUNCTION release.f() RETURNS void AS $$ BEGIN PERFORM release.g(); END $$",
    ),
    (queries.unqualified_tables, "SELECT a FROM b", "SELECT a FROM release.b"),
    (
        queries.unqualified_tables,
        "INSERT INTO b (a) VALUES ($1)",
        "WITH b AS (SELECT 1 AS a) SELECT a FROM b",
    ),
    (
        queries.unqualified_tables,
        "DELETE FROM b WHERE a = $1",
        "SELECT a FROM unnest($1::text[]) a",
    ),
    (
        queries.unqualified_tables,
        "SELECT b.a FROM b AS b FOR UPDATE OF b",
        "SELECT b.a FROM release.a AS b FOR UPDATE OF b",
    ),
    (queries.stars, "SELECT * FROM release.a", "SELECT count(*) FROM release.a"),
    (queries.stars, "SELECT b.* FROM release.a b", "SELECT 2 * 3 AS six"),
    (queries.stars, "DELETE FROM release.a RETURNING *", "DELETE FROM release.a RETURNING b"),
    (queries.stars, "SELECT 1; SELECT EXISTS (SELECT * FROM release.a)", "SELECT 1; SELECT 2"),
)


@pytest.mark.parametrize(("check", "bad", "good"), PLANTED)
def test_check_finds_the_planted_statement_and_only_that(check: Check, bad: str, good: str) -> None:
    found = list(check(bad))
    spared = list(check(good))

    assert len(found) == 1
    assert spared == []


def test_code_spells_no_sql() -> None:
    others = [source for source in production() if not source.path.startswith(WRITES_SQL)]

    found = findings(others, queries.statements_in_code)

    assert found == []


def test_sql_files_stand_in_sql_folders() -> None:
    found = [source.path for source in statements() if "/sql/" not in source.path]

    assert found == []


@pytest.mark.req("EV-1")
def test_a_service_names_its_own_schema_alone() -> None:
    found = [
        f"{source.path}:{item.line}: {item.message}"
        for source in statements()
        if source.path.startswith("services/")
        for item in queries.foreign_schemas(source.text, source.path.split("/")[1], SCHEMAS)
    ]

    assert len(SCHEMAS) == 6
    assert found == []


def test_statements_say_which_schema_they_mean() -> None:
    """Migrations, and tables that every schema has, are looked up in the service's own schema."""
    services = [source for source in statements() if source.path.startswith("services/")]
    asked = [source for source in services if "/migrations/" not in source.path]

    found = findings(asked, queries.unqualified_tables)

    assert found == []


def test_statements_list_their_columns() -> None:
    found = findings(statements(), queries.stars)

    assert found == []
