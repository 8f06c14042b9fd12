"""Cells of workbooks are shown by the formats that their styles name, and by no other's."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.evidence.layout import CellPlace, cell_name, cells
from chancery.extract.number_formats import number_format
from chancery.extract.styles import STYLES_MAX
from chancery.extract.xlsx import read_xlsx
from chancery.kernel.errors import Rejected
from tests.unit.extract.files import styles_of, xlsx_file, zip_file

CODES = ("0.0%", "#,##0.00;(#,##0.00)", "yyyy-mm-dd", "h:mm", ";;;")
HIDING = 5


def cell(place: str, value: float | str, style: int | str | None = None) -> str:
    styled = "" if style is None else f' s="{style}"'
    return f'<c r="{place}"{styled}><v>{value}</v></c>'


def text_cell(place: str, text: str, style: int) -> str:
    return f'<c r="{place}" s="{style}" t="inlineStr"><is><t>{text}</t></is></c>'


def rows(*rows: str) -> str:
    return "".join(f'<row r="{number}">{row}</row>' for number, row in enumerate(rows, 1))


def shown(xml: str, styles: str | None = None, **more: str) -> str:
    """Return the text of a sheet without its name."""
    styles = styles_of(*CODES) if styles is None else styles
    return read_xlsx(xlsx_file({"S": xml}, styles=styles, **more))[0].removeprefix("S\n")


def parts_of(data: bytes) -> dict[str, bytes]:
    """Return the parts of a package without the list of their types, which is made anew."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return {name: package.read(name) for name in package.namelist()[1:]}


def used(*formats: int | str) -> str:
    """Return the XML of styles with these formats."""
    inner = "".join(f"<xf numFmtId={quoteattr(str(each))}/>" for each in formats)
    return f"<cellXfs>{inner}</cellXfs>"


def declared(*formats: dict[int, str]) -> str:
    """Return the XML of the codes of formats."""
    inner = "".join(
        f"<numFmt numFmtId={quoteattr(str(number))} formatCode={quoteattr(code)}/>"
        for each in formats
        for number, code in each.items()
    )
    return f"<numFmts>{inner}</numFmts>"


@pytest.mark.req("KO-3")
def test_a_cell_shows_its_format_and_keeps_its_value() -> None:
    row = cell("A1", 0.05, 1) + cell("B1", -1234.5, 2) + cell("C1", 45000, 3) + cell("D1", 0.25, 4)
    data = xlsx_file({"S": rows(row + cell("E1", 7))}, styles=styles_of(*CODES))

    text, layout = read_xlsx(data)

    assert text == "S\n5.0%\t(1,234.50)\t2023-03-15\t6:00\t7"
    start = text.index("(1,234.50)")
    assert cells(layout, start, start + 10) == (CellPlace("S", "B1", "number", "-1234.5"),)
    assert [each.value for each in cells(layout, 0, len(text))] == [
        "0.05", "-1234.5", "2023-03-15", "06:00:00", "7.0",
    ]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    grid=st.dictionaries(
        st.tuples(st.integers(0, 20), st.integers(0, 40)),
        st.tuples(st.decimals(1, 10**6, places=3).map(float), st.integers(0, 2)),
        min_size=1,
        max_size=20,
    ),
)
def test_every_cell_stands_at_its_offsets_as_its_own_format_shows_it(
    grid: dict[tuple[int, int], tuple[float, int]],
) -> None:
    written: dict[int, list[str]] = {}
    for (row, column), (value, style) in sorted(grid.items()):
        written.setdefault(row, []).append(cell(cell_name(row, column), value, style))
    xml = "".join(f'<row r="{row + 1}">{"".join(found)}</row>' for row, found in written.items())

    text, layout = read_xlsx(xlsx_file({"S": xml}, styles=styles_of(*CODES)))

    (sheet,) = layout.sheets
    found = {(row, column): text[start:end] for start, end, row, column, *_ in sheet.cells}
    codes = ("General", *CODES)
    for place, (value, style) in grid.items():
        expected = number_format(codes[style]).shown(value)
        assert expected is None or found.pop(place) == expected


