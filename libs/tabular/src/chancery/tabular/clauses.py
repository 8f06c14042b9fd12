"""The clauses around an aggregate: which forbid it, and which a label can state in full."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

from chancery.kernel.canonical import Json
from chancery.tabular.schema import Column, Family
from chancery.tabular.tree import as_items, as_object, as_text

CONDITIONS_MAX = 8
LITERAL_CHARACTERS_MAX = 64
EXACT_CHARACTERS_MAX = 38
"""A longer numeric literal is a DOUBLE to DuckDB, so a comparison with it is not exact."""

Reason: TypeAlias = Literal[
    "join", "subquery", "cte", "window", "set_operation", "no_table", "constant", "expression",
    "function", "unknown_column", "qualified_star", "changed_star", "where", "group_by",
    "grouping_sets", "having", "distinct", "filter", "limit", "offset", "ordered", "double",
    "aggregate_type", "result_type", "lineage", "label_text",
]  # fmt: skip
"""Why a result column is no native fact; a closed vocabulary."""

ColumnOf: TypeAlias = Callable[[Mapping[str, Json]], Column | None]

_PLAIN = re.compile(r"true|false|-?[0-9]+(?:\.[0-9]+)?")
_KINDS: Mapping[Family, frozenset[str]] = {
    "text": frozenset({"STRING"}),
    "date": frozenset({"STRING"}),
    "boolean": frozenset({"BOOLEAN"}),
    "integer": frozenset({"INTEGER"}),
    "decimal": frozenset({"INTEGER", "NUMERIC"}),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """`column = literal`, the literal as SQL writes it."""

    column: str
    literal: str


def aggregate_clause(node: Mapping[str, Json]) -> Reason | None:
    """Return the clause that no label states and that changes what an aggregate means."""
    grouped = node["group_sets"] or node["group_expressions"]
    if grouped or node["aggregate_handling"] != "STANDARD_HANDLING":
        return "group_by"
    if node["having"]:
        return "having"
    for modifier in map(as_object, as_items(node["modifiers"])):
        if modifier["type"] == "DISTINCT_MODIFIER":
            return "distinct"
        if modifier.get("offset"):
            return "offset"
        if modifier.get("limit"):
            return "limit"
    return None


def stated_conditions(where: Json, column_of: ColumnOf) -> tuple[Condition, ...] | None:
    """Return a WHERE as a conjunction of `column = literal`, or None when it is anything else."""
    if where is None:
        return ()
    root = as_object(where)
    parts = as_items(root["children"]) if root["type"] == "CONJUNCTION_AND" else [root]
    if len(parts) > CONDITIONS_MAX:
        return None
    found: list[Condition] = []
    for part in parts:
        condition = _condition(as_object(part), column_of)
        if condition is None:
            return None
        found.append(condition)
    return tuple(found)


def sql_text(text: str) -> str:
    """Return `text` as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def text_of(literal: str) -> str:
    """Return the text that an SQL string literal means; the inverse of `sql_text`."""
    return literal[1:-1].replace("''", "'")


def _condition(part: Mapping[str, Json], column_of: ColumnOf) -> Condition | None:
    if part["type"] != "COMPARE_EQUAL":
        return None
    left, right = as_object(part["left"]), as_object(part["right"])
    column = column_of(left)
    if column is None or right["class"] != "CONSTANT":
        return None
    literal = as_object(right["literal"])
    kind, text = as_text(literal["kind"]), as_text(literal["text"])
    if kind not in _KINDS.get(column.type, frozenset()):
        return None
    if column.type == "date" and not _is_day(text):
        return None
    stated = _stated(kind, text)
    return None if stated is None else Condition(column.name, stated)


def _is_day(text: str) -> bool:
    """Return whether a text is the one form of a date: DuckDB reads others, and drops a time."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _stated(kind: str, text: str) -> str | None:
    if kind == "STRING":
        readable = len(text) <= LITERAL_CHARACTERS_MAX and (text.isprintable() or not text)
        return sql_text(text) if readable else None
    exact = len(text) <= EXACT_CHARACTERS_MAX and _PLAIN.fullmatch(text)
    return text if exact else None
