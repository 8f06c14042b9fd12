"""Cutting a snapshot: what a caller may read of it as a Parquet file of its own.

This runs in a process in which no statement of a caller ever runs. Only the cut goes on to the one
in which it does, so that nothing of a hidden column or row is there: no value, no statistics of the
file's footer, no value of the policy.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chancery.kernel.canonical import Json
from chancery.kernel.errors import TooLarge
from chancery.nursery.frames import Incoming
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.filters import is_exact
from chancery.tabular.loading import FROM_SNAPSHOT, stored_types
from chancery.tabular.places import CUT, SNAPSHOT
from chancery.tabular.schema import TableSchema, fold, quote_identifier
from chancery.tabular.tree import as_integer, as_items, as_object, as_text, texts
from chancery.tabular.twin import NO_COLUMN

if TYPE_CHECKING:
    from collections.abc import Generator


def cut(engine: Engine, schema: TableSchema, job: Mapping[str, Json], incoming: Incoming) -> bytes:
    """Return the columns of `schema` of the allowed rows in the next frame, in their order.

    Raises:
        EngineFailure: `dataset_unreadable` when the snapshot lacks a column or has it with another
            type, or that time or memory ran out.
        TooLarge: `sql_input_too_large` beyond the bytes that the job allows.
    """
    bytes_max = as_integer(job["bytes_max"])
    with SNAPSHOT.holding(incoming):
        stored = stored_types(engine)
        if any(stored.get(each.name) != each.duckdb_type for each in schema.columns):
            raise EngineFailure("dataset_unreadable")
        condition, values = _condition(engine, job, stored)
        taken = ", ".join(quote_identifier(each.name) for each in schema.columns)
        taken = taken or f"CAST(NULL AS BOOLEAN) AS {quote_identifier(NO_COLUMN)}"
        with _bounded(bytes_max):
            engine.run(
                f"COPY (SELECT {taken} FROM {FROM_SNAPSHOT} WHERE {condition})"  # noqa: S608
                f" TO '{CUT.path}' (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)",
                values,
            )
    return CUT.contents()


def _condition(
    engine: Engine, job: Mapping[str, Json], stored: Mapping[str, str]
) -> tuple[str, list[list[str]]]:
    """Return the condition of the allowed rows, and its parameters."""
    names = {fold(name): name for name in stored}
    conditions, parameters = ["true"], list[list[str]]()
    for entry in as_items(job["filters"]):
        column, values = as_text(as_object(entry)["column"]), texts(as_object(entry)["values"])
        # The engine folds ASCII only: it is asked for the column as it is stored.
        name = column if column in stored else names.get(fold(column))
        if name is None:
            raise EngineFailure("dataset_unreadable")
        duckdb_type = stored[name]
        parameters.append(_values_of(engine, values, duckdb_type))
        cast = f"CAST(${len(parameters)}::VARCHAR[] AS {duckdb_type}[])"
        conditions.append(f"list_contains({cast}, {quote_identifier(name)})")
    return " AND ".join(conditions), parameters


def _values_of(engine: Engine, values: Sequence[str], duckdb_type: str) -> list[str]:
    """Return the texts that are values of the column's type: what is no value matches no row."""
    exact = [each for each in values if is_exact(each, duckdb_type)]
    rows = engine.fetch(
        f"SELECT v FROM (SELECT unnest($1::VARCHAR[]) AS v)"  # noqa: S608
        f" WHERE TRY_CAST(v AS {duckdb_type}) IS NOT NULL",
        [exact],
        rows_max=len(exact) + 1,
    )
    return [str(row[0]) for row in rows]


@contextmanager
def _bounded(bytes_max: int) -> Generator[None]:
    """Let no file grow beyond `bytes_max`; a larger one is told apart from other failures."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))
    try:
        yield
    except EngineFailure as failure:
        if failure.code == "sql_failed" and CUT.size_bytes() >= bytes_max:
            detail = "what may be read of the datasets that sql names is too large; name fewer"
            raise TooLarge(detail, field="sql", code="sql_input_too_large") from failure
        code = "dataset_unreadable" if failure.code == "sql_failed" else failure.code
        raise EngineFailure(code) from failure
