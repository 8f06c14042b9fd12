"""docs/sql.md is true: every accepted example passes, every refused one has its code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import pytest

from chancery.kernel.canonical import Json
from chancery.kernel.errors import Rejected
from chancery.tabular.clauses import Reason
from chancery.tabular.gate import gate
from chancery.tabular.grammar import (
    FEATURES,
    FUNCTIONS,
    GRAMMAR,
    TAGS,
    TYPE_NAMES,
    TYPES_OF,
    VALUES,
)
from chancery.tabular.plan import plan
from chancery.tabular.refusals import TEXTS, feature_code
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.tree import as_items, as_object
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
    "sql_table_not_ready",
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
        assert reason in {"unknown_column", "lineage", "label_text"}, "only these have no example"
        return

    judged = plan(sql, SCHEMAS).eligibility

    assert reason in {judged.reason, *(each.reason for each in judged.columns)}


def filled(part: Mapping[str, Json], position: str) -> Iterator[tuple[str, str, Json]]:
    """Yield each allowed kind that stands in a tree, with its fields and what they hold.

    What they hold is a value for a field of few values, else whether they hold anything.
    """
    tag_field = TAGS.get(position)
    kind = "" if tag_field is None else str(part[tag_field])
    narrower = part.get("type") if kind in TYPES_OF else None
    place = _place(position, kind)
    yield place, "", narrower
    for name, value in part.items():
        rule, _, inner = GRAMMAR[position][kind][name].partition(" ")
        if rule in {"one", "maybe", "many"}:
            inside = as_items(value) if rule == "many" else [value] if value is not None else []
            for each in inside:
                yield from filled(as_object(each), inner)
        yield place, name, value if rule == "is" else bool(value)


def allowed(position: str) -> Iterator[tuple[str, str, Json]]:
    """Yield what `filled` has to find at a position, so that all that is allowed has an example."""
    for kind, shape in GRAMMAR[position].items():
        place = _place(position, kind)
        yield from ((place, "", each) for each in sorted(TYPES_OF.get(kind, ())))
        if kind not in TYPES_OF:
            yield place, "", None
        for name, rule in shape.items():
            first, _, values = rule.partition(" ")
            if first == "is":
                yield from ((place, name, each) for each in VALUES[values])
            elif first in {"maybe", "many"} or (first == "plain" and name in FILLED):
                yield place, name, True


def _place(position: str, kind: str) -> str:
    """Return where a kind stands; an item of the select list is an expression or a star."""
    return f"{'expression' if position == 'item' else position} {kind}"


FILLED = ("using_columns", "exclude_list", "relation_name", "group_sets", "column_names")
"""The plain fields that stand for a feature when they hold something."""


@pytest.mark.req("CR-23")
def test_everything_that_the_grammar_allows_has_an_accepted_example() -> None:
    """Derived from the allow-list: what it allows next fails here until the page shows it."""
    wanted = {each for position in GRAMMAR for each in allowed(position)}
    shown = {each for _, sql in ACCEPTED for each in filled(gate(sql).node, "node")}

    assert len(wanted) > 120
    assert sorted(map(str, wanted - shown)) == []


CASTS = {
    **dict.fromkeys(("boolean", "bool"), "BOOLEAN"),
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    **dict.fromkeys(("integer", "int", "int4"), "INTEGER"),
    **dict.fromkeys(("int8", "bigint"), "BIGINT"),
    "hugeint": "HUGEINT",
    **dict.fromkeys(("decimal", "numeric"), "DECIMAL(18,3)"),
    **dict.fromkeys(("decimal(9,2)", "numeric(9,2)"), "DECIMAL(9,2)"),
    "double": "DOUBLE",
    **dict.fromkeys(("float", "real"), "FLOAT"),
    **dict.fromkeys(("varchar", "text", "string"), "VARCHAR"),
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    **dict.fromkeys(("timestamptz", "timestamp with time zone"), "TIMESTAMP WITH TIME ZONE"),
    "interval": "INTERVAL",
}


def test_every_type_of_a_cast_is_tried() -> None:
    assert {name.partition("(")[0] for name in CASTS} == TYPE_NAMES


@pytest.mark.req("CR-23")
@pytest.mark.parametrize("name", CASTS)
def test_a_cast_gives_its_type(name: str) -> None:
    planned = plan(f"SELECT CAST(NULL AS {name}), TRY_CAST(region AS {name}) FROM orders", SCHEMAS)

    with open_twin() as twin:
        create_tables(twin, planned.tables)
        types = [each for _, each in twin.describe(planned.query.canonical_sql)]

    assert types == [CASTS[name]] * 2


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
