"""A cell far from all others is named, and a duration is written as hours, minutes and seconds."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from chancery.kernel.errors import TooLarge
from chancery.tabular.engine import Engine
from chancery.tabular.sheet_extent import check_extent
from chancery.tabular.snapshot import convert_xlsx
from tests.unit.tabular.workbooks import workbook

ROWS = [["day", "amount"], ["a", 1250], ["b", 2750]]
FILLED = [
    '<c r="{}"><v>1</v></c>',
    '<c s="3" r="{}" t="str"><v></v></c>',
    "<x:c  r = '{}' t=\"inlineStr\"><x:is><x:t>a</x:t></x:is></x:c>",
]


@pytest.mark.parametrize("cell", FILLED[:2])
@pytest.mark.parametrize("name", ["XFD1048576", "ZZZ9999999", "AZ1048576", "XFD90000"])
def test_a_cell_far_from_the_others_is_named(cell: str, name: str) -> None:
    with pytest.raises(TooLarge) as refused:
        convert_xlsx(workbook([*ROWS, [cell.format(name)]]), {})

    assert (refused.value.code, refused.value.field) == ("xlsx_far_cell", f"snapshot.{name}")


@pytest.mark.parametrize("cell", FILLED)
def test_a_far_cell_is_seen_however_it_is_written(cell: str) -> None:
    near = b'<row r="1"><c r="A1"><v>1</v></c></row>'

    check_extent(near)
    with pytest.raises(TooLarge):
        check_extent(near + cell.format("xfd1048576").encode())


@pytest.mark.parametrize("empty", ['<c r="XFD1048576" s="1"/>', '<c r="XFD1048576" s="1"></c>'])
def test_a_far_cell_that_has_a_style_alone_is_none(empty: str) -> None:
    assert convert_xlsx(workbook([*ROWS, [empty]]), {}).row_count == len(ROWS) - 1


def test_how_far_a_cell_may_stand_goes_by_the_places_up_to_it() -> None:
    rows, columns = 4_000, ("A", "XFD")
    filled = b"".join(
        b'<c r="%s%d"><v>1</v></c>' % (each.encode(), row)
        for row in range(1, rows + 1)
        for each in columns
    )

    with pytest.raises(TooLarge, match="XFD"):
        check_extent(filled)
    check_extent(filled[: len(filled) // 4])


def durations(*days: float) -> bytes:
    """Return a workbook with a column of durations in the format `[h]:mm:ss`."""
    made = io.BytesIO()
    cells = [[f"date:{each!r}"] for each in days]
    with (
        zipfile.ZipFile(io.BytesIO(workbook([["spent"], *cells]))) as package,
        zipfile.ZipFile(made, "w") as changed,
    ):
        for name in package.namelist():
            changed.writestr(name, package.read(name).replace(b'numFmtId="14"', b'numFmtId="46"'))
    return made.getvalue()


def test_a_duration_is_written_so_that_a_cast_to_interval_reads_it(tmp_path: Path) -> None:
    days = (26.5 / 24, 0.5 / 24, 0.0, -1 / 24, 365.25, 1.5 / 86_400)
    snapshot = convert_xlsx(durations(*days), {})
    file = tmp_path / "snapshot.parquet"
    file.write_bytes(snapshot.parquet)

    with Engine() as engine:
        read = engine.fetch(
            f"SELECT spent, spent::INTERVAL > '24:00:00'::INTERVAL FROM '{file}'", rows_max=9
        )

    assert [each.duckdb_type for each in snapshot.columns] == ["VARCHAR"]
    assert read == [
        ("26:30:00", True),
        ("00:30:00", False),
        ("00:00:00", False),
        ("-01:00:00", False),
        ("8766:00:00", True),
        ("00:00:01.500000", False),
    ]