def test_what_a_format_hides_is_neither_in_the_text_nor_in_the_layout() -> None:
    xml = rows(
        cell("A1", 1, 1) + cell("B1", 4711, HIDING) + text_cell("C1", "secret", HIDING),
        cell("A2", 4711, HIDING),
        cell("A3", 2, 1) + cell("C3", 3, 1),
    )
    data = xlsx_file({"Empty": rows(cell("A1", 4711, HIDING)), "S": xml}, styles=styles_of(*CODES))

    text, layout = read_xlsx(data)

    assert text == "S\n100.0%\n200.0%\t300.0%"
    assert "4711" not in layout.to_bytes().decode()
    assert "secret" not in layout.to_bytes().decode()
    assert [each.name for each in layout.sheets] == ["Empty", "S"]


def test_a_workbook_that_hides_all_its_cells_has_no_text() -> None:
    with pytest.raises(Rejected) as refused:
        shown(rows(cell("A1", 4711, HIDING)))

    assert refused.value.code == "no_text"


@pytest.mark.parametrize("value", [-0.5, -1, -700.25])
def test_a_negative_number_in_a_format_of_time_has_no_value(value: float) -> None:
    xml = rows(cell("A1", 0, 4) + cell("B1", 0.5, 4) + cell("C1", value, 4))
    unsure = rows(cell("A1", 0.5, 4) + cell("b1", value, 4) + cell("C1", 7))

    assert shown(xml) == "0:00\t12:00"
    assert shown(unsure) == "7"
    assert shown(unsure.replace("-", "")).startswith("12:00:00\t")


def test_a_small_time_is_not_taken_for_a_negative_one() -> None:
    assert shown(rows(cell("A1", "1.2E-2", 4))) == "0:17"


def test_dates_count_from_1904_where_the_workbook_says_so() -> None:
    xml = rows(cell("A1", 43538, 3))

    assert shown(xml) == "2019-03-14"
    assert shown(xml, properties='<workbookPr date1904="1"/>') == "2023-03-15"


def test_dates_before_march_1900_stay_plain() -> None:
    styles = styles_of("d mmm yyyy")

    assert shown(rows(cell("A1", 61, 1)), styles) == "1 Mar 1900"
    assert shown(rows(cell("A1", 59, 1)), styles) == "1900-02-28"


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        # the next cell and the next row, where they are not named
        ('<row><c s="1"><v>1</v></c><c><v>1</v></c></row><row><c s="2"><v>1</v></c></row>',
         "100.0%\t1\n1.00"),
        ('<row r="3"><c r="C3" s="1"><v>1</v></c><c s="2"><v>1</v></c></row>', "100.0%\t1.00"),
        # the last one of those at one place
        (rows(cell("A1", 1, 1) + cell("A1", 2, 2)), "2.00"),
        (rows(cell("A1", 1, 1) + cell("A1", 2)), "2"),
        # what another reader might place elsewhere
        ('<row r="9"><c r="A7" s="1"><v>1</v></c></row>', "1"),
        ('<row r="1"><c r="a1" s="1"><v>1</v></c></row>', "1"),
        ('<row r="2"><c r="A12" s="1"><v>1</v></c></row>', "1"),
        ('<row r="1"><c r="A01" s="1"><v>1</v></c></row>', "1"),
        ('<row><c r="XFD1"/><c/></row><row><c s="1"><v>1</v></c></row>', "1"),
        (f"{rows(cell('A1', 1, 1))}</sheetData><sheetData>{rows(cell('A1', 1, 2))}", "1"),
    ],
)  # fmt: skip
def test_a_format_is_that_of_the_cell_at_the_place(xml: str, text: str) -> None:
    assert shown(xml) == text


@pytest.mark.parametrize(
    ("styles", "style", "text"),
    [
        # the first style is that of cells without one
        (used(9), None, "125%"),
        (used(9), 0, "125%"),
        (used(0, 9), 1, "125%"),
        ('<cellXfs><xf/><xf numFmtId="9" applyNumberFormat="1"/></cellXfs>', 1, "125%"),
        ('<cellXfs><xf/><xf numFmtId="9" applyNumberFormat="0"/></cellXfs>', 1, "1.25"),
        # not known: no such style, no such format, several of one id, a built-in one declared anew
        (used(9), 7, "1.25"),
        (used(9), "x", "1.25"),
        (used(0, 200), 1, "1.25"),
        (used(0, "x"), 1, "1.25"),
        (declared({164: "0%"}) + used(0, 164), 1, "125%"),
        (declared({164: "0%"}, {164: "0"}) + used(0, 164), 1, "1.25"),
        (declared({9: "0"}) + used(0, 9), 1, "1.25"),
        # money as the workbook declares it, and not as it is somewhere
        (used(0, 44), 1, "1.25"),
        (declared({44: '"£"0.00'}) + used(0, 44), 1, "£1.25"),
        # formats of something else than cells
        (used(0, 9).replace("cellXfs", "cellStyleXfs") + used(0, 0), 1, "1.25"),
        (used(0, 164) + f"<dxfs><dxf>{declared({164: '0%'})}</dxf></dxfs>", 1, "1.25"),
        ("", None, "1.25"),
    ],
)
def test_the_format_of_a_style_is_the_declared_one(
    styles: str, style: int | str | None, text: str
) -> None:
    assert shown(rows(cell("A1", 1.25, style)), styles) == text


