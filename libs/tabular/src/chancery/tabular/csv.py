"""Strict CSV (RFC 4180, UTF-8, commas): every doubtful file is refused, no row is repaired.

Refusals name a row or a column by number, never by its content. A file is decoded as it is read, so
that checking one takes no memory beside its bytes, and appending no more than the result.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from chancery.kernel.errors import Rejected, TooLarge
from chancery.tabular.names import check_names

ROWS_MAX = 1_000_000
_LINE_ENDS = b"\r\n"
_PIECE_CHARACTERS = 64 * 1024
_NUL = "the CSV file holds a NUL byte; if it is UTF-16, save it as CSV in UTF-8, else remove it"
_NOT_UTF8 = "the CSV file is not valid UTF-8; save it as CSV in UTF-8 (iconv -f CHARSET -t UTF-8)"
_NO_RECORD: tuple[int, list[str]] = (1, [])


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The column names in order, and how many rows follow them."""

    columns: tuple[str, ...]
    rows: int


def check_csv(data: bytes) -> CsvHeader:
    """Read all of `data` and return its header.

    Raises:
        Rejected: with a code that starts with `csv_`; `TooLarge` where a bound is exceeded.
    """
    _check_text(data)
    columns = _header(data)
    return CsvHeader(columns, sum(1 for _ in _rows(data, len(columns))))


def read_rows(data: bytes) -> Iterator[list[str]]:
    """Yield the rows below the header, checked as `check_csv` does; an empty field is ``""``.

    Raises:
        Rejected: as `check_csv`.
    """
    _check_text(data)
    yield from _rows(data, len(_header(data)))


def append_csv(base: bytes, more: bytes) -> bytes:
    """Return the rows of `more` below those of `base`; both keep their spelling.

    Raises:
        Rejected: as `check_csv` for either; `csv_other_columns` unless both name the same columns.
    """
    if check_csv(base).columns != check_csv(more).columns:
        detail = "the first row names other columns, or in another order, than the snapshot has"
        raise _refused(detail, "csv_other_columns")
    added = memoryview(more)[_header_bytes(more) :]
    if not bytes(added).strip(_LINE_ENDS):
        return base
    end = len(base.rstrip(_LINE_ENDS))
    return b"".join((memoryview(base)[_mark_bytes(base) : end], b"\n", added))


def _header_bytes(data: bytes) -> int:
    """Return how many bytes the mark and the header take, with the end of its last line."""
    reader = csv.reader(_lines(data), strict=True)
    next(reader)
    header = islice(_lines(data), reader.line_num)
    return _mark_bytes(data) + sum(len(line.encode()) for line in header)


def _mark_bytes(data: bytes) -> int:
    return len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0


def _lines(data: bytes) -> io.TextIOWrapper:
    """Return the lines with their ends, decoded one piece after the other."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")


def _check_text(data: bytes) -> None:
    if b"\x00" in data:
        raise _refused(_NUL, "csv_nul")
    text, is_blank = _lines(data), True
    try:
        while piece := text.read(_PIECE_CHARACTERS):
            is_blank = is_blank and not piece.strip()
    except UnicodeDecodeError as error:
        raise _refused(_NOT_UTF8, "csv_invalid_utf8") from error
    if is_blank:
        raise _refused("the CSV file is empty; it needs a header row", "csv_empty")


def _header(data: bytes) -> tuple[str, ...]:
    _, first = next(_records(data), _NO_RECORD)
    if not first:
        raise _refused("the CSV file starts with an empty line, not with a header", "csv_no_header")
    if len(first) == 1 and ";" in first[0]:
        detail = "the CSV file has one column, with a semicolon in its name; separate with commas"
        raise _refused(detail, "csv_separator")
    check_names(first, "csv")
    return tuple(first)


def _rows(data: bytes, width: int) -> Iterator[list[str]]:
    records = _records(data)
    next(records)
    blank_row = 0
    for count, (number, record) in enumerate(records, start=1):
        if count > ROWS_MAX:
            raise _too_large(f"the CSV file has more than {ROWS_MAX} rows", "csv_too_many_rows")
        if not record:
            blank_row = blank_row or number
            continue
        if blank_row:
            raise _ragged(blank_row, 0, width)
        if len(record) != width:
            raise _ragged(number, len(record), width)
        yield record


def _records(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield (row number, fields); the header is row 1 and an empty line has no fields."""
    reader = csv.reader(_lines(data), strict=True)
    number = 1
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            detail = f"row {number} of the CSV file has broken quoting or too long a field"
            raise _refused(detail, "csv_malformed_row") from error
        yield number, record
        number += 1


def _ragged(number: int, found: int, width: int) -> Rejected:
    detail = f"row {number} of the CSV file has {found} fields where the header has {width}"
    return _refused(detail, "csv_ragged_row")


def _refused(detail: str, code: str) -> Rejected:
    return Rejected(detail, field="snapshot", code=code)


def _too_large(detail: str, code: str) -> TooLarge:
    return TooLarge(detail, field="snapshot", code=code)
