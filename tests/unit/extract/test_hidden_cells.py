"""What a reader of a workbook does not see is neither in its text nor in its layout."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.evidence.layout import cell_name
from chancery.extract.xlsx import read_xlsx
from chancery.kernel.errors import Rejected
from tests.unit.extract.files import styles_of, xlsx_file, zip_file
from tests.unit.extract.test_workbook_formats import cell, parts_of

SHEET = (
    '<row r="1"><c r="A1"><v>11</v></c><c r="B1"><v>12</v></c></row>'
    '<row r="2"{row}><c r="A2"><v>21</v></c><c r="B2"><v>22</v></c></row>'
)
ALL = "S\n11\t12\n21\t22"
UNSURE = '<row r="9"><c r="A7"><v>7</v></c></row>'


def read(row: str = "", columns: str = "", styles: str | None = None, merged: str = "") -> str:
    """Return the text of the sheet with attributes of its second row and XML around its rows."""
    xml = SHEET.format(row=f" {row}" if row else "")
    file = xlsx_file({"S": xml}, styles=styles, columns=columns, merged=merged)
    text, layout = read_xlsx(file)
    (sheet,) = layout.sheets
    assert [text[start:end] for start, end, *_ in sheet.cells] == text.split()[1:]
    assert [each[-1] for each in sheet.cells] == [f"{each}.0" for each in text.split()[1:]]
    return text


@pytest.mark.req("KO-3")
@pytest.mark.parametrize(
    "row", ['hidden="1"', 'hidden="true"', 'ht="0" customHeight="1"', 'ht="0.0"', 'ht="0.1"']
)
def test_the_cells_of_a_hidden_row_are_left_out(row: str) -> None:
    assert read(row) == "S\n11\t12"
    assert read(row, styles=styles_of()) == "S\n11\t12"


@pytest.mark.req("KO-3")
@pytest.mark.parametrize(
    "column",
    [
        '<col min="2" max="2" hidden="1"/>',
        '<col min="2" max="16384" hidden="true" width="9"/>',
        '<col min="2" max="2" width="0" customWidth="1"/>',
        '<col min="1" max="1" width="9"/><col min="2" max="9" width="0.0"/>',
        '<col min="1" max="1" hidden="0"/><col min="2" max="2" hidden="1"/>',
    ],
)
def test_the_cells_of_a_hidden_column_are_left_out(column: str) -> None:
    assert read(columns=f"<cols>{column}</cols>") == "S\n11\n21"


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ("", ""),
        ('hidden="0"', '<cols><col min="1" max="2" hidden="false" width="9"/></cols>'),
        ('collapsed="1"', '<cols><col min="1" max="2" width="0.5" collapsed="1"/></cols>'),
        ('outlineLevel="1" ht="15"', '<sheetFormatPr defaultRowHeight="0" zeroHeight="1"/>'),
        ("", '<cols><col min="3" max="3" hidden="1"/></cols>'),
    ],
)
def test_what_is_seen_is_there(row: str, columns: str) -> None:
    assert read(row, columns) == ALL


def test_rows_and_columns_without_a_size_of_their_own_have_that_of_the_sheet() -> None:
    narrow = '<sheetFormatPr defaultColWidth="0"/><cols><col min="1" max="1" width="9"/></cols>'
    low = '<sheetFormatPr defaultRowHeight="0" customHeight="1"/>'

    assert read(columns=narrow) == "S\n11\n21"
    assert read('ht="15"', columns=low) == "S\n21\t22"


def test_a_workbook_that_shows_no_row_has_no_text() -> None:
    with pytest.raises(Rejected) as refused:
        read_xlsx(xlsx_file({"S": '<row hidden="1"><c><v>4711</v></c></row>'}))

    assert refused.value.code == "no_text"


def test_the_name_of_a_sheet_that_shows_no_cell_is_left_out() -> None:
    hidden = '<row hidden="1"><c><v>4711</v></c></row>'

    assert read_xlsx(xlsx_file({"S": hidden, "T": "<row><c><v>1</v></c></row>"}))[0] == "T\n1"


@pytest.mark.parametrize(
    ("row", "columns"),
    [('hidden="1"', ""), ('ht="0"', ""), ("", '<cols><col min="2" max="2" hidden="1"/></cols>')],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_sheet_that_hides_something_and_cannot_be_placed_is_refused(
    row: str, columns: str, *, is_first: bool
) -> None:
    xml = SHEET.format(row=f" {row}")
    rows = UNSURE + xml if is_first else xml + UNSURE
    seen = read_xlsx(xlsx_file({"S": rows.replace(row, "") if row else rows}))[0]
    assert seen == "S\n11\t12\n21\t22\n7"

    with pytest.raises(Rejected) as refused:
        read_xlsx(xlsx_file({"S": rows}, columns=columns))

    assert refused.value.code == "ambiguous_sheet"


@pytest.mark.parametrize(
    "column",
    ['<col hidden="1"/>', '<col min="2" max="1" hidden="1"/>', '<col min="b" hidden="1"/>'],
)
def test_hidden_columns_without_a_place_are_refused(column: str) -> None:
    with pytest.raises(Rejected) as refused:
        read(columns=f"<cols>{column}</cols>")

    assert refused.value.code == "ambiguous_sheet"


def test_a_sheet_whose_part_is_not_sure_is_refused_when_some_part_hides_something() -> None:
    def renamed(row: str) -> bytes:
        files = parts_of(xlsx_file({"S": SHEET.format(row=row)}))
        return zip_file({name.replace("sheet1", "SHEET1"): part for name, part in files.items()})

    assert read_xlsx(renamed(""))[0] == ALL

    with pytest.raises(Rejected) as refused:
        read_xlsx(renamed(' hidden="1"'))

    assert refused.value.code == "ambiguous_sheet"


def test_a_cell_that_only_the_reader_of_values_sees_is_no_sure_one() -> None:
    foreign = '<x:row xmlns:x="urn:x" hidden="1"><x:c r="A3"><x:v>31</x:v></x:c></x:row>'
    shown = foreign.replace(' hidden="1"', "")
    assert read_xlsx(xlsx_file({"S": SHEET.format(row="") + shown}))[0] == f"{ALL}\n31"

    with pytest.raises(Rejected) as refused:
        read_xlsx(xlsx_file({"S": SHEET.format(row="") + foreign}))

    assert refused.value.code == "ambiguous_sheet"


@settings(max_examples=60, deadline=None)
@given(
    places=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 40)), min_size=1, max_size=30),
    rows=st.sets(st.integers(0, 9)),
    columns=st.sets(st.integers(0, 40)),
)
def test_exactly_the_cells_in_no_hidden_row_or_column_are_there(
    places: set[tuple[int, int]], rows: set[int], columns: set[int]
) -> None:
    written: dict[int, list[str]] = {0: [cell("XFD1", 1)]}
    for row, column in sorted(places):
        written.setdefault(row, []).insert(-1 if row == 0 else 99, cell(cell_name(row, column), 1))
    xml = "".join(
        f'<row r="{row + 1}" hidden="{int(row in rows and row > 0)}">{"".join(found)}</row>'
        for row, found in sorted(written.items())
    )
    cols = "".join(f'<col min="{each + 1}" max="{each + 1}" hidden="1"/>' for each in columns)

    _, layout = read_xlsx(xlsx_file({"S": xml}, columns=f"<cols>{cols}</cols>"))

    (sheet,) = layout.sheets
    found = {(row, column) for _, _, row, column, *_ in sheet.cells}
    seen = {
        each for each in places if each[1] not in columns and (each[0] not in rows or not each[0])
    }
    assert found == seen | {(0, 16_383)}


def merging(*references: str) -> str:
    """Return the XML of merged cells."""
    inner = "".join(f"<mergeCell ref={quoteattr(each)}/>" for each in references)
    return f"<mergeCells>{inner}</mergeCells>"


@pytest.mark.req("KO-3")
@pytest.mark.parametrize(
    ("references", "text"),
    [
        (["A1:B1"], "S\n11\n21\t22"),
        (["A1:A2"], "S\n11\t12\n22"),
        (["A1:B2"], "S\n11"),
        (["A1:XFD1048576"], "S\n11"),
        (["B2:A1"], "S\n11"),
        (["B1:A2"], "S\n11"),
        (["A1:B1", "B1:B2"], "S\n11\n21"),
        (["A1:B1", "A2:B2"], "S\n11\n21"),
        (["A1:C3", "D4:E9"], "S\n11"),
        (["B2:C9"], ALL),
        (["A1"], ALL),
        (["C1:D4"], ALL),
        ([], ALL),
    ],
)
def test_the_cells_below_a_merged_one_are_left_out(references: list[str], text: str) -> None:
    assert read(merged=merging(*references)) == text
    assert read(merged=merging(*references), styles=styles_of()) == text


@pytest.mark.parametrize("reference", ["", "A1:", "A:B", "1:2", "A0:B1", "A1:XFE1", "A1:B1 A2:B2"])
def test_merged_cells_without_a_place_are_refused(reference: str) -> None:
    with pytest.raises(Rejected) as refused:
        read(merged=merging(reference))

    assert refused.value.code in {"ambiguous_sheet", "unreadable_document"}


def test_a_sheet_that_merges_filled_cells_and_cannot_be_placed_is_refused() -> None:
    rows = SHEET.format(row="") + UNSURE
    assert read_xlsx(xlsx_file({"S": rows}, merged=merging("C1:D1")))[0] == f"{ALL}\n7"

    with pytest.raises(Rejected) as refused:
        read_xlsx(xlsx_file({"S": rows}, merged=merging("A1:B1")))

    assert refused.value.code == "ambiguous_sheet"


@settings(max_examples=60, deadline=None)
@given(
    places=st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30),
    corner=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    size=st.tuples(st.integers(1, 7), st.integers(1, 7)),
)
def test_exactly_the_cells_that_no_other_one_is_merged_across_are_there(
    places: set[tuple[int, int]], corner: tuple[int, int], size: tuple[int, int]
) -> None:
    written: dict[int, list[str]] = {20: [cell("A21", 1)]}
    for row, column in sorted(places):
        written.setdefault(row, []).append(cell(cell_name(row, column), 1))
    xml = "".join(
        f'<row r="{row + 1}">{"".join(found)}</row>' for row, found in sorted(written.items())
    )
    last = (corner[0] + size[0] - 1, corner[1] + size[1] - 1)
    merged = merging(f"{cell_name(*corner)}:{cell_name(*last)}")

    _, layout = read_xlsx(xlsx_file({"S": xml}, merged=merged))

    (sheet,) = layout.sheets
    found = {(row, column) for _, _, row, column, *_ in sheet.cells}
    below = {
        each
        for each in places
        if corner[0] <= each[0] <= last[0] and corner[1] <= each[1] <= last[1] and each != corner
    }
    assert found == (places - below) | {(20, 0)}


@pytest.mark.req("KO-3")
@pytest.mark.parametrize(
    "name", ["xl/Sheet1.xml", "XL/SHEET1.XML", "xl\\sheet1.xml", "/xl/sheet1.xml"]
)
def test_two_parts_that_some_reader_takes_for_one_are_refused(name: str) -> None:
    """One of them was asked what is hidden, and the values of the other one were quoted."""
    files = parts_of(xlsx_file({"S": SHEET.format(row="")}))
    assert read_xlsx(zip_file(files))[0] == ALL
    hiding = files["xl/sheet1.xml"].replace(b'<row r="2">', b'<row r="2" hidden="1">')

    with pytest.raises(Rejected) as refused:
        read_xlsx(zip_file({**files, name: hiding}))

    assert refused.value.code == "unreadable_document"
