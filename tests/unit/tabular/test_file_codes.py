"""What a file is refused for before any of its values is looked at, in each format."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.kernel.errors import Rejected, TooLarge
from chancery.tabular import csv, parquet, workbook
from chancery.tabular.csv import check_csv
from chancery.tabular.engine import Engine
from chancery.tabular.names import COLUMNS_MAX, check_names
from chancery.tabular.parquet import convert_parquet
from chancery.tabular.workbook import read_workbook
from tests.unit.extract.files import xlsx_file
from tests.unit.tabular import workbooks

MANY = [f"c{number}" for number in range(COLUMNS_MAX + 1)]
ROWS = [["a", "b"], [1, 2], [3, 4], [5, 6]]
SHEET = workbooks.workbook(ROWS)


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (
            ["id", "ID"],
            ("csv_duplicate_column", "parquet_duplicate_column", "xlsx_duplicate_column"),
        ),
        (
            ["id", " "],
            ("csv_empty_column_name", "parquet_empty_column_name", "xlsx_empty_column_name"),
        ),
        (["x" * 65], ("csv_column_name", "parquet_column_name", "xlsx_column_name")),
        (["a\nb"], ("csv_column_name", "parquet_column_name", "xlsx_column_name")),
        (MANY, ("csv_too_many_columns", "parquet_too_many_columns", "xlsx_too_many_columns")),
    ],
)
def test_names_that_sql_cannot_tell_apart_are_refused_in_each_format(
    names: list[str], codes: tuple[str, str, str]
) -> None:
    found: list[str] = []
    for file_format in ("csv", "parquet", "xlsx"):
        with pytest.raises(Rejected) as refused:
            check_names(names, file_format)
        assert "x" * 65 not in refused.value.detail
        found.append(refused.value.code)

    assert tuple(found) == codes
    check_names(["id", "amount"], "csv")


def test_a_row_too_many_is_refused_in_each_format(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file.parquet"
    with Engine() as engine:
        engine.run(f"COPY (SELECT range AS a FROM range(3)) TO '{file}' (FORMAT parquet)")
    stored = file.read_bytes()
    good = (check_csv(b"a\n1\n2\n3\n").rows, convert_parquet(stored, {}).row_count)
    for module in (csv, parquet, workbook):
        monkeypatch.setattr(module, "ROWS_MAX", 2)
    codes: list[str] = []

    for read in (
        lambda: check_csv(b"a\n1\n2\n3\n"),
        lambda: convert_parquet(stored, {}),
        lambda: read_workbook(SHEET),
    ):
        with pytest.raises(TooLarge) as refused:
            read()
        codes.append(refused.value.code)

    assert good == (3, 3)
    assert codes == ["csv_too_many_rows", "parquet_too_many_rows", "xlsx_too_many_rows"]


@pytest.mark.parametrize(
    ("bound", "value", "code"),
    [
        ("UNPACKED_BYTES_MAX", 100, "xlsx_too_large"),
        ("CELLS_MAX", 7, "xlsx_too_large"),
        ("COLUMNS_MAX", 1, "xlsx_too_many_columns"),
    ],
)
def test_a_workbook_beyond_a_bound_is_refused_by_its_code(
    monkeypatch: pytest.MonkeyPatch, bound: str, value: int, code: str
) -> None:
    assert len(read_workbook(SHEET).rows) == 3
    monkeypatch.setattr(workbook, bound, value)

    with pytest.raises(TooLarge) as refused:
        read_workbook(SHEET)

    assert refused.value.code == code


def test_a_table_has_the_hidden_rows_and_columns_of_its_sheet_too() -> None:
    """Datasets are typed from whole sheets; documents leave out what nobody sees."""
    hidden = xlsx_file(
        {"S": '<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>b</v></c></row>'
              '<row r="2" hidden="1"><c r="A2"><v>1</v></c><c r="B2"><v>2</v></c></row>'},
        hidden=["S"],
        columns='<cols><col min="2" max="2" hidden="1"/></cols>',
    )  # fmt: skip

    table = read_workbook(hidden)

    assert (table.columns, table.rows) == (("a", "b"), [["1", "2"]])
