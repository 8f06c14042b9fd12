"""docs/sql.md is true: every accepted example passes, every refused one has its code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.clauses import Reason
from chancery.tabular.grammar import FEATURES, FUNCTIONS, TYPE_NAMES
from chancery.tabular.plan import plan
from chancery.tabular.refusals import TEXTS, feature_code
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.twin import check_reads, create_tables, open_twin

PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text()
SCHEMAS = (
    TableSchema(
        "orders",
        (
            column_of("id", "BIGINT"),
            column_of("amount", "DECIMAL(18,2)"),
            column_of("region", "VARCHAR"),
            column_of("day", "DATE"),
            column_of("weight", "DOUBLE"),
            column_of("paid", "BOOLEAN"),
            column_of("tags", "VARCHAR[]"),
        ),
    ),
    TableSchema("customers", (column_of("id", "BIGINT"), column_of("name", "VARCHAR"))),
    TableSchema("Twin", (column_of("id", "BIGINT"),)),
    TableSchema("TWIN", (column_of("id", "BIGINT"),)),
)
OTHER_CODES = {
    "sql_unknown_table",
    "sql_ambiguous_table",
    "sql_abandoned",
    "sql_busy",
    "sql_too_many_queries",
    "sql_input_too_large",
    "sql_worker_unavailable",
}


def rows(heading: str, width: int) -> list[tuple[str, ...]]:
    """Return the cells of the tables of `width` columns below a heading, without backticks."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    split = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    cells = [tuple(cell.strip().replace("\\|", "|").strip("`") for cell in row) for row in split]
    return [row for row in cells if len(row) == width and row[0] not in {"feature", "code"}]


ACCEPTED = rows("Accepted", 2)
REFUSED = rows("Refused", 3)
REASONS = [row for row in rows("What an answer may state", 2) if row[0] != "reason"]


@pytest.mark.req("CR-23")
@pytest.mark.parametrize(("feature", "sql"), ACCEPTED)
def test_an_accepted_feature_passes_gate_lineage_and_binder(feature: str, sql: str) -> None:
    planned = plan(sql, SCHEMAS)

    with open_twin() as twin:
        create_tables(twin, planned.tables)
        check_reads(twin, planned.query.canonical_sql, planned.reads, flat=planned.flat)
        assert twin.describe(planned.query.canonical_sql)


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(("code", "what", "sql"), REFUSED)
def test_a_refused_feature_has_its_documented_code(code: str, what: str, sql: str) -> None:
    with pytest.raises(Rejected) as refused:
        plan(sql, SCHEMAS)

    assert refused.value.code == code


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(("reason", "sql"), REASONS)
def test_an_ineligible_column_says_its_documented_reason(reason: str, sql: str) -> None:
    if not sql.startswith(("SELECT", "WITH")):
        assert reason in {"unknown_column", "lineage"}, "only these have no example"
        return

    judged = plan(sql, SCHEMAS).eligibility

    assert reason in {judged.reason, *(each.reason for each in judged.columns)}


def test_every_code_is_documented_once() -> None:
    codes = [row[0] for row in (*REFUSED, *rows("Refused", 2))]

    features = {feature_code(each) for each in {*FEATURES.values(), "unknown"}}
    assert sorted(codes) == sorted({*TEXTS, *features, *OTHER_CODES})


def test_every_reason_function_and_type_is_documented() -> None:
    accepted = PAGE.partition("\n## Accepted\n")[2].partition("\n## ")[0]
    functions, operators = (
        accepted.partition("**Functions.**")[2].split("`")[index].split() for index in (1, 3)
    )
    types = accepted.partition("**Types of a cast.**")[2].split("`")

    assert {row[0] for row in REASONS} == set(get_args(Reason))
    assert {*functions, *operators} == FUNCTIONS
    assert {*types[1].split(), types[3]} == TYPE_NAMES
