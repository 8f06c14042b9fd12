"""Filling a worker's database: only the columns that the statement reads, only the allowed rows."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from chancery.kernel.canonical import Json, parse_json
from chancery.nursery.frames import Incoming
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.schema import Family, TableSchema, column_of, family_of, quote_identifier
from chancery.tabular.snapshot import insertion
from chancery.tabular.tree import as_items, as_object, as_text, texts
from chancery.tabular.twin import NO_COLUMN, create_tables

_DESCRIPTOR = 200
FILE = f"/dev/fd/{_DESCRIPTOR}"
"""The one path that a worker's database may open: an unnamed file of this process alone."""


def open_file() -> None:
    """Make `FILE` an empty file; DuckDB resolves the path that it is allowed when it is set.

    On Linux it lies in memory, so that no row of a query touches a disk.
    """
    if sys.platform == "linux":
        descriptor = os.memfd_create("snapshot")
        os.dup2(descriptor, _DESCRIPTOR)
        os.close(descriptor)
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), _DESCRIPTOR)


def close_file() -> None:
    """Make `FILE` nothing that could be opened."""
    os.close(_DESCRIPTOR)


_OWN_CODES = frozenset({"sql_timeout", "sql_resources"})


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table of a job: its visible schema, the columns to fill, and the row filters."""

    schema: TableSchema
    reads: frozenset[str]
    source: str
    filters: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def filled(self) -> TableSchema:
        """Return the columns that hold their values; the others exist and hold NULL."""
        columns = tuple(each for each in self.schema.columns if each.name in self.reads)
        return TableSchema(self.schema.name, columns)


def tables_of_job(
    job: Mapping[str, Json], reads: Mapping[str, Sequence[str]] | None
) -> list[LoadedTable]:
    """Return the tables of a job; without `reads` every visible column is filled."""
    found: list[LoadedTable] = []
    for entry in as_items(job["tables"]):
        table = as_object(entry)
        columns = tuple(column_of(*texts(each)) for each in as_items(table["columns"]))
        filters = tuple(
            (as_text(as_object(each)["column"]), texts(as_object(each)["values"]))
            for each in as_items(table["filters"])
        )
        schema = TableSchema(as_text(table["name"]), columns)
        names = [each.name for each in columns] if reads is None else reads.get(schema.name, ())
        found.append(LoadedTable(schema, frozenset(names), as_text(table["source"]), filters))
    return found


def load(engine: Engine, tables: Sequence[LoadedTable], incoming: Incoming) -> None:
    """Fill the tables that exist in `engine` from one frame each, in the order of their snapshot.

    Raises:
        EngineFailure: `dataset_unreadable`, or that time or memory ran out.
        FrameBroken: when the frames do not come.
    """
    for table in tables:
        try:
            if table.source == "rows":
                _load_rows(engine, table, incoming.take())
            else:
                _load_parquet(engine, table, incoming)
        except EngineFailure as failure:
            code = failure.code if failure.code in _OWN_CODES else "dataset_unreadable"
            raise EngineFailure(code) from failure


def _load_rows(engine: Engine, table: LoadedTable, data: bytes) -> None:
    rows = [as_items(each) for each in as_items(parse_json(data))]
    if not table.schema.columns:
        name = quote_identifier(table.schema.name)
        engine.run(f"INSERT INTO {name} SELECT NULL FROM range($1)", [len(rows)])  # noqa: S608
        return
    if any(len(row) != len(table.schema.columns) for row in rows):
        raise EngineFailure("dataset_unreadable")
    if rows:
        lists = [list(column) for column in zip(*rows, strict=True)]
        engine.run(insertion(table.schema.name, table.schema.columns), lists)


@dataclass(frozen=True, slots=True)
class FilteredFile:
    """What a FROM clause names, and the condition of the rows that the caller may read."""

    source: str
    condition: str
    parameters: list[list[str]]


@contextmanager
def filtered_file(
    engine: Engine, table: LoadedTable, incoming: Incoming
) -> Generator[FilteredFile]:
    """Let the database read the snapshot in the next frame for a while.

    Raises:
        EngineFailure: `dataset_unreadable` when it lacks a column, or has it with another type.
    """
    with _readable(incoming):
        source = f"read_parquet('{FILE}')"
        stored = dict(engine.describe(f"SELECT * FROM {source}"))  # noqa: S608 - our own file
        if any(stored.get(each.name) != each.duckdb_type for each in table.schema.columns):
            raise EngineFailure("dataset_unreadable")
        conditions, parameters = ["true"], list[list[str]]()
        for column, values in table.filters:
            parameters.append(_typed_values(engine, values, stored.get(column)))
            cast = f"CAST(${len(parameters)}::VARCHAR[] AS {stored[column]}[])"
            conditions.append(f"list_contains({cast}, {quote_identifier(column)})")
        yield FilteredFile(source, " AND ".join(conditions), parameters)


def _load_parquet(engine: Engine, table: LoadedTable, incoming: Incoming) -> None:
    with filtered_file(engine, table, incoming) as file:
        kept = _narrowed(engine, table)
        taken = ", ".join(quote_identifier(each.name) for each in table.filled.columns)
        engine.run(
            f"INSERT INTO {kept} SELECT {taken or 'NULL'}"  # noqa: S608
            f" FROM {file.source} WHERE {file.condition}",
            file.parameters,
        )


def _narrowed(engine: Engine, table: LoadedTable) -> str:
    """Return the table to fill, quoted: one of the columns that are read, behind a view of all.

    To fill a million rows of three unread columns with NULL costs as much as loading the fourth.
    """
    name, filled = quote_identifier(table.schema.name), table.filled
    if filled.columns and filled == table.schema:
        return name
    kept = TableSchema(f"rows of {table.schema.name}", filled.columns)
    engine.run(f"DROP TABLE {name}")
    create_tables(engine, [kept])
    shown = ", ".join(
        quote_identifier(each.name)
        if each in filled.columns
        else f"CAST(NULL AS {each.duckdb_type}) AS {quote_identifier(each.name)}"
        for each in table.schema.columns
    )
    source = quote_identifier(kept.name)
    shown = shown or quote_identifier(NO_COLUMN)
    view = f"CREATE VIEW {name} AS SELECT {shown} FROM {source}"  # noqa: S608
    engine.run(view)
    return source


@contextmanager
def _readable(incoming: Incoming) -> Generator[None]:
    """Let `FILE` hold the next frame for a while."""
    os.ftruncate(_DESCRIPTOR, 0)
    os.lseek(_DESCRIPTOR, 0, os.SEEK_SET)
    with open(_DESCRIPTOR, "wb", closefd=False) as file:
        incoming.copy_to(file)
    try:
        yield
    finally:
        os.ftruncate(_DESCRIPTOR, 0)


def _typed_values(engine: Engine, values: Sequence[str], duckdb_type: str | None) -> list[str]:
    """Return the texts that are values of the column's type: what is no value matches no row."""
    if duckdb_type is None:
        raise EngineFailure("dataset_unreadable")
    rows = engine.fetch(
        f"SELECT v, TRY_CAST(v AS {duckdb_type})::VARCHAR"  # noqa: S608
        " FROM (SELECT unnest($1::VARCHAR[]) AS v)",
        [list(values)],
        rows_max=len(values) + 1,
    )
    family = family_of(duckdb_type)
    return [str(v) for v, read in rows if read is not None and _means(str(v), str(read), family)]


def _means(text: str, read: str, family: Family) -> bool:
    """Return whether the cast kept the value: DuckDB reads 1.5 as the integer 2, and 1 as true."""
    if family == "boolean":
        return text == read
    if family not in {"integer", "decimal"}:
        return True
    try:
        return Decimal(text) == Decimal(read)
    except InvalidOperation:
        return False
