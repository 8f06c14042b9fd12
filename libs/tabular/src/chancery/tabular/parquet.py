"""A Parquet file that was uploaded, as a snapshot: types that lose nothing, infinite dates refused.

What a caller sends is read by DuckDB in a process that may be killed, and written anew. FLOAT
becomes DOUBLE; seconds, milliseconds and nanoseconds become microseconds if no value changes by it;
enumerations and UUIDs become text. Nested columns are kept, and no query can carry them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from itertools import chain, islice

from chancery.kernel.errors import Rejected, TooLarge
from chancery.tabular.csv import ROWS_MAX
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.formats import unreadable
from chancery.tabular.inference import ColumnEvidence, parse_declaration
from chancery.tabular.names import check_names
from chancery.tabular.schema import (
    Column,
    ColumnDeclaration,
    column_of,
    fold,
    quote_identifier,
)
from chancery.tabular.snapshot import Snapshot, declared_by_name

_PLAIN: Mapping[str, str] = {
    "FLOAT": "DOUBLE",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
    "TIMESTAMPTZ_NS": "TIMESTAMP WITH TIME ZONE",
    "UUID": "VARCHAR",
    "JSON": "VARCHAR",
}
_TARGETS: Mapping[str, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
_ENUM = re.compile(r"ENUM\(")
_BOUNDS = frozenset({"sql_timeout", "sql_resources"})
_MOMENTS = frozenset({"date", "timestamp", "timestamptz"})


def convert_parquet(data: bytes, declared: Mapping[str, ColumnDeclaration]) -> Snapshot:
    """Return `data` as a snapshot; a declared type wins over the file's.

    Raises:
        Rejected: `parquet_unreadable` (naming the column where one is the reason), what the names
            break, `unknown_column` or
            `invalid_column_type` for a declaration, `parquet_value_mismatch` when a value is not
            exactly of the wanted type, `parquet_value_range` for an infinite date; `TooLarge`
            for too many rows or columns.
    """
    with Engine() as engine, tempfile.TemporaryFile() as file:
        engine.run("SET TimeZone='UTC'")
        file.write(data)
        file.flush()
        source = f"read_parquet('/dev/fd/{file.fileno()}')"
        stored, row_count = _opened(engine, source)
        try:
            columns = tuple(
                _target(engine, source, column, wanted, number)
                for number, (column, wanted) in enumerate(
                    zip(stored, _declarations(stored, declared), strict=True), start=1
                )
            )
            _check_values(engine, source, stored, columns)
            return _written(engine, source, columns, row_count)
        except EngineFailure as failure:
            if failure.code in _BOUNDS:
                raise
            raise _unkept(engine, source, stored) from failure


def _unkept(engine: Engine, source: str, stored: Sequence[Column]) -> Rejected:
    """Return the refusal of a file of which a column cannot be read, or not be kept as Parquet."""
    for number, each in enumerate(stored, start=1):
        try:
            _written(engine, source, (each,), 0)
        except EngineFailure as failure:
            if failure.code in _BOUNDS:
                raise
            detail = f"column {number} of the parquet file is damaged, or of a type without support"
            field = f"columns.{each.name}"
            return Rejected(detail, field=field, code="parquet_unreadable")
    return unreadable("parquet")


def _check_names(engine: Engine, source: str, described: Sequence[str]) -> None:
    """Refuse names that SQL could not tell apart, as the file has them.

    The engine renames the second of two like names (`pay_1`): a policy that hides `pay` would show
    it.
    """
    schema = source.replace("read_parquet(", "parquet_schema(", 1)
    rows = engine.batches(f"SELECT name, coalesce(num_children, 0) FROM {schema}")  # noqa: S608
    names, nested = list[str](), 0
    for name, children in islice(chain.from_iterable(rows), 1, None):
        if not nested:
            names.append(str(name))
        nested += int(str(children)) - bool(nested)
    check_names(names, "parquet")
    if names != list(described):
        raise unreadable("parquet")


def _opened(engine: Engine, source: str) -> tuple[tuple[Column, ...], int]:
    try:
        described = engine.describe(f"SELECT * FROM {source}")  # noqa: S608 - our own file
        count = _count(engine, f"SELECT count(*) FROM {source}")  # noqa: S608
        _check_names(engine, source, [name for name, _ in described])
    except EngineFailure as failure:
        if failure.code in _BOUNDS:
            raise
        raise unreadable("parquet") from failure
    if count > ROWS_MAX:
        detail = f"the parquet file has more than {ROWS_MAX} rows"
        raise TooLarge(detail, field="snapshot", code="parquet_too_many_rows")
    return tuple(column_of(*each) for each in described), count


def _declarations(
    stored: Sequence[Column], declared: Mapping[str, ColumnDeclaration]
) -> list[ColumnDeclaration]:
    by_name = declared_by_name([each.name for each in stored], declared, "parquet")
    return [by_name.get(fold(each.name), ColumnDeclaration()) for each in stored]


def _target(
    engine: Engine, source: str, column: Column, wanted: ColumnDeclaration, number: int
) -> Column:
    """Return the column with the type that the snapshot keeps it in."""
    parsed = parse_declaration(wanted, field=f"columns.{column.name}.type")
    if parsed is None:
        plain = "VARCHAR" if _ENUM.match(column.duckdb_type) else column.duckdb_type
        return column_of(column.name, _PLAIN.get(plain, plain))
    family, digits = parsed
    if column.type == "text" and family in {"integer", "decimal", "double"}:
        return column_of(column.name, _number_type(engine, source, column, wanted, number))
    if family != "decimal":
        return column_of(column.name, _TARGETS[family])
    if digits is not None:
        return column_of(column.name, f"DECIMAL({digits[0]},{digits[1]})")
    if column.type == "decimal":
        return column
    if column.type == "integer":
        return column_of(column.name, "DECIMAL(38,0)")
    detail = f"columns.{column.name}.type must be decimal(precision,scale) for this column"
    raise Rejected(detail, field=f"columns.{column.name}.type", code="invalid_column_type")


def _number_type(
    engine: Engine, source: str, column: Column, wanted: ColumnDeclaration, number: int
) -> str:
    """Return the type that carries every text of a column exactly, as in a CSV file."""
    parsed = parse_declaration(wanted, field=f"columns.{column.name}.type")
    assert parsed is not None, "a type is declared"
    evidence = ColumnEvidence.empty()
    select = f"SELECT {quote_identifier(column.name)} FROM {source}"  # noqa: S608
    row = 0
    for batch in engine.batches(select):
        for (text,) in batch:
            row += 1
            if text is not None:
                evidence.add_declared(str(text), parsed[0], row)
    found = None if evidence.mismatch_row else evidence.declared(*parsed)
    if found is None:
        raise _mismatch(number, column.name)
    return found


def _check_values(
    engine: Engine, source: str, stored: Sequence[Column], columns: Sequence[Column]
) -> None:
    for number, (before, after) in enumerate(zip(stored, columns, strict=True), start=1):
        name = quote_identifier(before.name)
        kept = f"TRY_CAST({name} AS {after.duckdb_type})"
        if before.duckdb_type != after.duckdb_type:
            broken = f"{kept} IS NULL"
            if not _rewrites(before, after):
                broken += f" OR TRY_CAST({kept} AS {before.duckdb_type}) IS DISTINCT FROM {name}"
            if _any(engine, source, f"{name} IS NOT NULL AND ({broken})"):
                raise _mismatch(number, before.name)
        for value, of in ((name, before), (kept, after)):
            if of.type in _MOMENTS and _any(engine, source, _outside_years(value, of.duckdb_type)):
                place = f"column {number} of the parquet file"
                detail = f"{place} has a date outside the years 1 to 9999"
                raise Rejected(detail, field="snapshot", code="parquet_value_range")


def _outside_years(value: str, duckdb_type: str) -> str:
    """Return the condition of a moment outside the years 1 to 9999; an infinite one is, too."""
    first, end = (f"CAST(DATE '{day}' AS {duckdb_type})" for day in ("0001-01-01", "10000-01-01"))
    return f"{value} < {first} OR {value} >= {end}"


def _rewrites(before: Column, after: Column) -> bool:
    """Return whether texts are read, whose spelling may differ from the value's own."""
    return before.type == "text" and after.type in {"integer", "decimal", "double", "timestamptz"}


