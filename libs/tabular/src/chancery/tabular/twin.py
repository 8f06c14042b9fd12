"""What DuckDB's own binder reads, on empty tables: the truth that sqlglot's lineage must match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chancery.kernel.canonical import Json, parse_json
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.schema import TableSchema, ascii_fold, quote_identifier
from chancery.tabular.tree import as_object, as_text, objects_within

NO_COLUMN = "__no_column"
"""Stands for the columns of a table of which none is visible."""


def open_twin() -> Engine:
    """Return a locked database that binds as `unoptimized` says, for good."""
    twin = Engine()
    unoptimized(twin)
    twin.lock()
    return twin


def unoptimized(engine: Engine) -> None:
    """Turn every optimizer but `unused_columns` off.

    With the others on, statistics of the empty tables remove scans and so hide columns.
    """
    rows = engine.fetch("SELECT name FROM duckdb_optimizers()", rows_max=999)
    names = [str(row[0]) for row in rows]
    off = ",".join(name for name in names if name != "unused_columns")
    engine.run(f"SET disabled_optimizers='{off}'")


def optimized(engine: Engine) -> None:
    """Turn every optimizer on again, for the rows."""
    engine.run("SET disabled_optimizers=''")


def create_tables(engine: Engine, tables: Sequence[TableSchema]) -> None:
    """Create the empty tables in `engine`, with the visible columns only."""
    for table in tables:
        columns = ", ".join(f"{quote_identifier(c.name)} {c.duckdb_type}" for c in table.columns)
        columns = columns or f"{quote_identifier(NO_COLUMN)} BOOLEAN"
        engine.run(f"CREATE TABLE {quote_identifier(table.name)} ({columns})")


def check_reads(
    twin: Engine, select: str, reads: Mapping[str, Sequence[str]], *, flat: bool
) -> None:
    """Refuse `select` unless the binder reads the tables of `reads`, and no further column.

    The columns must be equal, too, unless the binder may drop unused ones of a nested query.

    Raises:
        EngineFailure: `sql_not_bindable` or `sql_lineage_disagrees`.
    """
    try:
        rows = twin.fetch(f"EXPLAIN (FORMAT JSON) {select}", rows_max=8)
    except EngineFailure as failure:
        code = "sql_not_bindable" if failure.code == "sql_failed" else failure.code
        raise EngineFailure(code) from failure
    bound: dict[str, set[str]] = {}
    for table, columns in _scans(parse_json(str(rows[0][1]))):
        bound.setdefault(table, set()).update(columns)
    claimed = {
        ascii_fold(name): {ascii_fold(each) for each in columns} for name, columns in reads.items()
    }
    agrees = bound.keys() == claimed.keys() and all(
        columns == claimed[table] if flat else columns <= claimed[table]
        for table, columns in bound.items()
    )
    if not agrees:
        raise EngineFailure("sql_lineage_disagrees")


def _scans(explained: Json) -> Iterator[tuple[str, set[str]]]:
    for node in objects_within(explained):
        information = node.get("extra_info")
        if not isinstance(information, Mapping):
            continue
        if "Function" in information:
            # The engine's own catalog is read by functions, which no statement may name.
            raise EngineFailure("sql_lineage_disagrees")
        if "Table" not in information:
            continue
        table = as_text(as_object(information)["Table"]).rsplit(".", 1)[-1].strip('"')
        projections = information.get("Projections", "")
        if isinstance(projections, str):
            projections = [projections] if projections else []
        if not isinstance(projections, Sequence):
            raise EngineFailure("sql_lineage_disagrees")
        yield ascii_fold(table), {ascii_fold(as_text(each)) for each in projections}
