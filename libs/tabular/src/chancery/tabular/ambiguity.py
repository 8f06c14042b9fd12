"""Names that several joined tables have: no statement binds with one that says no table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from chancery.kernel.canonical import Json
from chancery.tabular.schema import TableSchema, ascii_fold
from chancery.tabular.tree import as_items, as_object, as_text, objects_within, own_objects

_ONE_SIDED = frozenset({"SEMI", "ANTI"})
"""Joins whose right side has no names."""


def has_ambiguous_name(node: Mapping[str, Json], tables: Sequence[TableSchema]) -> bool:
    """Return whether a SELECT over tables alone names a column that two of them have."""
    selects = (each for each in objects_within(node) if each.get("type") == "SELECT_NODE")
    return any(_names_ambiguously(each, tables) for each in selects)


def _names_ambiguously(select: Mapping[str, Json], tables: Sequence[TableSchema]) -> bool:
    columns = {
        ascii_fold(table.name): {ascii_fold(each.name) for each in table.columns}
        for table in tables
    }
    source = as_object(select["from_table"])
    had = Counter(name for table in _joined(source) for name in columns.get(table, ()))
    joins = (each for each in objects_within(source) if each.get("type") == "JOIN")
    merged = {
        ascii_fold(as_text(name)) for each in joins for name in as_items(each["using_columns"])
    }
    return any(had[name] > 1 and name not in merged for name in _bare_names(select))


def _joined(source: Mapping[str, Json]) -> Iterator[str]:
    """Yield the tables whose names a SELECT sees; what stands in a nested query it does not."""
    if source["type"] == "BASE_TABLE":
        yield ascii_fold(as_text(source["table_name"]))
    elif source["type"] == "JOIN":
        yield from _joined(as_object(source["left"]))
        if source["join_type"] not in _ONE_SIDED:
            yield from _joined(as_object(source["right"]))


def _bare_names(select: Mapping[str, Json]) -> Iterator[str]:
    for part in own_objects(select):
        if part.get("class") == "COLUMN_REF" and len(as_items(part["column_names"])) == 1:
            yield ascii_fold(as_text(as_items(part["column_names"])[0]))
