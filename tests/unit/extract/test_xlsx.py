"""The text of workbooks, with the cell and the typed value behind each piece of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.evidence.layout import CellPlace, cell_name, cells
from chancery.extract import xlsx
from chancery.extract.xlsx import read_xlsx
from chancery.kernel.errors import Rejected
from tests.unit.extract.files import docx_file, paragraph, xlsx_file

_TEXT = st.text("abcäöü 0123456789", min_size=1, max_size=12)


def _cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


@settings(max_examples=40, deadline=None)
@given(
    grid=st.dictionaries(
        st.tuples(st.integers(0, 30), st.integers(0, 60)), _TEXT, min_size=1, max_size=12
    )
)
def test_every_cell_stands_at_its_offsets_under_its_name(grid: dict[tuple[int, int], str]) -> None:
    rows: dict[int, list[str]] = {}
    for (row, column), text in sorted(grid.items()):
        rows.setdefault(row, []).append(_cell(cell_name(row, column), text))
    xml = "".join(f'<row r="{row + 1}">{"".join(found)}</row>' for row, found in rows.items())

    text, layout = read_xlsx(xlsx_file({"Sheet": xml}))

    (sheet,) = layout.sheets
    assert {(row, column): text[a:b] for a, b, row, column, *_ in sheet.cells} == grid
    for start, end, row, column, _, value in sheet.cells:
        expected = CellPlace("Sheet", cell_name(row, column), "text", value)
        assert cells(layout, start, end) == (expected,)


def test_values_keep_their_type_beside_the_text_that_is_shown() -> None:
    row = (
        _cell("A2", "007")
        + '<c r="B2"><v>7</v></c><c r="C2"><v>0.1</v></c><c r="D2" t="b"><v>1</v></c>'
        '<c r="E2" t="e"><v>#DIV/0!</v></c><c r="F2" s="1"><v>45000</v></c>'
        '<c r="G2"><v>12345678901234567</v></c>'
    )

    text, layout = read_xlsx(xlsx_file({"S": f'<row r="2">{row}</row>'}))

    assert text == "S\n007\t7\t0.1\tTRUE\t2023-03-15\t1.2345678901234568e+16"
    assert [(each.cell, each.type, each.value) for each in cells(layout, 0, len(text))] == [
        ("A2", "text", "007"),
        ("B2", "number", "7.0"),
        ("C2", "number", "0.1"),
        ("D2", "boolean", "true"),
        ("F2", "date", "2023-03-15"),
        ("G2", "number", "1.2345678901234568e+16"),
    ]


def test_sheets_follow_each_other_and_hidden_ones_are_left_out() -> None:
    sheets = {name: f"<row>{_cell('A1', name.lower())}</row>" for name in ("One", "Two", "Three")}

    text, layout = read_xlsx(xlsx_file({**sheets, "Empty": ""}, hidden=["Two"]))

    assert text == "One\none\n\nThree\nthree"
    assert [each.name for each in layout.sheets] == ["One", "Three", "Empty"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (xlsx_file({"S": ""}), "no_text"),
        (docx_file(paragraph("text")), "wrong_media_type"),
        (xlsx_file({"S": "<row><c>"}), "unreadable_document"),
    ],
)
def test_what_is_no_workbook_is_refused_by_code(data: bytes, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        read_xlsx(data)

    assert refused.value.code == code


def test_more_cells_than_a_document_may_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = xlsx_file({"S": f"<row>{_cell('A1', 'a')}{_cell('B1', 'b')}</row>"})
    monkeypatch.setattr(xlsx, "CELLS_MAX", 2)
    assert read_xlsx(data)[0] == "S\na\tb"

    monkeypatch.setattr(xlsx, "CELLS_MAX", 1)
    with pytest.raises(Rejected) as refused:
        read_xlsx(data)

    assert refused.value.code == "too_many_cells"


def test_a_text_that_grows_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = xlsx_file({"S": f"<row>{_cell('A1', 'abc')}{_cell('B1', 'abc')}</row>"})
    monkeypatch.setattr(xlsx, "TEXT_CHARACTERS_MAX", len("S\nabc\tabc"))
    assert read_xlsx(data)[0] == "S\nabc\tabc"

    monkeypatch.setattr(xlsx, "TEXT_CHARACTERS_MAX", len("S\nabc\tab"))
    with pytest.raises(Rejected) as refused:
        read_xlsx(data)

    assert refused.value.code == "text_too_long"


@pytest.mark.parametrize(
    ("row", "column", "name"), [(0, 0, "A1"), (6, 27, "AB7"), (1048575, 16383, "XFD1048576")]
)
def test_cells_are_named_as_spreadsheets_do(row: int, column: int, name: str) -> None:
    assert cell_name(row, column) == name


@pytest.mark.req("KO-3")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("<v>50</v>", "50"),
        ('<v xml:space="preserve">50</v> <!--x-->', "50"),
        ("<f>A1*2</f>\n<!--x--><v>50</v>", "50"),
        ("<v>5<!--x-->0</v>", None),
        ("<v>5&#48;</v>", None),
        ("<v>&#53;0</v>", None),
        ("<v>5<![CDATA[0]]></v>", None),
        ("<v><![CDATA[50]]></v>", None),
        ("<v>5<?x y?>0</v>", None),
        ("<v>5<x/>0</v>", None),
    ],
)
def test_a_number_of_which_its_reader_takes_a_part_refuses_the_workbook(
    value: str, text: str | None
) -> None:
    rows = f'<row r="1"><c r="A1">{value}</c><c r="B1" t="str"><v>a&amp;b<!--x-->c</v></c></row>'
    if text is not None:
        assert read_xlsx(xlsx_file({"S": rows}))[0] == f"S\n{text}\ta&bc"
        return
    with pytest.raises(Rejected) as refused:
        read_xlsx(xlsx_file({"S": rows}))

    assert refused.value.code == "unreadable_document"
