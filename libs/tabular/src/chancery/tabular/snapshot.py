"""A CSV file as Parquet: typed without losing a digit, the same bytes for the same file.

The bytes are the same for one version of DuckDB (its name and version stand in the file's footer).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from chancery.kernel.errors import Rejected
from chancery.tabular.csv import CsvHeader, check_csv, read_rows
from chancery.tabular.engine import Engine
from chancery.tabular.inference import ColumnEvidence, parse_declaration
from chancery.tabular.schema import (
    Column,
    ColumnDeclaration,
    column_of,
    fold,
    quote_identifier,
)

_BATCH_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A dataset's rows at one moment, in the order of the file."""

    parquet: bytes
    columns: tuple[Column, ...]
    row_count: int


def convert_csv(data: bytes, declared: Mapping[str, ColumnDeclaration]) -> Snapshot:
    """Return `data` as a snapshot; a declared type wins over the inferred one.

    Blocking and memory-hungry: services call it through `WorkerPool.convert`.

    Raises:
        Rejected: as `check_csv`; `unknown_column`, `invalid_column_type` for a declaration;
            `csv_value_mismatch` when a field is not of its column's declared type.
    """
    header = check_csv(data)
    columns = _typed(data, header, declared)
    return Snapshot(_parquet(data, columns), columns, header.rows)


def _typed(
    data: bytes, header: CsvHeader, declared: Mapping[str, ColumnDeclaration]
) -> tuple[Column, ...]:
    wanted = _declarations(header, declared)
    evidence = [ColumnEvidence.empty() for _ in header.columns]
    families = [None if each is None else each[0] for each in wanted]
    for number, row in enumerate(read_rows(data), start=2):
        _take(row, number, evidence, families)
    return tuple(
        column_of(name, _type_of(number, each, found))
        for number, (name, each, found) in enumerate(
            zip(header.columns, wanted, evidence, strict=True), start=1
        )
    )


def _declarations(
    header: CsvHeader, declared: Mapping[str, ColumnDeclaration]
) -> list[tuple[str, tuple[int, int] | None] | None]:
    by_name = {fold(name): each for name, each in declared.items()}
    missing = set(by_name) - {fold(name) for name in header.columns}
    if missing:
        detail = f"columns declares {len(missing)} column(s) that the CSV file does not have"
        raise Rejected(detail, field="columns", code="unknown_column")
    return [
        parse_declaration(
            by_name.get(fold(name), ColumnDeclaration()), field=f"columns.{name}.type"
        )
        for name in header.columns
    ]


def _take(
    row: Sequence[str],
    number: int,
    evidence: Sequence[ColumnEvidence],
    families: Sequence[str | None],
) -> None:
    for text, found, family in zip(row, evidence, families, strict=True):
        if text and family is None:
            found.add(text)
        elif text and family is not None:
            found.add_declared(text, family, number)


def _type_of(
    number: int, wanted: tuple[str, tuple[int, int] | None] | None, found: ColumnEvidence
) -> str:
    if wanted is None:
        return found.inferred()
    family, exact = wanted
    if found.mismatch_row is not None:
        detail = f"row {found.mismatch_row}, column {number} of the CSV file is not a {family}"
        raise Rejected(detail, field="snapshot", code="csv_value_mismatch")
    duckdb_type = found.declared(family, exact)
    if duckdb_type is None:
        detail = f"column {number} of the CSV file has more digits than its declared type"
        raise Rejected(detail, field="snapshot", code="csv_value_mismatch")
    return duckdb_type


def _parquet(data: bytes, columns: Sequence[Column]) -> bytes:
    with Engine() as engine, tempfile.TemporaryFile() as file:
        engine.run("SET threads=1")
        engine.run("SET TimeZone='UTC'")
        names = ", ".join(f"{quote_identifier(c.name)} {c.duckdb_type}" for c in columns)
        engine.run(f"CREATE TABLE snapshot ({names})")
        insert = insertion("snapshot", columns)
        rows = read_rows(data)
        while batch := list(islice(rows, _BATCH_ROWS)):
            engine.run(insert, list(_by_column(batch)))
        engine.run(
            f"COPY snapshot TO '/dev/fd/{file.fileno()}'"
            " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
        )
        file.seek(0)
        return file.read()


def insertion(table: str, columns: Sequence[Column]) -> str:
    """Return the INSERT that takes one list of texts per column and casts them to its type."""
    values = ", ".join(
        f"CAST(unnest(${number}::VARCHAR[]) AS {column.duckdb_type})"
        for number, column in enumerate(columns, start=1)
    )
    return f"INSERT INTO {quote_identifier(table)} SELECT {values}"


def _by_column(batch: Sequence[Sequence[str]]) -> Iterator[list[str | None]]:
    for column in zip(*batch, strict=True):
        yield [text or None for text in column]
