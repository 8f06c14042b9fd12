"""A column or dataset may bear any name: each is read as a name by both that judge a statement."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from sqlglot.dialects.duckdb import DuckDB

from chancery.kernel.errors import Rejected
from chancery.tabular import measures
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.parsing import SESSION_VALUES
from chancery.tabular.plan import Plan, plan
from chancery.tabular.refusals import refusal
from chancery.tabular.schema import TableSchema, column_of

ODD = [
    "ÄMTER", "Σ", "İstanbul", "Straße", "a;b", "a--b", "$1", ":a", "@a", "#1", "?", "*", "a.b",
    'a"b', "it's", "e'x'", "1st", "/*x*/", "`a`", "[a]", "{a}", "😀", "a\\b", "rowid", "Net amount",
]  # fmt: skip


MORE = {"connect_by_root", "next", "case", "if", "map", "any", "columns", "row", "localtime"}
"""Words that sqlglot's parser reads in a way of its own, whatever its tokens are."""


def words() -> list[str]:
    """Return every word that DuckDB or sqlglot knows, and what both call without parentheses."""
    keywords = duckdb.connect().execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    of_sqlglot = (each.lower() for each in DuckDB.Tokenizer.KEYWORDS)
    plain = {each for each in of_sqlglot if each.replace("_", "").isalnum()}
    return sorted({str(each) for (each,) in keywords} | plain | MORE | SESSION_VALUES)


def table(column: str, name: str = "orders") -> TableSchema:
    return TableSchema(name, (column_of("id", "BIGINT"), column_of(column, "BIGINT")))


def unanswerable(names: list[str]) -> Iterator[str]:
    """Yield the names of columns over which a measure is declared and no statement answers."""
    for name in names:
        over = table(name)
        measure = Measure("m", "sum", name, where={name: 1})
        try:
            planned = plan(measure_statement(over, measure).sql, [over])
        except Rejected:
            yield name
            continue
        if planned.reads != {"orders": (name,)}:
            yield name


@pytest.mark.req("CR-21")
def test_a_measure_over_a_column_of_any_reserved_word_or_session_value_answers() -> None:
    found = words()

    assert set(found) > SESSION_VALUES
    assert list(unanswerable(found)) == []


@pytest.mark.req("CR-21")
def test_a_measure_over_a_column_of_any_spelling_answers() -> None:
    assert list(unanswerable(ODD)) == []


@pytest.mark.req("CR-21")
def test_a_dataset_of_any_reserved_word_or_session_value_answers() -> None:
    def reads(name: str) -> object:
        over = table("amount", name)
        return plan(measure_statement(over, Measure("m", "sum", "amount")).sql, [over]).reads

    assert [name for name in words() if reads(name) != {name: ("amount",)}] == []


def test_a_measure_that_no_statement_can_read_is_refused_by_its_field(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreadable(sql: str, tables: object) -> Plan:
        raise refusal("sql_lineage_unresolved")

    assert measure_statement(table("amount"), Measure("m", "sum", "amount"))
    monkeypatch.setattr(measures, "plan", unreadable)
    with pytest.raises(Rejected) as refused:
        measure_statement(table("amount"), Measure("m", "sum", "amount"))

    assert (refused.value.code, refused.value.field) == ("invalid_measure", "measures.m.column")


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("name", sorted(SESSION_VALUES))
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {0}, (SELECT {0}) FROM t",
        "SELECT {0}, (SELECT {0} FROM o) FROM t",
        "SELECT id, {0} FROM t WHERE EXISTS (SELECT 1 FROM o WHERE {0} = 1)",
        "SELECT max({0}) FROM t LIMIT (CASE WHEN {0} IS NULL THEN 1 ELSE 2 END)",
        "SELECT {0} FROM t OFFSET length({0})",
        "SELECT o.id, {0} FROM o SEMI JOIN t ON o.id = t.id AND t.{0} = 1",
    ],
)
def test_where_the_engine_calls_a_session_value_no_column_stands_for_it(
    name: str, sql: str
) -> None:
    tables = [TableSchema("o", (column_of("id", "BIGINT"),)), table(name, "t")]

    assert plan(f"SELECT {name} FROM t WHERE {name} = 1 ORDER BY {name}", tables).reads
    with pytest.raises(Rejected) as refused:
        plan(sql.format(name), tables)

    assert refused.value.code in {"sql_unknown_column", "sql_lineage_unresolved"}
