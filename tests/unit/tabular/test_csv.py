"""Strict CSV: what is read is exactly what stood in the file; all else is refused by number."""

from __future__ import annotations

import csv
import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected, TooLarge
from chancery.tabular.csv import CsvHeader, append_csv, check_csv, read_rows
from chancery.tabular.names import COLUMNS_MAX

REFUSED = [
    (b"", "csv_empty"),
    (b" \n\n", "csv_empty"),
    (b"\xef\xbb\xbf", "csv_empty"),
    (b"a,b\n1,\xff\n", "csv_invalid_utf8"),
    (b"a,b\n1,\xc3", "csv_invalid_utf8"),
    (b"a\n1,2,3\n\xff", "csv_invalid_utf8"),
    (b"a,b\n1,\x00\n", "csv_nul"),
    (b"\na,b\n1,2\n", "csv_no_header"),
    (b"a;b\n1;2\n", "csv_separator"),
    (b"\xef\xbb\xbfa; b\r\n1,5;2\r\n", "csv_separator"),
    (b"a,\n1,2\n", "csv_empty_column_name"),
    (b"amount,Amount\n1,2\n", "csv_duplicate_column"),
    (b"a, b\n1,2\n", "csv_column_name"),
    ("a,b\u202e\n1,2\n".encode(), "csv_column_name"),
    (b"a," + b"b" * 65 + b"\n1,2\n", "csv_column_name"),
    (b"a,b\n1\n", "csv_ragged_row"),
    (b"a,b\n1,2,3\n", "csv_ragged_row"),
    (b"a,b\n\n1,2\n", "csv_ragged_row"),
    (b'a,b\n1,"2\n', "csv_malformed_row"),
    (b'a,b\n1,"2"3\n', "csv_malformed_row"),
]


@pytest.mark.parametrize(("data", "code"), REFUSED)
def test_a_doubtful_file_is_refused_with_its_code(data: bytes, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        check_csv(data)

    assert (refused.value.code, refused.value.field) == (code, "snapshot")


def test_a_ragged_row_is_named_by_number_and_never_by_content() -> None:
    with pytest.raises(Rejected) as refused:
        check_csv(b"a,b\n1,2\nsecret\n")

    assert "row 3" in refused.value.detail
    assert "secret" not in refused.value.detail


@pytest.mark.parametrize(
    "data", [b"a,b\n1,2\n", b"\xef\xbb\xbfa,b\r\n1,2\r\n", b"a,b\n1,2", b"a,b\n1,2\n\n\n"]
)
def test_marks_line_ends_and_final_blank_lines_change_nothing(data: bytes) -> None:
    assert check_csv(data) == CsvHeader(("a", "b"), 1)


def test_semicolons_stand_for_themselves_beside_commas() -> None:
    assert check_csv(b"a;b,c\n1;2,3\n") == CsvHeader(("a;b", "c"), 1)
    assert check_csv(b"a\n1;2\n") == CsvHeader(("a",), 1)


def test_a_header_alone_is_a_dataset_without_rows() -> None:
    assert check_csv(b"a,b\n") == CsvHeader(("a", "b"), 0)


def test_one_column_too_many_is_too_large() -> None:
    fits = ",".join(f"c{n}" for n in range(COLUMNS_MAX)).encode()

    assert len(check_csv(fits).columns) == COLUMNS_MAX
    with pytest.raises(TooLarge):
        check_csv(fits + b",more")


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)


@given(st.lists(st.lists(cells, min_size=2, max_size=2), max_size=6))
def test_reading_is_the_inverse_of_writing(rows: list[list[str]]) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])

    assert list(read_rows(buffer.getvalue().encode())) == rows


tables = st.lists(st.lists(cells, min_size=2, max_size=2), max_size=4)
line_ends = st.sampled_from(["\n", "\r\n"])


@given(tables, tables, line_ends, line_ends, st.booleans())
def test_appended_rows_stand_below_the_others_as_they_are(
    base: list[list[str]],
    more: list[list[str]],
    base_end: str,
    more_end: str,
    has_mark: bool,
) -> None:
    header = ['with "quotes"', "b"]
    first, second = written(header, base, base_end), written(header, more, more_end)

    joined = append_csv(first.removesuffix(base_end.encode()), mark(second, has_mark=has_mark))

    assert list(read_rows(joined)) == [*base, *more]


def test_nothing_appended_leaves_the_bytes_as_they_are() -> None:
    base = b"a,b\r\n1,2"

    assert append_csv(base, b"a,b\n") == base
    assert append_csv(base, b"a,b\n\n\n") == base
    assert append_csv(b"a,b\n", b"a,b\n3,4\n") == b"a,b\n3,4\n"


@given(st.text(st.sampled_from("a\r\n,\u2028"), max_size=12))
def test_lines_end_where_they_end_in_a_text_that_is_decoded_at_once(text: str) -> None:
    try:
        expected = list(csv.reader(io.StringIO(f"a,b\n{text}", newline=""), strict=True))[1:]
    except csv.Error:
        expected = []
    rows = [row for row in expected if row]

    try:
        found = list(read_rows(f"a,b\n{text}".encode()))
    except Rejected:
        return

    assert found == rows


@pytest.mark.parametrize("cell", ["abcdefgh", "\u00e4bcdefgh", "\U0001f600bcdefgh"])
def test_appending_takes_little_more_memory_than_the_result(cell: str) -> None:
    row = f"1,{cell},{cell}\n".encode()
    base, more = b"a,b,c\n" + row * 50_000, b"a,b,c\n" + row * 200

    tracemalloc.start()
    try:
        joined = append_csv(base, more)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert joined == base + row * 200
    assert taken < 2 * len(joined)


@pytest.mark.parametrize("more", [b"b,a\n1,2\n", b"a\n1\n", b"A,b\n1,2\n", b"a,b,c\n1,2,3\n"])
def test_other_columns_are_not_appended(more: bytes) -> None:
    with pytest.raises(Rejected) as refused:
        append_csv(b"a,b\n1,2\n", more)

    assert refused.value.code == "csv_other_columns"


def written(header: list[str], rows: list[list[str]], end: str) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator=end).writerows([header, *rows])
    return buffer.getvalue().encode()


def mark(data: bytes, *, has_mark: bool) -> bytes:
    return b"\xef\xbb\xbf" + data if has_mark else data
