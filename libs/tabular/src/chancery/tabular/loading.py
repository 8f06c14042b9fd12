"""Filling a worker's database with the columns that the statement reads of what came for it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from chancery.kernel.canonical import Json, parse_json
from chancery.nursery.frames import Incoming
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.places import SNAPSHOT
from chancery.tabular.schema import TableSchema, column_of, quote_identifier
from chancery.tabular.snapshot import insertion
from chancery.tabular.tree import as_items, as_object, as_text, texts
from chancery.tabular.twin import NO_COLUMN, create_tables

FROM_SNAPSHOT = f"read_parquet('{SNAPSHOT.path}')"
"""What a FROM clause names while `SNAPSHOT` holds a file."""

_OWN_CODES = frozenset({"sql_timeout", "sql_resources"})


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table of a job: its schema, the columns to fill, and in which form its rows come."""

    schema: TableSchema
    reads: frozenset[str]
    source: str

    @property
    def filled(self) -> TableSchema:
        """Return the columns that hold their values; the others exist and hold NULL."""
        columns = tuple(each for each in self.schema.columns if each.name in self.reads)
        return TableSchema(self.schema.name, columns)


def tables_of_job(
    job: Mapping[str, Json], reads: Mapping[str, Sequence[str]] | None
) -> list[LoadedTable]:
    """Return the tables of a job; without `reads` every column is filled.

    Raises:
        EngineFailure: `dataset_unreadable` when rows come with a type that no row can carry: those
            of a bundle are anybody's, and what they call a type becomes a part of a statement.
    """
    found: list[LoadedTable] = []
    for entry in as_items(job["tables"]):
        table = as_object(entry)
        columns = tuple(column_of(*texts(each)) for each in as_items(table["columns"]))
        if table["source"] == "rows" and any(each.type == "other" for each in columns):
            raise EngineFailure("dataset_unreadable")
        schema = TableSchema(as_text(table["name"]), columns)
        names = [each.name for each in columns] if reads is None else reads.get(schema.name, ())
        found.append(LoadedTable(schema, frozenset(names), as_text(table["source"])))
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


def stored_types(engine: Engine) -> Mapping[str, str]:
    """Return the DuckDB type of each column of the file that `SNAPSHOT` holds.

    Raises:
        EngineFailure: `sql_not_bindable` when it is no Parquet file.
    """
    return dict(engine.describe(f"SELECT * FROM {FROM_SNAPSHOT}"))  # noqa: S608 - our own file


@contextmanager
def table_file(engine: Engine, table: LoadedTable, incoming: Incoming) -> Generator[None]:
    """Let `SNAPSHOT` hold the next frame for a while, which is the table and no more than that.

    Raises:
        EngineFailure: `dataset_unreadable` when it lacks a column, has it with another type, or
            has one that the caller may not see.
    """
    with SNAPSHOT.holding(incoming):
        columns = {each.name: each.duckdb_type for each in table.schema.columns}
        columns = columns or {NO_COLUMN: "BOOLEAN"}
        stored = stored_types(engine)
        if stored.keys() != columns.keys() or not all(
            _is_stored_as(duckdb_type, stored[name]) for name, duckdb_type in columns.items()
        ):
            raise EngineFailure("dataset_unreadable")
        yield


def _is_stored_as(duckdb_type: str, stored: str) -> bool:
    """Tell whether a column of the type reads back as `stored` from a file of some of its rows.

    What makes a GEOMETRY one stands beside the values, so that a cut without any has it as BLOB.
    """
    without_values = duckdb_type.startswith("GEOMETRY") and stored == "BLOB"
    return duckdb_type == stored or without_values


def _load_parquet(engine: Engine, table: LoadedTable, incoming: Incoming) -> None:
    with table_file(engine, table, incoming):
        kept = _narrowed(engine, table)
        taken = ", ".join(quote_identifier(each.name) for each in table.filled.columns)
        select = f"SELECT {taken or 'NULL'} FROM {FROM_SNAPSHOT}"  # noqa: S608
        engine.run(f"INSERT INTO {kept} {select}")


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
