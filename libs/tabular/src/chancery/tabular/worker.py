"""The child process: one job, then the end. Run as `python -m chancery.tabular.worker`.

It holds nothing but the rows and columns of the job. Steps of a query: (1) the statement binds on
an empty twin and reads what was claimed; (2) the rows are loaded; (3) the database is locked and
the process may write no file; (4) the statement runs; (5) canonical texts go back.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.kernel.errors import ChanceryError, TooLarge
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.frames import FrameBroken, read_frames, write_frames
from chancery.tabular.schema import (
    ColumnDeclaration,
    TableSchema,
    column_of,
    family_of,
    quote_identifier,
)
from chancery.tabular.snapshot import convert_csv, insertion
from chancery.tabular.tree import as_integer, as_items, as_object, as_text, texts
from chancery.tabular.twin import check_reads, create_tables, open_twin
from chancery.tabular.values import Unrepresentable, canonical

INPUT_BYTES_MAX = 1024 * 1024 * 1024
_SEPARATOR_BYTES = 1


@dataclass(frozen=True, slots=True)
class _LoadedTable:
    """A table of the job: its visible schema, where its rows come from, and the row filters."""

    schema: TableSchema
    source: str
    data: bytes
    filters: tuple[tuple[str, tuple[str, ...]], ...]


def main() -> None:
    """Serve one job from standard input and end."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    twin = open_twin()
    try:
        frames = read_frames(sys.stdin.buffer, bytes_max=INPUT_BYTES_MAX)
    except FrameBroken:
        return
    write_frames(sys.stdout.buffer, _answer(frames, twin))


def _answer(frames: Sequence[bytes], twin: Engine) -> list[bytes]:
    try:
        job = as_object(parse_json(frames[0]))
        _limit_process(job)
        match as_text(job["kind"]):
            case "query":
                return _query(job, frames[1:], twin)
            case "rows":
                return [_all_rows(job, frames[1:])]
            case _:
                return _convert(job, frames[1])
    except EngineFailure as failure:
        return [_error(failure.code)]
    except Unrepresentable:
        return [_error("sql_result_type")]
    except ChanceryError as error:
        return [_error(error.code, error)]
    except MemoryError:
        return [_error("sql_resources")]


def _error(code: str, error: ChanceryError | None = None) -> bytes:
    if error is None:
        return canonical_bytes({"error": code})
    too_large = isinstance(error, TooLarge)
    return canonical_bytes(
        {"error": code, "detail": error.detail, "field": error.field, "too_large": too_large}
    )