def _written(engine: Engine, source: str, columns: Sequence[Column], row_count: int) -> Snapshot:
    with tempfile.TemporaryFile() as file:
        taken = ", ".join(
            f"CAST({quote_identifier(c.name)} AS {c.duckdb_type}) AS {quote_identifier(c.name)}"
            for c in columns
        )
        engine.run(
            f"COPY (SELECT {taken} FROM {source}) TO '/dev/fd/{file.fileno()}'"  # noqa: S608
            " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
        )
        source = f"/dev/fd/{file.fileno()}"
        kept = engine.describe(f"SELECT * FROM read_parquet('{source}')")  # noqa: S608
        file.seek(0)
        return Snapshot(file.read(), tuple(column_of(*each) for each in kept), row_count)


def _any(engine: Engine, source: str, condition: str) -> bool:
    return _count(engine, f"SELECT count(*) FROM {source} WHERE {condition}") > 0  # noqa: S608


def _count(engine: Engine, select: str) -> int:
    found = engine.fetch(select, rows_max=1)[0][0]
    assert isinstance(found, int), "a count"
    return found


def _mismatch(number: int, name: str) -> Rejected:
    detail = f"column {number} of the parquet file has a value that its declared type cannot keep"
    return Rejected(detail, field=f"columns.{name}.type", code="parquet_value_mismatch")
