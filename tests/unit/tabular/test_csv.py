"""Strict CSV: what is read is exactly what stood in the file; all else is refused by number."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected, TooLarge
from chancery.tabular.csv import CsvHeader, check_csv, read_rows
from chancery.tabular.names import COLUMNS_MAX

REFUSED = [
    (b"", "csv_empty"),
    (b" \n\n", "csv_empty"),
    (b"\xef\xbb\xbf", "csv_empty"),
    (b"a,b\n1,\xff\n", "csv_invalid_utf8"),
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
