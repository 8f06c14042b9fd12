"""A CSV file or a workbook as Parquet: no digit is lost, the same file gives the same bytes.

The bytes are the same for one version of DuckDB (its name and version stand in the file's footer).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from chancery.kernel.errors import Rejected
from chancery.tabular.csv import check_csv, read_rows
from chancery.tabular.engine import Engine
from chancery.tabular.inference import ColumnEvidence, parse_declaration
from chancery.tabular.schema import (
    Column,
    ColumnDeclaration,
    column_of,
    fold,
    quote_identifier,
)
from chancery.tabular.workbook import read_workbook

_BATCH_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A dataset's rows at one moment, in the order of the file."""

    parquet: bytes
    columns: tuple[Column, ...]
    row_count: int


@dataclass(frozen=True, slots=True)
class _Source:
    """A file as texts: its column names, its rows (read again each time), what must stay text."""

    file_format: str
    columns: tuple[str, ...]
    rows: Callable[[], Iterable[Sequence[str]]]
    row_count: int
    text_columns: frozenset[int] = frozenset()


def convert_csv(data: bytes, declared: Mapping[str, ColumnDeclaration]) -> Snapshot:
    """Return `data` as a snapshot; a declared type wins over the inferred one.

    Blocking and memory-hungry: services call it through `WorkerPool.convert`.

    Raises:
        Rejected: as `check_csv`; `unknown_column`, `invalid_column_type` for a declaration;
            `csv_value_mismatch` when a field is not of its column's declared type.
    """
    header = check_csv(data)
    return _converted(
        _Source("csv", header.columns, lambda: read_rows(data), header.rows), declared
    )


def convert_xlsx(data: bytes, declared: Mapping[str, ColumnDeclaration]) -> Snapshot:
    """Return the first sheet of a workbook as a snapshot; see `convert_csv`.

    Raises:
        Rejected: as `read_workbook`; `xlsx_value_mismatch` and what `convert_csv` says.
    """
    sheet = read_workbook(data, _timestamps(declared))
    rows = len(sheet.rows)
    return _converted(
        _Source("xlsx", sheet.columns, lambda: sheet.rows, rows, sheet.text_columns), declared
    )


def _timestamps(declared: Mapping[str, ColumnDeclaration]) -> frozenset[str]:
    """Return the folded names of the columns that are declared to be timestamps."""
    return frozenset(
        fold(name)
        for name, each in declared.items()
        if each.type is not None and each.type.strip().lower() == "timestamp"
    )


def declared_by_name(
    columns: Sequence[str], declared: Mapping[str, ColumnDeclaration], file_format: str
) -> Mapping[str, ColumnDeclaration]:
    """Return the declarations by folded name; each must be of a column that the file has.

    Raises:
        Rejected: `unknown_column`.
    """
    by_name = {fold(name): each for name, each in declared.items()}
    there = {fold(name) for name in columns}
    missing = sorted(name for name in declared if fold(name) not in there)
    if missing:
        detail = f"columns declares {len(missing)} column(s) that the {file_format} file lacks"
        raise Rejected(detail, field=f"columns.{missing[0]}", code="unknown_column")
    return by_name


def _converted(source: _Source, declared: Mapping[str, ColumnDeclaration]) -> Snapshot:
    columns = _typed(source, declared)
    return Snapshot(_parquet(source, columns), columns, source.row_count)


def _typed(source: _Source, declared: Mapping[str, ColumnDeclaration]) -> tuple[Column, ...]:
    wanted = _declarations(source, declared)
    evidence = [
        ColumnEvidence({"text"} if index in source.text_columns else set())
        for index in range(len(source.columns))
    ]
    families = [None if each is None else each[0] for each in wanted]
    for number, row in enumerate(source.rows(), start=2):
        _take(row, number, evidence, families)
    return tuple(
        column_of(name, _type_of(source.file_format, (number, name), each, found))
        for number, (name, each, found) in enumerate(
            zip(source.columns, wanted, evidence, strict=True), start=1
        )
    )


def _declarations(
    source: _Source, declared: Mapping[str, ColumnDeclaration]
) -> list[tuple[str, tuple[int, int] | None] | None]:
    by_name = declared_by_name(source.columns, declared, source.file_format)
    return [
        parse_declaration(
            by_name.get(fold(name), ColumnDeclaration()), field=f"columns.{name}.type"
        )
        for name in source.columns
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
    file_format: str,
    column: tuple[int, str],
    wanted: tuple[str, tuple[int, int] | None] | None,
    found: ColumnEvidence,
) -> str:
    if wanted is None:
        return found.inferred()
    family, exact = wanted
    number, name = column
    field = f"columns.{name}.type"
    code = f"{file_format}_value_mismatch"
    if found.mismatch_row is not None:
        place = f"row {found.mismatch_row}, column {number}"
        detail = f"{place} of the {file_format} file is not a {family}"
        raise Rejected(detail, field=field, code=code)
    duckdb_type = found.declared(family, exact)
    if duckdb_type is None:
        detail = f"column {number} of the {file_format} file has more digits than its declared type"
        raise Rejected(detail, field=field, code=code)
    return duckdb_type


def _parquet(source: _Source, columns: Sequence[Column]) -> bytes:
    with Engine() as engine, tempfile.TemporaryFile() as file:
        engine.run("SET threads=1")
        engine.run("SET TimeZone='UTC'")
        names = ", ".join(f"{quote_identifier(c.name)} {c.duckdb_type}" for c in columns)
        engine.run(f"CREATE TABLE snapshot ({names})")
        insert = insertion("snapshot", columns)
        rows = iter(source.rows())
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
