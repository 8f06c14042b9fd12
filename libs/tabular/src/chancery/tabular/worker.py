"""The worker: one job, then the end. It runs in a process forked from `template`.

It holds nothing but the rows and columns of the job. Its database is cut off before the job comes:
it may open one path, which leads to these rows while they are loaded and nowhere else, and a second
one when it cuts a snapshot, where no statement of a caller runs. Steps of a query: (1) the
statement binds on empty tables and reads what was claimed; (2) the columns that it reads are
loaded; (3) the configuration is locked and the process may write no file; (4) the statement runs;
(5) canonical texts go back.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.kernel.errors import ChanceryError, TooLarge
from chancery.nursery.frames import FrameBroken, Incoming, write_frames
from chancery.tabular.cutting import cut
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.loading import load, tables_of_job
from chancery.tabular.ordering import sort_rows
from chancery.tabular.parquet import convert_parquet
from chancery.tabular.places import CUT, SNAPSHOT
from chancery.tabular.schema import ColumnDeclaration, TableSchema, family_of, quote_identifier
from chancery.tabular.snapshot import convert_csv, convert_xlsx
from chancery.tabular.statistics import statistics_frame, statistics_of
from chancery.tabular.tree import as_integer, as_items, as_object, as_text, texts
from chancery.tabular.twin import check_reads, create_tables, optimized
from chancery.tabular.values import Unrepresentable, canonical, is_edge

INPUT_BYTES_MAX = 1024 * 1024 * 1024
LONG_S = 1.0
LONG_NICENESS = 10
"""What runs for long lets everything short go first: other statements, and the services.

That much is added to what the service itself has.
"""

_SEPARATOR_BYTES = 1
_EXACTLY_WRITTEN = frozenset({"integer", "decimal", "date", "text"})
"""The families whose canonical text is never shorter than DuckDB's own."""


