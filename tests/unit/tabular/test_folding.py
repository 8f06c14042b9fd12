"""A name in a statement means the column that DuckDB means by it: it folds ASCII letters alone."""

from __future__ import annotations

import sys

import duckdb
import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.plan import plan
from chancery.tabular.schema import (
    TableSchema,
    ascii_fold,
    column_of,
    quote_identifier,
    visible_columns,
)

GEO = TableSchema("geo", (column_of("amount", "BIGINT"), column_of("größe", "VARCHAR")))


def cased_letters() -> list[tuple[str, str]]:
    letters = map(chr, range(sys.maxunicode + 1))
    return [(low, each) for each in letters if (low := each.lower()) != each]


@pytest.mark.req("CR-21")
def test_duckdb_folds_the_letters_of_ascii_alone() -> None:
    letters = cased_letters()
    stored = ", ".join(f"{quote_identifier(low)} INTEGER" for low in dict(letters))
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t ({stored})")
    named = [each for _, each in letters]

    found = [each for each in named if _binds(connection, each)]

    assert found == [each for each in named if ascii_fold(each) != each]
    assert len(found) == 26
    assert len(named) > 1000


def _binds(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    try:
        connection.execute(f"EXPLAIN SELECT {quote_identifier(name)} FROM t")
    except duckdb.BinderException:
        return False
    return True


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(
    ("sql", "labels"),
    [
        ("SELECT 'klein' AS GRÖßE, sum(amount), min(größe) FROM geo WHERE GRÖßE = 'klein'", []),
        ("SELECT 'klein' AS GRÖßE, GRÖßE FROM geo", []),
        ("SELECT amount AS GRÖßE, GRÖßE FROM geo", ["geo.amount"]),
        ("SELECT GEO.größe FROM geo AS GEÖ, geo", []),
        (
            "SELECT 'klein' AS gro, SUM(Amount), min(Größe) FROM GEO WHERE GRößE = 'klein'",
            [
                "SUM(geo.amount) WHERE geo.größe = 'klein'",
                "MIN(geo.größe) WHERE geo.größe = 'klein'",
            ],
        ),
        ("SELECT Größe FROM geo", ["geo.größe"]),
    ],
)
def test_an_alias_that_only_a_wider_fold_takes_for_a_column_gives_no_label(
    sql: str, labels: list[str]
) -> None:
    judged = plan(sql, [GEO]).eligibility

    assert [each.label for each in judged.columns if each.eligible] == labels


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("sql", ["SELECT GRÖßE FROM geo", "SELECT geo.GRÖßE FROM geo"])
def test_a_column_is_not_found_by_a_name_that_duckdb_does_not_find_it_by(sql: str) -> None:
    with pytest.raises(Rejected) as refused:
        plan(sql, [GEO])

    assert refused.value.code == "sql_unknown_column"


def test_a_policy_that_names_a_column_in_other_letters_hides_it() -> None:
    columns = [("amount", "BIGINT"), ("größe", "VARCHAR")]

    assert [each.name for each in visible_columns(columns, ["GRÖßE"])] == ["amount"]
    assert [each.name for each in visible_columns(columns, ["groesse"])] == ["amount", "größe"]