def _limit_process(job: Mapping[str, Json]) -> None:
    """Bound memory and CPU even when the parent is gone; macOS ignores the address space."""
    _limit(resource.RLIMIT_AS, as_integer(job["address_space_bytes"]))
    _limit(resource.RLIMIT_CPU, as_integer(job["deadline_ms"]) // 1000 + 2)


def _limit(which: int, wanted: int) -> None:
    _, hard = resource.getrlimit(which)
    bounded = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(which, (bounded, bounded))
    except (ValueError, OSError):
        if sys.platform != "darwin":
            raise


def _query(job: Mapping[str, Json], blobs: Sequence[bytes], twin: Engine) -> list[bytes]:
    select = as_text(job["sql"])
    tables = _tables(job, blobs)
    create_tables(twin, [each.schema for each in tables])
    reads = {name: texts(columns) for name, columns in as_object(job["reads"]).items()}
    check_reads(twin, select, reads, flat=job["flat"] is True)
    columns = twin.describe(select)
    if any(family_of(duckdb_type) == "other" for _, duckdb_type in columns):
        raise EngineFailure("sql_result_type")
    with Engine() as engine:
        _load(engine, tables)
        _lock(engine, job)
        replies = [_reply(engine, select, columns, job)]
        if job["carried"] is not None:
            schema = tables[0].schema
            read = [each for each in schema.columns if each.name in reads[schema.name]]
            carried = TableSchema(schema.name, tuple(read))
            replies.append(_rows_of(engine, carried, as_object(job["carried"])))
        return replies


def _all_rows(job: Mapping[str, Json], blobs: Sequence[bytes]) -> bytes:
    tables = _tables(job, blobs)
    with Engine() as engine:
        _load(engine, tables)
        _lock(engine, job)
        return _rows_of(engine, tables[0].schema, job)


def _rows_of(engine: Engine, schema: TableSchema, bounds: Mapping[str, Json]) -> bytes:
    names = ", ".join(quote_identifier(each.name) for each in schema.columns)
    select = f"SELECT {names or 'NULL'} FROM {quote_identifier(schema.name)}"  # noqa: S608
    columns = tuple((each.name, each.duckdb_type) for each in schema.columns)
    return _reply(engine, select, columns, bounds)


def _convert(job: Mapping[str, Json], data: bytes) -> list[bytes]:
    declared = {
        name: ColumnDeclaration(None if each is None else as_text(each))
        for name, each in as_object(job["declared"]).items()
    }
    snapshot = convert_csv(data, declared)
    columns: list[Json] = [[each.name, each.duckdb_type] for each in snapshot.columns]
    header = canonical_bytes({"columns": columns, "row_count": snapshot.row_count})
    return [header, snapshot.parquet]


def _tables(job: Mapping[str, Json], blobs: Sequence[bytes]) -> list[_LoadedTable]:
    found: list[_LoadedTable] = []
    for entry, data in zip(as_items(job["tables"]), blobs, strict=True):
        table = as_object(entry)
        columns = tuple(column_of(*texts(each)) for each in as_items(table["columns"]))
        filters = tuple(
            (as_text(as_object(each)["column"]), texts(as_object(each)["values"]))
            for each in as_items(table["filters"])
        )
        schema = TableSchema(as_text(table["name"]), columns)
        found.append(_LoadedTable(schema, as_text(table["source"]), data, filters))
    return found


def _load(engine: Engine, tables: Sequence[_LoadedTable]) -> None:
    engine.run("SET threads=1")
    engine.run("SET TimeZone='UTC'")
    create_tables(engine, [each.schema for each in tables])
    for table in tables:
        if table.source == "rows":
            _load_rows(engine, table)
        else:
            _load_parquet(engine, table)


def _load_rows(engine: Engine, table: _LoadedTable) -> None:
    rows = [as_items(each) for each in as_items(parse_json(table.data))]
    name = quote_identifier(table.schema.name)
    if not table.schema.columns:
        engine.run(f"INSERT INTO {name} SELECT NULL FROM range($1)", [len(rows)])  # noqa: S608
        return
    if any(len(row) != len(table.schema.columns) for row in rows):
        raise EngineFailure("dataset_unreadable")
    if rows:
        lists = [list(column) for column in zip(*rows, strict=True)]
        engine.run(insertion(table.schema.name, table.schema.columns), lists)


def _load_parquet(engine: Engine, table: _LoadedTable) -> None:
    """Insert the visible columns of the rows that pass every filter, in the file's order."""
    with tempfile.TemporaryFile() as file:
        file.write(table.data)
        file.flush()
        source = f"read_parquet('/dev/fd/{file.fileno()}')"
        stored = dict(_described(engine, source))
        if any(stored.get(each.name) != each.duckdb_type for each in table.schema.columns):
            raise EngineFailure("dataset_unreadable")
        conditions, parameters = ["true"], list[list[str]]()
        for column, values in table.filters:
            parameters.append(_typed_values(engine, values, stored.get(column)))
            cast = f"CAST(${len(parameters)}::VARCHAR[] AS {stored[column]}[])"
            conditions.append(f"list_contains({cast}, {quote_identifier(column)})")
        names = ", ".join(quote_identifier(each.name) for each in table.schema.columns) or "NULL"
        engine.run(
            f"INSERT INTO {quote_identifier(table.schema.name)} SELECT {names} FROM {source}"  # noqa: S608
            f" WHERE {' AND '.join(conditions)}",
            parameters,
        )


def _described(engine: Engine, source: str) -> tuple[tuple[str, str], ...]:
    try:
        return engine.describe(f"SELECT * FROM {source}")  # noqa: S608 - our own file descriptor
    except EngineFailure as failure:
        code = "dataset_unreadable"
        raise EngineFailure(code) from failure


def _typed_values(engine: Engine, values: Sequence[str], duckdb_type: str | None) -> list[str]:
    """Return the texts that are values of the column's type: what is no value matches no row."""
    if duckdb_type is None:
        raise EngineFailure("dataset_unreadable")
    cast = f"TRY_CAST(v AS {duckdb_type})"
    rows = engine.fetch(
        f"SELECT v FROM (SELECT unnest($1::VARCHAR[]) AS v) WHERE {cast} IS NOT NULL",  # noqa: S608
        [list(values)],
        rows_max=len(values) + 1,
    )
    return [str(row[0]) for row in rows]


def _lock(engine: Engine, job: Mapping[str, Json]) -> None:
    engine.lock(
        memory_bytes=as_integer(job["memory_bytes"]), runtime_ms=as_integer(job["deadline_ms"])
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _reply(
    engine: Engine,
    select: str,
    columns: Sequence[tuple[str, str]],
    bounds: Mapping[str, Json],
) -> bytes:
    rows_max, left_bytes = as_integer(bounds["rows_max"]), as_integer(bounds["bytes_max"])
    found = engine.fetch(select, rows_max=rows_max + 1)
    rows: list[Json] = []
    for values in found[:rows_max]:
        row = [canonical(v, t) for v, (_, t) in zip(values, columns, strict=False)]
        left_bytes -= len(canonical_bytes(row)) + _SEPARATOR_BYTES
        if left_bytes < 0:
            break
        rows.append(row)
    return canonical_bytes(
        {
            "columns": [list(each) for each in columns],
            "rows": rows,
            "truncated": len(rows) < len(found),
        }
    )


if __name__ == "__main__":
    main()