def main(engine: Engine) -> None:
    """Cut the empty database off, then serve one job from standard input and end."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    SNAPSHOT.open()
    CUT.open()
    engine.cut_off(SNAPSHOT.path, CUT.path)
    threading.Thread(target=_interrupt_when_told, args=(engine,), daemon=True).start()
    try:
        reply = _answer(Incoming(sys.stdin.buffer, bytes_max=INPUT_BYTES_MAX), engine)
    except FrameBroken:
        return
    write_frames(sys.stdout.buffer, reply)


def _interrupt_when_told(engine: Engine) -> None:
    """Stop what runs when the parent signals; it kills the process when that does not help."""
    while True:
        signal.sigwait({signal.SIGTERM})
        engine.interrupt()


def _step_back_later() -> None:
    """Lower the priority of the thread that works, which is the main one, after a while."""
    usual = os.getpriority(os.PRIO_PROCESS, os.getpid())
    step_back = partial(os.setpriority, os.PRIO_PROCESS, os.getpid(), usual + LONG_NICENESS)
    timer = threading.Timer(LONG_S, step_back)
    timer.daemon = True
    timer.start()


def _answer(incoming: Incoming, engine: Engine) -> list[bytes]:
    try:
        job = as_object(parse_json(incoming.take()))
        _step_back_later()
        _limit_process(job)
        return _done(job, incoming, engine)
    except EngineFailure as failure:
        return [_error(failure.code)]
    except Unrepresentable:
        return [_error("sql_result_value")]
    except ChanceryError as error:
        return [_error(error.code, error)]
    except MemoryError:
        return [_error("sql_resources")]


def _done(job: Mapping[str, Json], incoming: Incoming, engine: Engine) -> list[bytes]:
    kind = as_text(job["kind"])
    if kind != "cut":
        CUT.close()
    match kind:
        case "cut":
            return _cut(job, incoming, engine)
        case "query":
            return _query(job, incoming, engine)
        case "rows":
            return [_all_rows(job, incoming, engine)]
        case "statistics":
            return [_statistics(job, incoming, engine)]
        case _:
            return _convert(job, incoming.take())


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
    # Beyond the first bound comes a signal of its own, beyond the second one that tells nothing.
    _limit(resource.RLIMIT_CPU, as_integer(job["deadline_ms"]) // 1000 + 2, kill_after=1)


def _limit(which: int, wanted: int, *, kill_after: int = 0) -> None:
    _, hard = resource.getrlimit(which)
    bounded, last = (
        each if hard == resource.RLIM_INFINITY else min(each, hard)
        for each in (wanted, wanted + kill_after)
    )
    try:
        resource.setrlimit(which, (bounded, last))
    except (ValueError, OSError):
        if sys.platform != "darwin":
            raise


def _query(job: Mapping[str, Json], incoming: Incoming, engine: Engine) -> list[bytes]:
    select = as_text(job["sql"])
    reads = {name: texts(columns) for name, columns in as_object(job["reads"]).items()}
    tables = tables_of_job(job, reads)
    create_tables(engine, [each.schema for each in tables])
    check_reads(engine, select, reads, flat=job["flat"] is True)
    columns = engine.describe(select)
    if any(family_of(duckdb_type) == "other" for _, duckdb_type in columns):
        raise EngineFailure("sql_result_type")
    optimized(engine)
    load(engine, tables, incoming)
    if job["sorts"] is True:
        sort_rows(engine)
    _lock(engine, job)
    occurring = [_occurs(engine, tables[0].schema, *texts(e)) for e in as_items(job["sought"])]
    replies = [_reply(engine, select, columns, job, occurring)]
    if job["carried"] is not None:
        replies.append(_rows_of(engine, tables[0].filled, as_object(job["carried"])))
    return replies


def _occurs(engine: Engine, schema: TableSchema, column: str, text: str) -> bool:
    """Return whether a text is a value of a column of the one table, which the statement reads."""
    name, where = quote_identifier(schema.name), quote_identifier(column)
    select = f"SELECT EXISTS (SELECT 1 FROM {name} WHERE {where} = $1)"  # noqa: S608
    return engine.fetch(select, [text], rows_max=1)[0][0] is True


def _cut(job: Mapping[str, Json], incoming: Incoming, engine: Engine) -> list[bytes]:
    (table,) = tables_of_job(job, None)
    optimized(engine)
    _bound(engine, job)
    return [canonical_bytes({}), cut(engine, table.schema, job, incoming)]


def _all_rows(job: Mapping[str, Json], incoming: Incoming, engine: Engine) -> bytes:
    tables = tables_of_job(job, None)
    create_tables(engine, [each.schema for each in tables])
    optimized(engine)
    load(engine, tables, incoming)
    _lock(engine, job)
    return _rows_of(engine, tables[0].schema, job)


def _statistics(job: Mapping[str, Json], incoming: Incoming, engine: Engine) -> bytes:
    """Read the file itself, within the bounds of a query; no statement of a caller runs."""
    (table,) = tables_of_job(job, None)
    optimized(engine)
    _bound(engine, job)
    return statistics_frame(statistics_of(engine, table, incoming))


def _rows_of(engine: Engine, schema: TableSchema, bounds: Mapping[str, Json]) -> bytes:
    """Return all rows; none, marked as truncated, when they cannot fit."""
    columns = tuple((each.name, each.duckdb_type) for each in schema.columns)
    bytes_max = as_integer(bounds["bytes_max"])
    if _least_bytes(engine, schema, bytes_max) > bytes_max:
        return _encoded(columns, [], truncated=True)
    names = ", ".join(quote_identifier(each.name) for each in schema.columns)
    select = f"SELECT {names or 'NULL'} FROM {quote_identifier(schema.name)}"  # noqa: S608
    return _reply(engine, select, columns, {**bounds, "offset": 0})


def _least_bytes(engine: Engine, schema: TableSchema, enough: int) -> int:
    """Return what the rows take as canonical JSON at least, without fetching them.

    The lengths of a million values are not added up when their number alone is `enough`.
    """
    name = quote_identifier(schema.name)
    count = _whole(engine, f"SELECT count(*) FROM {name}")  # noqa: S608
    framed = count * (2 + _SEPARATOR_BYTES + 2 * len(schema.columns))
    exact = [each for each in schema.columns if each.type in _EXACTLY_WRITTEN]
    if framed > enough or not exact:
        return framed
    sizes = [f"coalesce(sum(strlen({quote_identifier(c.name)}::VARCHAR)), 0)" for c in exact]
    return framed + _whole(engine, f"SELECT {' + '.join(sizes)} FROM {name}")  # noqa: S608


def _whole(engine: Engine, select: str) -> int:
    value = engine.fetch(select, rows_max=1)[0][0]
    assert isinstance(value, int), "a count or a sum of lengths"
    return value


def _convert(job: Mapping[str, Json], data: bytes) -> list[bytes]:
    declared = {
        name: ColumnDeclaration(None if each is None else as_text(each))
        for name, each in as_object(job["declared"]).items()
    }
    match as_text(job["format"]):
        case "parquet":
            snapshot = convert_parquet(data, declared)
        case "xlsx":
            snapshot = convert_xlsx(data, declared)
        case _:
            snapshot = convert_csv(data, declared)
    columns: list[Json] = [[each.name, each.duckdb_type] for each in snapshot.columns]
    header = canonical_bytes({"columns": columns, "row_count": snapshot.row_count})
    return [header, snapshot.parquet]


def _bound(engine: Engine, job: Mapping[str, Json]) -> None:
    engine.lock(
        memory_bytes=as_integer(job["memory_bytes"]), runtime_ms=as_integer(job["deadline_ms"])
    )


def _lock(engine: Engine, job: Mapping[str, Json]) -> None:
    SNAPSHOT.close()
    _bound(engine, job)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _reply(
    engine: Engine,
    select: str,
    columns: Sequence[tuple[str, str]],
    bounds: Mapping[str, Json],
    occurring: Sequence[bool] = (),
) -> bytes:
    """Return the rows from `offset` on that fit, and whether more exist."""
    rows_max, left_bytes = as_integer(bounds["rows_max"]), as_integer(bounds["bytes_max"])
    skipped = as_integer(bounds["offset"])
    batch_rows = min(rows_max + 1, 1_000)
    rows: list[Json] = []
    doubtful: set[int] = set()
    for number, values in enumerate(_rows(engine, select, batch_rows)):
        if number < skipped:
            continue
        row = [canonical(v, t) for v, (_, t) in zip(values, columns, strict=False)]
        left_bytes -= len(canonical_bytes(row)) + _SEPARATOR_BYTES
        if left_bytes < 0 or len(rows) == rows_max:
            _check_finite(engine, select, columns, doubtful)
            return _encoded(columns, rows, occurring, truncated=True)
        doubtful.update(index for index, value in enumerate(values) if is_edge(value))
        rows.append(row)
    _check_finite(engine, select, columns, doubtful)
    return _encoded(columns, rows, occurring, truncated=False)


def _check_finite(
    engine: Engine, select: str, columns: Sequence[tuple[str, str]], doubtful: set[int]
) -> None:
    """Refuse infinite moments: DuckDB's client hands them over as the last day of year 9999."""
    if not doubtful:
        return
    names = ", ".join(f"c{index}" for index in range(len(columns)))
    infinite = " OR ".join(f"isinf(c{index})" for index in sorted(doubtful))
    found = engine.fetch(
        f"SELECT count(*) FROM ({select}) AS result({names}) WHERE {infinite}",  # noqa: S608
        rows_max=1,
    )
    if found[0][0] != 0:
        raise EngineFailure("sql_result_value")


def _rows(engine: Engine, select: str, batch_rows: int) -> Iterator[tuple[object, ...]]:
    for batch in engine.batches(select, batch_rows=batch_rows):
        yield from batch


def _encoded(
    columns: Sequence[tuple[str, str]],
    rows: list[Json],
    occurring: Sequence[bool] = (),
    *,
    truncated: bool,
) -> bytes:
    return canonical_bytes(
        {
            "columns": [list(each) for each in columns],
            "rows": rows,
            "truncated": truncated,
            "occurring": list(occurring),
        }
    )
