"""Parquet and XLSX become snapshots as CSV does: exact types, declared types, the same refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import Engine
from chancery.tabular.formats import MEDIA_TYPES, XLSX_TYPE, check_file, check_header, format_of
from chancery.tabular.parquet import convert_parquet
from chancery.tabular.schema import ColumnDeclaration
from chancery.tabular.snapshot import Snapshot, convert_xlsx
from tests.unit.tabular.workbooks import Cell, workbook


def parquet(select: str, folder: Path) -> bytes:
    """Return a Parquet file of what a SELECT gives."""
    file = folder / "made.parquet"
    with Engine() as engine:
        engine.run("SET TimeZone='UTC'")
        engine.run(f"COPY ({select}) TO '{file}' (FORMAT parquet)")
    return file.read_bytes()


def rows_of(snapshot: Snapshot, folder: Path) -> list[tuple[object, ...]]:
    """Return what a snapshot holds."""
    file = folder / "snapshot.parquet"
    file.write_bytes(snapshot.parquet)
    with Engine() as engine:
        engine.run("SET TimeZone='UTC'")
        columns = ", ".join(f'"{c.name}"::VARCHAR' for c in snapshot.columns)
        return engine.fetch(f"SELECT {columns} FROM '{file}'", rows_max=100)


def types_of(snapshot: Snapshot) -> list[str]:
    """Return the DuckDB types of a snapshot's columns."""
    return [column.duckdb_type for column in snapshot.columns]


@pytest.mark.req("CR-21")
def test_a_parquet_file_keeps_its_types_where_they_are_exact(tmp_path: Path) -> None:
    data = parquet(
        "SELECT 1::INTEGER AS i, 2::UBIGINT AS u, 1.50::DECIMAL(9,2) AS d, 0.5::FLOAT AS f,"
        " 'x' AS t, true AS b, DATE '2024-02-29' AS day,"
        " TIMESTAMP '2024-02-29 01:02:03.5' AS m, '2024-02-29 01:02:03Z'::TIMESTAMPTZ AS z,"
        " TIMESTAMP_NS '2024-02-29 01:02:03.123456' AS ns,"
        " TIMESTAMPTZ_NS '2024-02-29 01:02:03Z' AS zns, uuid '"
        + "0" * 8
        + "-0000-0000-0000-000000000001' AS id, {'pub': 1} AS st, [1, 2] AS l",
        tmp_path,
    )

    snapshot = convert_parquet(data, {})

    assert types_of(snapshot) == [
        "INTEGER", "UBIGINT", "DECIMAL(9,2)", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP",
        "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "VARCHAR",
        "STRUCT(pub INTEGER)", "INTEGER[]",
    ]  # fmt: skip
    assert [column.type for column in snapshot.columns[-2:]] == ["other", "other"]
    assert rows_of(snapshot, tmp_path)[0][2:4] == ("1.50", "0.5")
    assert snapshot.row_count == 1
    assert snapshot == convert_parquet(data, {})


@pytest.mark.parametrize(
    ("select", "declared", "duckdb_type", "text"),
    [
        ("SELECT 0.1::DOUBLE AS a", "decimal(18,2)", "DECIMAL(18,2)", "0.10"),
        ("SELECT 7::INTEGER AS a", "text", "VARCHAR", "7"),
        ("SELECT '1.50' AS a", "decimal", "DECIMAL(18,2)", "1.50"),
        ("SELECT '12' AS a", "integer", "BIGINT", "12"),
        ("SELECT 7::INTEGER AS a", "decimal", "DECIMAL(38,0)", "7"),
        ("SELECT '2024-02-29' AS a", "date", "DATE", "2024-02-29"),
        ("SELECT TIMESTAMP '2024-02-29 00:00:00' AS a", "date", "DATE", "2024-02-29"),
        ("SELECT 1.5::DECIMAL(9,1) AS a", "decimal", "DECIMAL(9,1)", "1.5"),
    ],
)
def test_a_declared_type_wins_where_no_value_changes(
    tmp_path: Path, select: str, declared: str, duckdb_type: str, text: str
) -> None:
    snapshot = convert_parquet(parquet(select, tmp_path), {"A": ColumnDeclaration(declared)})

    assert types_of(snapshot) == [duckdb_type]
    assert rows_of(snapshot, tmp_path) == [(text,)]


