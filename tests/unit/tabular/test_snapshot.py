"""Typing loses no digit: what stands in the file is what SQL sees."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected
from chancery.tabular.inference import ColumnEvidence, classify
from chancery.tabular.schema import ColumnDeclaration
from chancery.tabular.snapshot import convert_csv

INFERRED: list[tuple[list[str], str]] = [
    (["1", "-2", "0"], "BIGINT"),
    (["9223372036854775807", "-9223372036854775808"], "BIGINT"),
    (["9223372036854775808"], "DECIMAL(38,0)"),
    (["1" * 38], "DECIMAL(38,0)"),
    (["1" * 39], "VARCHAR"),
    (["1.5", "2.25", "3"], "DECIMAL(18,2)"),
    (["1234567890123456.789"], "DECIMAL(38,3)"),
    (["1" * 30 + "." + "1" * 9], "VARCHAR"),
    (["007"], "VARCHAR"),
    (["+1"], "VARCHAR"),
    (["-0"], "VARCHAR"),
    (["1e3"], "VARCHAR"),
    (["1,000"], "VARCHAR"),
    (["true", "False"], "BOOLEAN"),
    (["2024-02-29"], "DATE"),
    (["2023-02-29"], "VARCHAR"),
    (["2024-01-01T10:00:00", "2024-01-01 10:00"], "TIMESTAMP"),
    (["2024-01-01T10:00:00Z", "2024-01-01T10:00:00+02:00"], "TIMESTAMP WITH TIME ZONE"),
    (["2024-01-01T10:00:00.1234567"], "VARCHAR"),
    (["2024-01-01", "2024-01-01T10:00:00"], "VARCHAR"),
    (["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"], "TIMESTAMP WITH TIME ZONE"),
    (["0001-01-01T00:00:00+05:00"], "VARCHAR"),
    (["9999-12-31T23:59:59-05:00"], "VARCHAR"),
    (["1", "x"], "VARCHAR"),
    ([], "VARCHAR"),
]


@pytest.mark.parametrize(("texts", "duckdb_type"), INFERRED)
def test_the_narrowest_exact_type_is_inferred(texts: list[str], duckdb_type: str) -> None:
    evidence = ColumnEvidence.empty()

    for text in texts:
        evidence.add(text)

    assert evidence.inferred() == duckdb_type


@given(st.integers(-(10**30), 10**30), st.integers(1, 8))
def test_every_plain_decimal_is_a_number(digits: int, scale: int) -> None:
    text = f"{Decimal(digits).scaleb(-scale):.{scale}f}"

    assert classify(text) == "decimal"


def test_the_same_file_gives_the_same_bytes() -> None:
    data = b"id,amount,day\n1,1250.50,2024-01-01\n2,,2024-02-29\n"

    first, second = convert_csv(data, {}), convert_csv(data, {})

    assert first == second
    assert first.row_count == 2
    assert [each.duckdb_type for each in first.columns] == ["BIGINT", "DECIMAL(18,2)", "DATE"]
    assert convert_csv(data.replace(b"1250.50", b"1250.51"), {}).parquet != first.parquet


DECLARED = [
    ("text", "VARCHAR"),
    ("decimal", "DECIMAL(18,0)"),
    ("decimal(10, 2)", "DECIMAL(10,2)"),
    ("double", "DOUBLE"),
    ("integer", "BIGINT"),
]


@pytest.mark.parametrize(("declared", "duckdb_type"), DECLARED)
def test_a_declared_type_wins(declared: str, duckdb_type: str) -> None:
    snapshot = convert_csv(b"Amount\n12\n", {"amount": ColumnDeclaration(declared)})

    assert snapshot.columns[0].duckdb_type == duckdb_type


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ({"x": ColumnDeclaration("integer")}, "unknown_column"),
        ({"a": ColumnDeclaration("money")}, "invalid_column_type"),
        ({"a": ColumnDeclaration("decimal(39,2)")}, "invalid_column_type"),
        ({"a": ColumnDeclaration("integer")}, "csv_value_mismatch"),
        ({"a": ColumnDeclaration("decimal(3,1)")}, "csv_value_mismatch"),
        ({"a": ColumnDeclaration("date")}, "csv_value_mismatch"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(
    declared: dict[str, ColumnDeclaration], code: str
) -> None:
    with pytest.raises(Rejected) as refused:
        convert_csv(b"a\n1.25\n", declared)

    assert refused.value.code == code
    assert "1.25" not in refused.value.detail


KEPT = [
    ("double", "0.1"), ("double", "1e23"), ("double", "+007"), ("double", ".5"), ("double", "0e9"),
    ("double", "9007199254740992"), ("double", "1" + "0" * 23), ("double", "-Infinity"),
    ("double", "0.10000000000000001"), ("double", "5e-324"), ("double", "9007199254740992.0"),
    ("decimal(2,2)", "0.50"), ("decimal(38,38)", "0." + "1" * 38), ("decimal(3,2)", "5.00"),
    ("timestamptz", "0001-01-01T00:00:00-05:00"),
]  # fmt: skip
NOT_KEPT = [
    ("double", "1e400"), ("double", "-1e400"), ("double", "1e-400"), ("double", "1" + "0" * 400),
    ("double", "9007199254740993"), ("double", "-9007199254740993.0"),
    ("double", "1e-" + "9" * 30), ("double", "0." + "0" * 400 + "1"),
    ("decimal(2,2)", "5.00"), ("decimal(2,2)", "-5"), ("decimal(38,38)", "1.5"),
    ("timestamptz", "0001-01-01T00:00:00+05:00"),
]  # fmt: skip


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(("declared", "text"), KEPT)
def test_a_declared_type_takes_what_it_keeps(declared: str, text: str) -> None:
    snapshot = convert_csv(f"a\n{text}\n".encode(), {"a": ColumnDeclaration(declared)})

    assert snapshot.row_count == 1


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(("declared", "text"), NOT_KEPT)
def test_a_value_that_its_declared_type_would_change_is_refused(declared: str, text: str) -> None:
    with pytest.raises(Rejected) as refused:
        convert_csv(f"a\n{text}\n".encode(), {"a": ColumnDeclaration(declared)})

    assert (refused.value.code, refused.value.field) == ("csv_value_mismatch", "columns.a.type")


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        ["integer", "decimal", "decimal(3,3)", "decimal(38,20)", "double", "timestamptz", "date"]
    ),
    st.one_of(
        st.decimals(allow_nan=False, allow_infinity=False, places=4).map(str),
        st.floats(allow_nan=False).map(repr),
        st.integers().map(str),
        st.datetimes().map(lambda moment: moment.isoformat() + "+14:00"),
        st.dates().map(str),
    ),
)
def test_any_value_is_kept_or_refused_by_the_code_that_names_its_type(
    declared: str, text: str
) -> None:
    codes = set[str]()
    try:
        convert_csv(f"a\n{text}\n".encode(), {"a": ColumnDeclaration(declared)})
    except Rejected as refused:
        codes.add(refused.code)

    assert codes <= {"csv_value_mismatch"}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_integers_of_64_bits_stay_integers(values: list[int]) -> None:
    data = "n\n" + "\n".join(str(value) for value in values) + "\n"

    assert convert_csv(data.encode(), {}).columns[0].duckdb_type == "BIGINT"
