"""Declared measures: a named aggregate of one dataset that a question can ask for in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from chancery.kernel.errors import Rejected
from chancery.tabular.clauses import sql_text
from chancery.tabular.eligibility import AGGREGATES, ColumnEligibility, eligibility
from chancery.tabular.gate import gate
from chancery.tabular.plan import plan
from chancery.tabular.schema import Column, TableSchema, quote_identifier

Literal: TypeAlias = str | int | bool
"""A literal of a measure's condition; a decimal or a date is given as text."""


@dataclass(frozen=True, slots=True)
class Measure:
    """`aggregate` of `column` (None: COUNT of rows) where each `where` column is its literal."""

    name: str
    aggregate: str
    column: str | None = None
    description: str = ""
    synonyms: tuple[str, ...] = ()
    where: Mapping[str, Literal] = field(default_factory=dict[str, Literal])


@dataclass(frozen=True, slots=True)
class MeasureStatement:
    """The canonical SQL of a measure and the label that its value is stated under."""

    sql: str
    label: str


def measure_statement(table: TableSchema, measure: Measure) -> MeasureStatement:
    """Return the statement of `measure` over `table`, checked against the table's columns.

    Raises:
        Rejected: `invalid_measure`, naming the field; also when no statement can read it.
    """
    aggregate = measure.aggregate.upper()
    if aggregate not in AGGREGATES:
        raise _invalid(measure, "aggregate", f"be one of {', '.join(sorted(AGGREGATES))}")
    argument = "*" if aggregate == "COUNT" else None
    if measure.column is not None:
        argument = quote_identifier(_column(table, measure, measure.column, "column").name)
    if argument is None:
        raise _invalid(measure, "column", f"name the column that {aggregate} is of")
    sql = f"SELECT {aggregate}({argument}) FROM {quote_identifier(table.name)}"  # noqa: S608
    conditions = [_condition(table, measure, *each) for each in sorted(measure.where.items())]
    if conditions:
        sql = f"{sql} WHERE {' AND '.join(conditions)}"
    query = gate(sql)
    label = _label(measure, eligibility(query, [table]).columns[0])
    try:
        plan(query.canonical_sql, [table])
    except Rejected as error:
        # Whoever asks for it would be refused each time, and its publisher would never learn of it.
        what = "name columns that a statement can name; rename them in the file"
        raise _invalid(measure, "column", what) from error
    return MeasureStatement(query.canonical_sql, label)


def _label(measure: Measure, judged: ColumnEligibility) -> str:
    if judged.label is not None:
        return judged.label
    if judged.reason == "where":
        detail = "compare text, integer, decimal, date or boolean columns with plain literals"
        raise _invalid(measure, "where", detail)
    raise _invalid(measure, "column", f"be a column whose {measure.aggregate.upper()} is exact")


def _column(table: TableSchema, measure: Measure, name: str, where: str) -> Column:
    column = table.declared_column(name)
    if column is None:
        raise _invalid(measure, where, "name a column of the dataset")
    return column


def _condition(table: TableSchema, measure: Measure, name: str, literal: Literal) -> str:
    column = _column(table, measure, name, "where")
    return f"{quote_identifier(column.name)} = {_literal(column, literal)}"


def _literal(column: Column, literal: Literal) -> str:
    if isinstance(literal, bool):
        return "true" if literal else "false"
    if isinstance(literal, int):
        return str(literal)
    is_number = column.type == "decimal" and _is_number(literal)
    return _plain_number(literal) if is_number else sql_text(literal)


def _is_number(text: str) -> bool:
    whole, _, fraction = text.removeprefix("-").partition(".")
    return f"{whole}{fraction}".isascii() and f"{whole}{fraction}".isdigit()


def _plain_number(text: str) -> str:
    """Return a number without zeros before it, and zero without a sign: a label repeats it."""
    whole, point, fraction = text.removeprefix("-").partition(".")
    plain = f"{whole.lstrip('0') or '0'}{point}{fraction}"
    is_negative = text.startswith("-") and bool(plain.strip("0."))
    return f"-{plain}" if is_negative else plain


def _invalid(measure: Measure, where: str, what: str) -> Rejected:
    field_name = f"measures.{measure.name}.{where}"
    return Rejected(f"{field_name} must {what}", field=field_name, code="invalid_measure")
