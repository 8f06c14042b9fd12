"""A cell that shows no value refuses the workbook, and a day among moments is one of them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular import sheet_xml
from chancery.tabular.schema import ColumnDeclaration
from chancery.tabular.snapshot import convert_xlsx
from chancery.tabular.workbook import read_workbook
from tests.unit.extract.files import xlsx_file
from tests.unit.tabular.workbooks import Cell, workbook

HEAD: list[Cell] = ["id", "amount"]
MISSING = {
    "an error": '<c r="@" t="e"><v>#DIV/0!</v></c>',
    "an error of a formula": "<c t='e' r=\"@\"><f>1/0</f><v>#DIV/0!</v></c>",
    "a formula": '<c r="@"><f>A2*2</f></c>',
    "a formula with an empty value": '<c r="@" s="0"><f ca="1">A2&lt;2</f><v></v></c>',
    "a shared formula": '<c r="@"><f t="shared" si="0"/><v/></c>',
    "a formula in another prefix": '<x:c r="@"><x:f>A2</x:f></x:c>',
    "a formula after a comment": '<c r="@"><!--x--><f>A2</f></c>',
    "a formula in CDATA": '<c r="@"><f><![CDATA[A2<2]]></f></c>',
    "a formula with space for a value": '<c r="@"><f>A2</f>\n<v> </v></c>',
    "a formula after an empty value": '<c r="@"><v/><f>A2</f></c>',
    "a formula after its value": '<c r="@"><v>2</v><f>A2</f></c>',
    "a formula with a value in it": '<c r="@"><f><v>2</v></f></c>',
    "a formula after a sign in an attribute": '<c x="a>b" r="@"><f>A2</f></c>',
    "an error after a sign in an attribute": '<c x="a>b" r="@" t="e"><v>#DIV/0!</v></c>',
    "an error by a reference": '<c r="@" t="&#101;"><v>#DIV/0!</v></c>',
    "an error without a value": '<c r="@" t="e"/>',
    "a negative day": "date:-5",
    "a negative day after a comment": '<c r="@" s="1"><!--x--><v>-5</v></c>',
    "a negative day after a comment with a tag": '<c r="@" s="1"><!-- <v>5</v> --><v>-5</v></c>',
    "a negative day by a reference": '<c r="@" s="1"><v>&#45;5</v></c>',
    "a negative day in CDATA": '<c r="@" s="1"><v><![CDATA[-5]]></v></c>',
    "a number in CDATA": '<c r="@"><v><![CDATA[50]]></v></c>',
    "a number that ends in CDATA": '<c r="@"><v>5<![CDATA[0]]></v></c>',
    "a number with a reference": '<c r="@"><v>5&#48;</v></c>',
    "a number with a comment": '<c r="@"><v>5<!--x-->0</v></c>',
    "a number with an instruction": '<c r="@"><v>5<?x y?>0</v></c>',
    "a number with an element": '<c r="@"><v>5<x/>0</v></c>',
    "a text with CDATA": '<c r="@" t="str"><v>a<![CDATA[b]]></v></c>',
    "an inline text as a value": '<c r="@" t="inlineStr"><v>a</v></c>',
    "two values": '<c r="@"><v>2</v><v/></c>',
    "a number beyond all bounds": '<c r="@"><v>1e400</v></c>',
    "no number": '<c r="@"><v>NaN</v></c>',
}
THERE = {
    "a calculated number": '<c r="@"><f>A2*2</f><v>2</v></c>',
    "a calculated number on lines of its own": '<c r="@">\n <f>A2*2</f>\n <v>2</v>\n</c>',
    "a calculated truth on lines of its own": '<c r="@" t="b">\n<f>A2=2</f>\n<v>1</v>\n</c>',
    "a calculated number after a comment": '<c r="@"><f>A2*2</f><!--x--><v>2</v></c>',
    "a formula in a comment": '<c r="@"><!-- <c r="Z9"><f>A2</f></c> --><v>3</v></c>',
    "an error in CDATA": '<![CDATA[<c r="Z9" t="e"><v>#N/A</v></c>]]><c r="@"><v>3</v></c>',
    "a value in another prefix": '<x:c r="@"><x:f>A2</x:f><x:v>2</x:v></x:c>',
    "a text with a reference": '<c r="@" t="str"><f>A2</f><v>a&amp;b&#10;<!--x-->c</v></c>',
    "an inline text with CDATA": '<c r="@" t="inlineStr"><is><t>a<![CDATA[b]]></t></is></c>',
    "an inline text in runs": '<c r="@" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>',
    "a calculated text": '<c r="@" t="str"><f>A2</f><v>x</v></c>',
    "a calculated empty text": '<c r="@" t="str"><f>""</f><v></v></c>',
    "a shared formula": '<c r="@"><f t="shared" si="0"/><v>4</v></c>',
    "a text about an error": '<c r="@" t="inlineStr"><is><t>t="e" &lt;f&gt;</t></is></c>',
    "a negative number": -5,
    "a time of day": "date:0.5",
    "nothing": None,
}


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("kind", MISSING)
def test_a_cell_without_a_value_refuses_the_workbook_and_is_named(kind: str) -> None:
    with pytest.raises(Rejected) as refused:
        read_workbook(workbook([HEAD, [1, 10], [2, MISSING[kind]]]))

    assert (refused.value.code, refused.value.field) == ("xlsx_cell_error", "snapshot.B3")
    assert "#DIV" not in refused.value.detail


@pytest.mark.parametrize("kind", THERE)
def test_a_cell_with_a_value_and_an_empty_one_do_not(kind: str) -> None:
    assert len(read_workbook(workbook([HEAD, [1, 10], [2, THERE[kind]]])).rows) == 2


def told_of(data: bytes) -> object:
    """Return what a workbook reads as, or what it is refused for."""
    try:
        return read_workbook(data)
    except Rejected as error:
        return error.code, error.field


@pytest.mark.parametrize(
    "around", ["{0}", "<!-- {1} -->{0}", "{1}{0}{1}", "<!--{0}-->{1}", "{0}<![CDATA[{1}]]>{1}"]
)
def test_that_plain_cells_are_not_parsed_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, around: str
) -> None:
    plain = '<c r="C3" s="0" t="n"><f a="b">A2&gt;1</f><v>1.5E-05</v></c><c r="D3"><v>7</v></c>'
    cells = [each for each in (MISSING | THERE).values() if str(each).startswith("<")]
    head: list[Cell] = [*HEAD, "c", "d"]
    files = [workbook([head, [1, 10], [2, around.format(each, plain)]]) for each in cells]
    with monkeypatch.context() as everything:
        everything.setattr(sheet_xml, "_PLAIN", re.compile(rb"(?!)"))
        whole = [told_of(each) for each in files]

    assert [told_of(each) for each in files] == whole
    assert len({type(each) for each in whole}) == 2


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('<c r="@">\n<f>A2*2</f>\n<v>2.5</v>\n</c>', "2.5"),
        ('<c r="@" t="str"><v>a&amp;b&#99;<!--x-->d</v></c>', "a&bcd"),
        ('<c r="@" t="inlineStr"><is><t>a<![CDATA[<v>]]></t></is></c>', "a<v>"),
        ('<c r="@" x="a>b"><v>7</v></c>', "7"),
    ],
)
def test_a_value_is_read_whole(cell: str, text: str) -> None:
    assert read_workbook(workbook([HEAD, [1, cell]])).rows == [["1", text]]


def test_a_negative_day_is_refused_where_cells_do_not_say_their_place_too() -> None:
    head = '<row><c t="str"><v>id</v></c><c t="str"><v>amount</v></c></row>'
    row = '<row><c><v>{0}</v></c><c s="1"><v>{1}</v></c></row>'

    assert read_workbook(xlsx_file({"S": head + row.format(1, 0.5)})).rows == [["1", "12:00:00"]]
    for values in ((1, -5), (-1, 0.5)):
        with pytest.raises(Rejected) as refused:
            read_workbook(xlsx_file({"S": head + row.format(*values)}))
        assert (refused.value.code, refused.value.field) == ("xlsx_cell_error", "snapshot")


def test_two_parts_of_one_name_are_refused() -> None:
    data = workbook([HEAD, [1, 10]])
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a") as package:
        package.writestr("xl/worksheets/Sheet1.xml", "<worksheet/>")

    assert read_workbook(data).rows == [["1", "10"]]
    with pytest.raises(Rejected) as refused:
        read_workbook(file.getvalue())

    assert refused.value.code == "xlsx_unreadable"


def test_only_the_first_sheet_is_asked_for_its_values() -> None:
    good = '<row r="1"><c r="A1" t="str"><v>a</v></c></row><row r="2"><c r="A2"><v>1</v></c></row>'
    bad = good.replace("<v>1</v>", "<f>1/0</f>")

    assert read_workbook(xlsx_file({"First": good, "Second": bad})).rows == [["1"]]
    with pytest.raises(Rejected, match="formula"):
        read_workbook(xlsx_file({"First": bad, "Second": good}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<sheets>", b'<sheets><!-- <sheet r:id="r2"/> -->'),
        (b"worksheets/sheet1.xml", b"/xl/worksheets/Sheet1.xml"),
        (b'<Relationship Id="r1"', b'<Relationship Id="r1" Target="x"/><Relationship Id="r1"'),
        (b"xl/worksheets/sheet1.xml", b"xl\\worksheets\\sheet1.xml"),
    ],
)
def test_the_sheet_that_is_looked_at_is_the_one_that_is_read(old: bytes, new: bytes) -> None:
    good, bad = (workbook([HEAD, [1, each]]) for each in (5, MISSING["a formula"]))

    assert read_workbook(changed(good, old, new)).rows == [["1", "5"]]
    with pytest.raises(Rejected, match="formula"):
        read_workbook(changed(bad, old, new))


@pytest.mark.parametrize(
    "head", ['encoding="ISO-8859-1"?>', 'encoding="windows-1252"?>', "?><!DOCTYPE worksheet []>"]
)
@pytest.mark.parametrize("root", ["<worksheet", "<workbook", '<Relationships xmlns="http', "<sst"])
def test_xml_that_is_not_plain_utf_8_is_refused(head: str, root: str) -> None:
    data = with_shared_text(workbook([HEAD, [1, '<c r="@" t="s"><v>0</v></c>']]))

    def headed(rest: str) -> bytes:
        return changed(data, root.encode(), f'<?xml version="1.0" {rest}{root}'.encode())

    assert read_workbook(headed('encoding="utf-8"?>')).rows == [["1", "\u20ac"]]
    with pytest.raises(Rejected) as refused:
        read_workbook(headed(head))

    assert refused.value.code == "xlsx_unreadable"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_a_sheet_in_another_encoding_is_refused(encoding: str) -> None:
    sheet = "xl/worksheets/sheet1.xml"
    data = workbook([HEAD, [1, "\u00e9"]])

    def encoded(name: str) -> bytes:
        return changed_parts(data, lambda part, content: content.decode().encode(name)
                             if part == sheet else content)  # fmt: skip

    assert read_workbook(encoded("utf-8-sig")).rows == [["1", "\u00e9"]]
    with pytest.raises(Rejected) as refused:
        read_workbook(encoded(encoding))

    assert refused.value.code == "xlsx_unreadable"


MERGED = (
    '<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>b</v></c></row>'
    '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>999</v></c></row>'
    '<row r="3"><c r="A3"><v>2</v></c><c r="B3"><v>20</v></c></row>'
)


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(
    ("merged", "rows"),
    [
        ("", [["1", "999"], ["2", "20"]]),
        ("A2:B2", [["1", ""], ["2", "20"]]),
        ("B2:A2", [["1", ""], ["2", "20"]]),
        ("b3:a2", [["1", ""]]),
        ("A3:XFD1048576", [["1", "999"], ["2", ""]]),
        ("C1:D9", [["1", "999"], ["2", "20"]]),
        ("B2", [["1", "999"], ["2", "20"]]),
    ],
)
def test_what_lies_below_a_merged_cell_is_no_value(merged: str, rows: list[list[str]]) -> None:
    xml = f'<mergeCells><mergeCell ref="{merged}"/></mergeCells>' if merged else ""
    file = xlsx_file({"S": MERGED}, merged=xml)

    assert read_workbook(file).rows == rows


def test_a_name_below_a_merged_one_is_none_and_what_merges_no_cells_is_refused() -> None:
    for reference, code in (("A1:B1", "xlsx_empty_column_name"), ("A:B", "xlsx_unreadable")):
        xml = f'<mergeCells><mergeCell ref="{reference}"/></mergeCells>'
        with pytest.raises(Rejected) as refused:
            read_workbook(xlsx_file({"S": MERGED}, merged=xml))
        assert refused.value.code == code


def changed_parts(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """Return a workbook with every part changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as package, zipfile.ZipFile(file, "w") as written:
        for name in package.namelist():
            written.writestr(name, change(name, package.read(name)))
    return file.getvalue()


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    """Return a workbook with one text changed in all its parts and their names."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as package, zipfile.ZipFile(file, "w") as written:
        for name in package.namelist():
            renamed = name.replace(old.decode(), new.decode()) if b"\\" in new else name
            written.writestr(renamed, package.read(name).replace(old, new))
    return file.getvalue()


def with_shared_text(data: bytes) -> bytes:
    """Return a workbook with one shared text."""
    related = b'<Relationship Id="r8" Type="x/sharedStrings" Target="sharedStrings.xml"/>'
    file = io.BytesIO(changed(data, b"</Relationships>", related + b"</Relationships>"))
    with zipfile.ZipFile(file, "a") as package:
        package.writestr("xl/sharedStrings.xml", "<sst><si><t>\u20ac</t></si></sst>")
    return file.getvalue()


@pytest.mark.req("CR-21")
def test_midnight_among_moments_is_a_moment() -> None:
    sheet: list[list[Cell]] = [["day", "at"], ["date:45351", "date:45351.5"],
                               ["date:45352", "date:45352"]]  # fmt: skip

    snapshot = convert_xlsx(workbook(sheet), {})

    assert [each.duckdb_type for each in snapshot.columns] == ["DATE", "TIMESTAMP"]
    assert [row[1] for row in read_workbook(workbook(sheet)).rows] == [
        "2024-02-29T12:00:00", "2024-03-01T00:00:00",
    ]  # fmt: skip


def test_days_alone_are_moments_where_a_timestamp_is_declared() -> None:
    sheet: list[list[Cell]] = [["At"], ["date:45351"], ["date:45352"]]

    for declared, duckdb_type in ((None, "DATE"), ("timestamp", "TIMESTAMP"), ("date", "DATE")):
        snapshot = convert_xlsx(workbook(sheet), {"at": ColumnDeclaration(declared)})
        assert [each.duckdb_type for each in snapshot.columns] == [duckdb_type]


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e23, "1" + "0" * 23), (-1e23, "-1" + "0" * 23), (5.0, "5"), (-0.0, "0"), (0.1, "0.1"),
        (1234567890123456.0, "1234567890123456"), (1e-7, "0.0000001"), (2**53, "9007199254740992"),
    ],
)  # fmt: skip
def test_a_number_has_the_fewest_digits_that_read_back_the_same(number: float, text: str) -> None:
    assert read_workbook(workbook([["a"], [number]])).rows == [[text]]
