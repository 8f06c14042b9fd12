"""What the parent asks of a worker and what it gets back, as frames (a JSON header, then bytes)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.tabular.clauses import text_of
from chancery.tabular.formats import Format
from chancery.tabular.plan import Plan
from chancery.tabular.preview import PREVIEW_BYTES_MAX, ROWS_MAX, Result, Row
from chancery.tabular.schema import ColumnDeclaration, TableSchema, column_of
from chancery.tabular.snapshot import Snapshot
from chancery.tabular.tree import as_integer, as_items, as_object, as_text

CARRIED_BYTES_MAX = 4 * 1024 * 1024
"""The rows of one dataset that a bundle carries, at most."""

ROWS_ALL_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one worker process; *Units* stand in the names.

    A file has a bound of its processor time, and a wider one of the time that a busy machine takes:
    what becomes of it is recorded for good, and must not hang on what else ran.
    """

    rows_max: int = ROWS_MAX
    preview_bytes_max: int = PREVIEW_BYTES_MAX
    query_s: float = 10.0
    statistics_s: float = 2.5
    convert_cpu_s: float = 60.0
    convert_s: float = 180.0
    queue_s: float = 30.0
    memory_bytes: int = 512 * 1024 * 1024
    address_space_bytes: int = 2 * 1024 * 1024 * 1024
    convert_address_space_bytes: int = 4 * 1024 * 1024 * 1024
    message_bytes_max: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Only rows whose `column` is one of `values` (canonical texts) are cut out; NULL never is."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Uncut:
    """A pinned snapshot as it is stored, with the columns and rows that the caller may read of it.

    No statement meets it. `schema` holds the visible columns only. All `filters` must hold; their
    columns may be hidden. `is_whole` says that policy takes nothing away: the file needs no cut.
    `declared` is as in `Table`.
    """

    schema: TableSchema
    parquet: bytes = field(repr=False)
    filters: tuple[RowFilter, ...] = ()
    is_whole: bool = False
    declared: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Table:
    """What the caller may read of a snapshot and nothing else: this a query process may hold.

    A worker refuses a file that has other columns than `schema`. `declared` are the statements of
    the measures that were published with the snapshot; they stay outside the process.
    """

    schema: TableSchema
    parquet: bytes = field(repr=False)
    declared: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RowTable:
    """The authorised rows of a table as canonical texts, as a bundle carries them.

    A table of which no column is read (`COUNT(*)`) has rows without fields.
    """

    schema: TableSchema
    rows: tuple[Row, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows of a result are wanted: at most `limit` from `offset` on."""

    offset: int = 0
    limit: int = ROWS_MAX


FIRST_PAGE = Page()


def query_job(
    plan: Plan,
    tables: Sequence[Table | RowTable],
    limits: Limits,
    *,
    carried: bool = False,
    page: Page = FIRST_PAGE,
) -> list[bytes]:
    """Return the frames that ask for a page of a plan's statement.

    `carried` asks in a second frame for all rows that the statement read of its one table.
    """
    assert not carried or len(tables) == 1
    reads: Mapping[str, Json] = {name: list(columns) for name, columns in plan.reads.items()}
    sought: list[Json] = [[e.column, text_of(e.literal)] for e in plan.eligibility.texts]
    header: Mapping[str, Json] = {
        "kind": "query",
        "sql": plan.query.canonical_sql,
        "flat": plan.flat,
        "sorts": plan.sorts,
        "sought": sought,
        "reads": reads,
        "tables": [_table_json(each) for each in tables],
        "carried": {"rows_max": ROWS_ALL_MAX, "bytes_max": CARRIED_BYTES_MAX} if carried else None,
        **_limits_json(limits, limits.query_s),
        "rows_max": min(page.limit, limits.rows_max),
        "offset": page.offset,
    }
    return [canonical_bytes(header), *(_table_bytes(each) for each in tables)]


def rows_job(table: Table, limits: Limits) -> list[bytes]:
    """Return the frames that ask for all rows of `table`."""
    header: Mapping[str, Json] = {
        "kind": "rows",
        "tables": [_table_json(table)],
        **_limits_json(limits, limits.query_s),
        "rows_max": ROWS_ALL_MAX,
        "bytes_max": CARRIED_BYTES_MAX,
    }
    return [canonical_bytes(header), table.parquet]


def statistics_job(table: Table, limits: Limits) -> list[bytes]:
    """Return the frames that ask for the statistics of `table`."""
    header: Mapping[str, Json] = {
        "kind": "statistics",
        "tables": [_table_json(table)],
        **_limits_json(limits, limits.statistics_s),
    }
    return [canonical_bytes(header), table.parquet]


def cut_job(uncut: Uncut, limits: Limits, *, bytes_max: int) -> list[bytes]:
    """Return the frames that ask for what the caller may read of a snapshot, in `bytes_max`."""
    header: Mapping[str, Json] = {
        "kind": "cut",
        "tables": [_table_json(Table(uncut.schema, b""))],
        "filters": [{"column": each.column, "values": list(each.values)} for each in uncut.filters],
        **_limits_json(limits, limits.query_s),
        "bytes_max": bytes_max,
    }
    return [canonical_bytes(header), uncut.parquet]


def convert_job(
    data: bytes, declared: Mapping[str, ColumnDeclaration], limits: Limits, *, file_format: Format
) -> list[bytes]:
    """Return the frames that ask for the Parquet form of a file."""
    header: Mapping[str, Json] = {
        "kind": "convert",
        "format": file_format,
        "declared": {name: each.type for name, each in declared.items()},
        **_limits_json(limits, limits.convert_cpu_s),
        "address_space_bytes": limits.convert_address_space_bytes,
    }
    return [canonical_bytes(header), data]


def reply_bytes_max(rows_bytes: int) -> int:
    """Return the largest reply whose rows hold `rows_bytes`: twice that, and 1 MiB of columns."""
    return 2 * rows_bytes + 1024 * 1024


def read_result(frame: bytes) -> Result:
    """Return the reply to a query or rows job."""
    reply = as_object(parse_json(frame))
    columns = tuple(
        (as_text(as_items(each)[0]), as_text(as_items(each)[1]))
        for each in as_items(reply["columns"])
    )
    rows = tuple(row_of(each) for each in as_items(reply["rows"]))
    occurring = tuple(each is True for each in as_items(reply["occurring"]))
    return Result(columns, rows, truncated=reply["truncated"] is True, occurring=occurring)


def read_snapshot(frames: Sequence[bytes]) -> Snapshot:
    """Return the reply to a convert job."""
    reply = as_object(parse_json(frames[0]))
    columns = tuple(
        column_of(as_text(as_items(each)[0]), as_text(as_items(each)[1]))
        for each in as_items(reply["columns"])
    )
    return Snapshot(frames[1], columns, as_integer(reply["row_count"]))


def row_of(value: Json) -> Row:
    """Return a row of canonical texts from its JSON array."""
    return tuple(None if each is None else as_text(each) for each in as_items(value))


def _table_json(table: Table | RowTable) -> Json:
    return {
        "name": table.schema.name,
        "columns": [[each.name, each.duckdb_type] for each in table.schema.columns],
        "source": "parquet" if isinstance(table, Table) else "rows",
    }


def _table_bytes(table: Table | RowTable) -> bytes:
    if isinstance(table, Table):
        return table.parquet
    return canonical_bytes([list(row) for row in table.rows])


def _limits_json(limits: Limits, deadline_s: float) -> Mapping[str, Json]:
    return {
        "rows_max": limits.rows_max,
        "offset": 0,
        "bytes_max": limits.preview_bytes_max,
        "deadline_ms": int(deadline_s * 1000),
        "memory_bytes": limits.memory_bytes,
        "address_space_bytes": limits.address_space_bytes,
    }
