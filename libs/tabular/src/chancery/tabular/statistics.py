"""What the authorised rows of a snapshot hold per visible column, in exact canonical texts.

Computed over the file itself, a column at a time, so that a wide table takes no more memory than a
narrow one. Counting distinct values takes longest: those of later columns are left out when the
time is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.nursery.frames import Incoming
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.loading import FROM_SNAPSHOT, LoadedTable, table_file
from chancery.tabular.schema import Column, quote_identifier
from chancery.tabular.tree import as_integer, as_items, as_object, as_text
from chancery.tabular.values import Unrepresentable, canonical

VALUE_CHARACTERS_MAX = 200
"""A least or greatest text that is longer is not told."""

_COLUMNS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """One column: how many values and NULLs, the least and greatest value, how many different.

    `minimum` and `maximum` are None without values, for texts that are too long and for types that
    no preview carries; `distinct` is None when it was not counted.
    """

    name: str
    count: int
    nulls: int
    minimum: str | None
    maximum: str | None
    distinct: int | None


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """The authorised rows of a table, and each of its visible columns in order."""

    rows: int
    columns: tuple[ColumnStatistics, ...]


def statistics_of(engine: Engine, table: LoadedTable, incoming: Incoming) -> TableStatistics:
    """Return the statistics of the table in the next frame.

    Raises:
        EngineFailure: `dataset_unreadable`, or that time or memory ran out before the first pass.
    """
    with table_file(engine, table, incoming):
        rows = _row(engine, "count(*)")[0]
        assert isinstance(rows, int), "a count"
        columns = table.schema.columns
        bounds: list[object] = []
        for first in range(0, len(columns), _COLUMNS_AT_ONCE):
            some = columns[first : first + _COLUMNS_AT_ONCE]
            bounds += _row(engine, ", ".join(map(_bounds_of, some)))
        distinct = _distinct(engine, columns)
    found = [
        _column(column, rows, bounds[3 * index : 3 * index + 3], distinct[index])
        for index, column in enumerate(columns)
    ]
    return TableStatistics(rows, tuple(found))


def read_statistics(frame: bytes) -> TableStatistics:
    """Return the reply to a statistics job."""
    reply = as_object(parse_json(frame))
    columns = [as_object(each) for each in as_items(reply["columns"])]
    return TableStatistics(as_integer(reply["rows"]), tuple(map(_column_statistics, columns)))


def statistics_frame(found: TableStatistics) -> bytes:
    """Return the reply to a statistics job as its frame."""
    columns: list[Json] = [
        {
            "name": each.name,
            "count": each.count,
            "nulls": each.nulls,
            "minimum": each.minimum,
            "maximum": each.maximum,
            "distinct": each.distinct,
        }
        for each in found.columns
    ]
    return canonical_bytes({"rows": found.rows, "columns": columns})


def _column_statistics(entry: Mapping[str, Json]) -> ColumnStatistics:
    minimum, maximum, distinct = entry["minimum"], entry["maximum"], entry["distinct"]
    return ColumnStatistics(
        name=as_text(entry["name"]),
        count=as_integer(entry["count"]),
        nulls=as_integer(entry["nulls"]),
        minimum=None if minimum is None else as_text(minimum),
        maximum=None if maximum is None else as_text(maximum),
        distinct=None if distinct is None else as_integer(distinct),
    )


def _row(engine: Engine, selected: str) -> tuple[object, ...]:
    return engine.fetch(f"SELECT {selected} FROM {FROM_SNAPSHOT}", rows_max=1)[0]  # noqa: S608


def _bounds_of(column: Column) -> str:
    name = quote_identifier(column.name)
    if column.type == "other":
        return f"count({name}), NULL, NULL"
    if column.type == "text":
        return f"count({name}), {_short(f'min({name})')}, {_short(f'max({name})')}"
    return f"count({name}), min({name}), max({name})"


def _short(value: str) -> str:
    return f"CASE WHEN length({value}) <= {VALUE_CHARACTERS_MAX} THEN {value} END"


def _distinct(engine: Engine, columns: Sequence[Column]) -> list[int | None]:
    """Count column by column; what time or memory forbid is left out, and after it the rest."""
    found: list[int | None] = []
    for column in columns:
        if column.type == "other":
            found.append(None)
            continue
        try:
            value = _row(engine, f"count(DISTINCT {quote_identifier(column.name)})")[0]
        except EngineFailure:
            break
        found.append(value if isinstance(value, int) else None)
    return found + [None] * (len(columns) - len(found))


def _column(
    column: Column, rows: int, bounds: Sequence[object], distinct: int | None
) -> ColumnStatistics:
    count, minimum, maximum = bounds
    assert isinstance(count, int), "a count"
    return ColumnStatistics(
        name=column.name,
        count=count,
        nulls=rows - count,
        minimum=_text(minimum, column),
        maximum=_text(maximum, column),
        distinct=distinct,
    )


def _text(value: object, column: Column) -> str | None:
    try:
        return canonical(value, column.duckdb_type)
    except Unrepresentable:
        return None