@pytest.mark.parametrize(
    ("select", "declared", "code"),
    [
        ("SELECT 1.005::DOUBLE AS a", "decimal(18,2)", "parquet_value_mismatch"),
        ("SELECT 1.5::DOUBLE AS a", "integer", "parquet_value_mismatch"),
        ("SELECT 'x' AS a", "integer", "parquet_value_mismatch"),
        ("SELECT '1e3' AS a", "decimal", "parquet_value_mismatch"),
        ("SELECT TIMESTAMP '2024-02-29 01:00:00' AS a", "date", "parquet_value_mismatch"),
        ("SELECT TIMESTAMP_NS '2024-02-29 01:00:00.123456789' AS a", None,
         "parquet_value_mismatch"),
        ("SELECT 0.5::DOUBLE AS a", "decimal", "invalid_column_type"),
        ("SELECT 1 AS b", "integer", "unknown_column"),
        ("SELECT 'infinity'::DATE AS a", None, "parquet_value_range"),
        ("SELECT '20000-01-01'::TIMESTAMP AS a", None, "parquet_value_range"),
        ("SELECT '0001-01-01 00:00:00+05'::TIMESTAMPTZ AS a", None, "parquet_value_range"),
        ("SELECT '9999-12-31 23:00:00-05'::TIMESTAMPTZ AS a", None, "parquet_value_range"),
        ("SELECT 'infinity' AS a", "date", "parquet_value_range"),
        ("SELECT '12000-01-01' AS a", "date", "parquet_value_range"),
        ("SELECT '0001-01-01 00:00:00+05' AS a", "timestamptz", "parquet_value_range"),
        ("SELECT '1e400' AS a", "double", "parquet_value_mismatch"),
        ("SELECT '9007199254740993' AS a", "double", "parquet_value_mismatch"),
        ("SELECT 5.00 AS a", "decimal(2,2)", "parquet_value_mismatch"),
        ('SELECT 1 AS " a"', None, "parquet_column_name"),
    ],
)  # fmt: skip
def test_a_parquet_file_that_would_change_is_refused(
    tmp_path: Path, select: str, declared: str | None, code: str
) -> None:
    declarations = {} if declared is None else {"a": ColumnDeclaration(declared)}

    with pytest.raises(Rejected) as refused:
        convert_parquet(parquet(select, tmp_path), declarations)

    assert refused.value.code == code


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("second", ["pay_a", "pay_A"])
def test_a_second_column_of_one_name_is_refused_and_not_renamed(
    tmp_path: Path, second: str
) -> None:
    """Renamed, a column that policy hides would be shown under its new name."""
    select = "SELECT {'pay_a': 0, 'l': [1]} AS st, 1 AS pay_a, MAP {'k': 2} AS m, 2 AS pay_b"
    told_apart = parquet(select, tmp_path)

    assert [each.name for each in convert_parquet(told_apart, {}).columns] == [
        "st", "pay_a", "m", "pay_b",
    ]  # fmt: skip
    with pytest.raises(Rejected) as refused:
        convert_parquet(told_apart.replace(b"pay_b", second.encode()), {})

    assert refused.value.code == "parquet_duplicate_column"


def test_the_first_and_the_last_moment_of_the_years_are_kept(tmp_path: Path) -> None:
    snapshot = convert_parquet(
        parquet(
            "SELECT TIMESTAMPTZ '9999-12-31 23:59:59.999999Z' AS z, DATE '0001-01-01' AS a,"
            " DATE '9999-12-31' AS b, TIMESTAMP '0001-01-01 00:00:00' AS c",
            tmp_path,
        ),
        {},
    )

    assert rows_of(snapshot, tmp_path) == [
        ("9999-12-31 23:59:59.999999+00", "0001-01-01", "9999-12-31", "0001-01-01 00:00:00")
    ]


def test_bytes_that_only_begin_like_parquet_are_refused(tmp_path: Path) -> None:
    whole = parquet("SELECT range AS a FROM range(1000)", tmp_path)

    for data in (b"PAR1" + b"\0" * 40 + b"PAR1", whole[:-40] + whole[-4:], b"PAR1PAR1PAR1"):
        with pytest.raises(Rejected) as refused:
            convert_parquet(data, {})
        assert refused.value.code == "parquet_unreadable"
    assert convert_parquet(whole, {}).row_count == 1000


def test_a_parquet_file_with_a_damaged_footer_is_refused_as_unreadable(tmp_path: Path) -> None:
    whole = parquet("SELECT 1 AS id, 'x' AS r", tmp_path)
    footer_bytes = int.from_bytes(whole[-8:-4], "little")
    begins = len(whole) - 8 - footer_bytes

    for place in range(begins, begins + 24):
        damaged = bytearray(whole)
        damaged[place] = 0xFF
        with pytest.raises(Rejected) as refused:
            convert_parquet(bytes(damaged), {})
        assert refused.value.code == "parquet_unreadable"
    assert convert_parquet(whole, {}).row_count == 1


