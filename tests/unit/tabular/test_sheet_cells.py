"""A cell that shows no value refuses the workbook, and a day among moments is one of them."""

from __future__ import annotations

import io
import zipfile

import pytest

from chancery.kernel.errors import Rejected
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
    "a negative day": "date:-5",
}
THERE = {
    "a calculated number": '<c r="@"><f>A2*2</f><v>2</v></c>',
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