def test_dates_that_follow_the_settings_of_whoever_looks_are_in_iso_form() -> None:
    text = shown(rows(cell("A1", 45000, 0) + cell("B1", 45000.25, 1)), used(14, 22))

    assert text == "2023-03-15\t2023-03-15 06:00:00"


def test_sheets_of_one_name_are_refused_as_one_is_read_in_the_place_of_the_other() -> None:
    both = "".join(f'<sheet name="S" sheetId="{each}" r:id="r1"/>' for each in (8, 9))
    xml = rows(cell("A1", 0.5, 1))
    data = xlsx_file({"S": xml}, styles=styles_of("0%"))
    twice = xlsx_file({"S": xml}, styles=styles_of("0%"), properties=f"<sheets>{both}</sheets>")

    assert read_xlsx(data)[0] == "S\n50%"
    with pytest.raises(Rejected) as refused:
        read_xlsx(twice)
    assert refused.value.code == "unreadable_document"


@pytest.mark.parametrize(
    ("styles", "code"),
    [
        ("<cellXfs><xf>", "unreadable_document"),
        ('<cellXfs><xf numFmtId="&bomb;"/></cellXfs>', "unreadable_document"),
        ("<cellXfs><xf\x01/></cellXfs>", "unreadable_document"),
    ],
)
def test_styles_that_are_not_well_formed_are_refused(styles: str, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        shown(rows(cell("A1", 1, 1)), styles)

    assert refused.value.code == code


@pytest.mark.parametrize("part", ["xl/styles.xml", "xl/sheet1.xml", "xl/workbook.xml"])
def test_a_part_that_declares_entities_is_refused(part: str) -> None:
    bomb = '<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    files = parts_of(xlsx_file({"S": rows(cell("A1", 0.5, 1))}, styles=styles_of("0%")))
    assert read_xlsx(zip_file(files))[0] == "S\n50%"

    with pytest.raises(Rejected) as refused:
        read_xlsx(zip_file({**files, part: bomb.encode() + files[part]}))

    assert refused.value.code == "forbidden_markup"


def test_a_workbook_without_styles_has_no_formats() -> None:
    files = parts_of(xlsx_file({"S": rows(cell("A1", 0.5, 1))}, styles=styles_of("0%")))
    del files["xl/styles.xml"]

    assert read_xlsx(zip_file(files))[0] == "S\n0.5"


def test_more_styles_than_a_workbook_may_have_are_not_read() -> None:
    last = STYLES_MAX - 1
    styles = used(9).replace('<xf numFmtId="9"/>', '<xf numFmtId="9"/>' * 1_000_000)
    xml = rows(cell("A1", 1, last) + cell("B1", 1, STYLES_MAX) + cell("C1", 1, 999_999))

    assert shown(xml, styles) == "100%\t1\t1"


def test_codes_that_are_too_long_are_not_read() -> None:
    longest = '"' + "a" * 252 + '"0'
    styles = styles_of(longest, longest + "0")

    text = shown(rows(cell("A1", 1, 1) + cell("B1", 1, 2)), styles)

    assert text == f"{'a' * 252}1\t1"


def test_a_text_in_a_numeric_cell_has_the_format_of_texts() -> None:
    styles = styles_of('0;-0;0;"Dr. "@')

    assert shown(rows(text_cell("A1", "No", 1) + cell("B1", 7, 1)), styles) == "Dr. No\t7"


def test_a_date_in_words_is_shown_by_its_format() -> None:
    written = dt.date(2023, 3, 15).isoformat()
    xml = rows(f'<c r="A1" t="d" s="1"><v>{written}</v></c>')

    assert shown(xml, styles_of("d mmmm yyyy")) == "15 March 2023"