SHEET: list[list[Cell]] = [
    ["id", "amount", "code", "day", "paid", "note"],
    [1, 1250.5, "007", "date:45351", True, "a &amp; b"],
    [2, 0.1, "8", "date:45352", False, None],
]


@pytest.mark.req("CR-21")
def test_a_workbook_keeps_what_its_cells_say(tmp_path: Path) -> None:
    snapshot = convert_xlsx(workbook(SHEET), {})

    assert types_of(snapshot) == [
        "BIGINT", "DECIMAL(18,1)", "VARCHAR", "DATE", "BOOLEAN", "VARCHAR",
    ]  # fmt: skip
    assert rows_of(snapshot, tmp_path) == [
        ("1", "1250.5", "007", "2024-02-29", "true", "a & b"),
        ("2", "0.1", "8", "2024-03-01", "false", None),
    ]
    assert snapshot == convert_xlsx(workbook(SHEET), {})


def test_a_workbook_takes_declared_types_and_forgets_trailing_nothing(tmp_path: Path) -> None:
    rows = [[*row, None] for row in SHEET] + [[None] * 7, [""] * 7]

    snapshot = convert_xlsx(
        workbook(rows),
        {"Amount": ColumnDeclaration("decimal(18,2)"), "code": ColumnDeclaration("text")},
    )

    assert types_of(snapshot)[1:3] == ["DECIMAL(18,2)", "VARCHAR"]
    assert snapshot.row_count == 2
    assert len(snapshot.columns) == 6


@pytest.mark.parametrize(
    ("rows", "declared", "code"),
    [
        ([], {}, "xlsx_no_header"),
        ([[None, None]], {}, "xlsx_no_header"),
        ([["a", None], [1, 2]], {}, "xlsx_empty_column_name"),
        ([["a", "A"], [1, 2]], {}, "xlsx_duplicate_column"),
        ([["a"], [None], [2]], {}, "xlsx_blank_row"),
        ([["a"], [1.25]], {"a": "decimal(9,1)"}, "xlsx_value_mismatch"),
        ([["a"], ["x"]], {"a": "integer"}, "xlsx_value_mismatch"),
        ([["a"], [1]], {"b": "integer"}, "unknown_column"),
    ],
)
def test_a_doubtful_workbook_is_refused(
    rows: list[list[Cell]], declared: dict[str, str], code: str
) -> None:
    with pytest.raises(Rejected) as refused:
        convert_xlsx(workbook(rows), {n: ColumnDeclaration(t) for n, t in declared.items()})

    assert refused.value.code == code
    assert refused.value.field in {"snapshot", "columns.b", "columns.a.type"}


def test_an_archive_that_is_no_workbook_is_refused() -> None:
    whole = workbook(SHEET)

    for data in (b"PK\x03\x04" + b"\0" * 100, whole[:-30], whole[: len(whole) // 2]):
        with pytest.raises(Rejected) as refused:
            convert_xlsx(data, {})
        assert refused.value.code == "xlsx_unreadable"


@pytest.mark.parametrize(
    "parameter", ["header=absent", 'Header = "absent"', "charset=utf-8;HEADER=Absent", "header=no"]
)
def test_a_csv_file_that_is_said_to_have_no_header_is_refused(parameter: str) -> None:
    for media_type in ("text/csv", "text/csv; header=present", 'text/csv;Header="Present"'):
        check_header(media_type)

    with pytest.raises(Rejected, match="put a row of column names above") as refused:
        check_header(f"text/csv;{parameter}")

    assert (refused.value.code, refused.value.field) == ("csv_header_absent", "media_type")


def test_a_file_is_checked_against_its_media_type(tmp_path: Path) -> None:
    table = parquet("SELECT 1 AS a", tmp_path)

    check_file("application/vnd.apache.parquet", table)
    check_file(XLSX_TYPE, workbook(SHEET))
    check_file("Text/CSV; charset=utf-8", b"a\n1\n")
    for media_type, data in (
        ("application/vnd.apache.parquet", b"a\n1\n"),
        (XLSX_TYPE, table),
        ("text/csv", table),
        ("application/json", b"{}"),
    ):
        with pytest.raises(Rejected):
            check_file(media_type, data)
    assert {format_of(each) for each in MEDIA_TYPES} == {"csv", "parquet", "xlsx"}
