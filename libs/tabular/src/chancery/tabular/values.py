"""Exact text forms of values: the canonical one that is hashed, the display one that people read.

Canonical forms: integers and decimals in plain digits at their scale, DOUBLE as the shortest text
that reads back the same (`NaN`, `Infinity`, `-Infinity` as tokens, no negative zero), `true` and
`false`, dates and timestamps in ISO 8601 (with a zone: in UTC, ending in Z). NULL is None, never a
text.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TypeAlias

from chancery.tabular.clauses import sql_text
from chancery.tabular.schema import Family, decimal_scale, family_of

_EDGES = frozenset({(1, 1, 1), (9999, 12, 31)})
Scalar: TypeAlias = None | bool | int | float | Decimal | str | date | datetime
"""A value as DuckDB's client hands it over."""

NULL_DISPLAY = "NULL"
NAN = "NaN"
INFINITY = "Infinity"
_TOKENS = {NAN: math.nan, INFINITY: math.inf, "-Infinity": -math.inf}


class Unrepresentable(ValueError):
    """A value has no canonical form for its column's type."""


def canonical(value: object, duckdb_type: str) -> str | None:
    """Return the canonical text of `value`, None for NULL.

    Raises:
        Unrepresentable: when `value` is not of the type, or the type is not a plain one.
    """
    if value is None:
        return None
    return _text(value, family_of(duckdb_type), duckdb_type)


def parse(text: str | None, duckdb_type: str) -> Scalar:
    """Return the value of a canonical text; the inverse of `canonical`.

    Raises:
        Unrepresentable: when `text` is not the canonical form of any value of the type.
    """
    if text is None:
        return None
    try:
        value = _value(text, family_of(duckdb_type))
    except (ValueError, ArithmeticError) as error:
        raise Unrepresentable(duckdb_type) from error
    if canonical(value, duckdb_type) != text:
        raise Unrepresentable(duckdb_type)
    return value


def is_edge(value: object) -> bool:
    """Return whether DuckDB's client may mean an infinite date or moment by `value`."""
    return isinstance(value, date) and (value.year, value.month, value.day) in _EDGES


def display(text: str | None, duckdb_type: str) -> str:
    """Return a canonical text as people read it: digits grouped by commas, in every locale.

    A text stands in quotation marks, as labels write one: bare, `NULL` would be no value, and
    `[2] “The CEO resigned.”` a statement of the answer.
    """
    if text is not None and family_of(duckdb_type) == "text":
        return sql_text(text)
    return display_bare(text, duckdb_type)


def display_bare(text: str | None, duckdb_type: str) -> str:
    """Return what `display` did in builds that quoted no texts."""
    if text is None:
        return NULL_DISPLAY
    if family_of(duckdb_type) in {"integer", "decimal", "double"} and text not in _TOKENS:
        return _grouped(text)
    return text


def _text(value: object, family: Family, duckdb_type: str) -> str:
    match value:
        case bool() if family == "boolean":
            return "true" if value else "false"
        case int() if family == "integer" and not isinstance(value, bool):
            return str(value)
        case Decimal() if family == "decimal":
            return _decimal_text(value, duckdb_type)
        case float() if family == "double":
            return _double_text(value)
        case datetime() if family in {"timestamp", "timestamptz"}:
            return _moment_text(value, zoned=family == "timestamptz")
        case date() if family == "date" and not isinstance(value, datetime):
            return value.isoformat()
        case str() if family == "text":
            return value
        case _:
            raise Unrepresentable(duckdb_type)


def _decimal_text(value: Decimal, duckdb_type: str) -> str:
    if not value.is_finite():
        raise Unrepresentable(duckdb_type)
    text = f"{value:.{decimal_scale(duckdb_type)}f}"
    if Decimal(text) != value:
        raise Unrepresentable(duckdb_type)
    return text.removeprefix("-") if value == 0 else text


def _double_text(value: float) -> str:
    if math.isnan(value):
        return NAN
    if math.isinf(value):
        return INFINITY if value > 0 else "-" + INFINITY
    return repr(value + 0.0)  # -0.0 becomes 0.0: they are equal, so which one MIN finds is chance


def _moment_text(value: datetime, *, zoned: bool) -> str:
    if zoned != (value.tzinfo is not None):
        raise Unrepresentable
    if not zoned:
        return value.isoformat()
    return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _value(text: str, family: Family) -> Scalar:
    match family:
        case "integer":
            return int(text)
        case "decimal":
            return Decimal(text)
        case "double":
            return _TOKENS[text] if text in _TOKENS else float(text)
        case "boolean":
            return {"true": True, "false": False}.get(text)
        case "date":
            return date.fromisoformat(text)
        case "timestamp" | "timestamptz":
            return datetime.fromisoformat(text)
        case "text":
            return text
        case "other":
            raise Unrepresentable


def _grouped(text: str) -> str:
    sign = "-" if text.startswith("-") else ""
    whole, point, fraction = text.removeprefix("-").partition(".")
    if not whole.isdigit():
        return text
    return f"{sign}{int(whole):,}{point}{fraction}"
