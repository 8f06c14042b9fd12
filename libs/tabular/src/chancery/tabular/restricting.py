"""What of a pinned snapshot a query may hold: visible columns, allowed rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from chancery.tabular.filters import filter_text
from chancery.tabular.jobs import RowFilter, Uncut
from chancery.tabular.schema import TableSchema, visible_columns

Restricted: TypeAlias = Uncut
"""A snapshot with what policy takes away of it."""


def restricted_table(
    name: str,
    columns: Iterable[tuple[str, str]],
    parquet: bytes,
    *,
    hidden: Collection[str],
    row_filters: Sequence[tuple[str, Sequence[str | int | bool]]],
    declared: Iterable[str] = (),
) -> Restricted:
    """Return a snapshot as the table `name` with what policy takes away of it.

    `columns` are all columns of the snapshot with their DuckDB types. All filters apply. `declared`
    are the statements of the measures that were published with it.
    """
    there = tuple(columns)
    schema = TableSchema(name, visible_columns(there, hidden))
    filters = tuple(RowFilter(column, _texts(allowed)) for column, allowed in row_filters)
    is_whole = not filters and len(schema.columns) == len(there)
    return Restricted(schema, parquet, filters, is_whole, tuple(declared))


def _texts(values: Sequence[str | int | bool]) -> tuple[str, ...]:
    return tuple(filter_text(value) for value in values)
