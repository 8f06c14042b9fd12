"""A row filter matches the exact form of a value of its column's type, and no other text."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import Engine
from chancery.tabular.filters import check_filter_value, is_exact
from chancery.tabular.values import Scalar, canonical

ZONED, DOUBLE, DECIMAL = "TIMESTAMP WITH TIME ZONE", "DOUBLE", "DECIMAL(18,2)"
FIRST, LAST = datetime.fromisoformat("0001-01-02"), datetime.fromisoformat("9999-12-30")
MOMENTS = st.datetimes(FIRST, LAST)
ZONES = st.integers(-12 * 60, 12 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS_ZONED = st.datetimes(FIRST, LAST, timezones=ZONES)
VALUES: dict[str, st.SearchStrategy[Scalar]] = {
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DECIMAL(18,2)": st.integers(-(10**18) + 1, 10**18 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    "DECIMAL(38,0)": st.integers(-(2**63), 2**63 - 1).map(Decimal),
    "DOUBLE": st.floats(),
    "BOOLEAN": st.booleans(),
    "DATE": st.dates(date(1, 1, 2), date(9999, 12, 30)),
    "TIMESTAMP": MOMENTS,
    ZONED: MOMENTS_ZONED,
    "VARCHAR": st.text(),
}
ANY = st.sampled_from(sorted(VALUES)).flatmap(lambda t: st.tuples(st.just(t), VALUES[t]))
NUMBERS = st.from_regex(r"\A[-+ ]?[0-9]{1,20}(\.[0-9]{0,12})?(e[0-9]{1,2})?\Z")
MOMENT_TEXTS = st.from_regex(
    r"\A[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ][0-2][0-9]:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
    r"(Z|[+-][0-1][0-9](:00)?)?)?\Z"
)


@pytest.mark.req("CR-22", "CR-27")
@given(ANY)
def test_the_canonical_form_of_every_value_is_exact(drawn: tuple[str, Scalar]) -> None:
    duckdb_type, value = drawn
    text = canonical(value, duckdb_type)
    assert text is not None

    assert is_exact(text, duckdb_type)
    if duckdb_type != "VARCHAR":
        assert not is_exact(f" {text}", duckdb_type)
        assert not is_exact(f"{text} ", duckdb_type)


@pytest.mark.req("CR-27")
@settings(max_examples=300)
@given(st.sampled_from(sorted(VALUES)), st.one_of(NUMBERS, MOMENT_TEXTS, st.text(max_size=12)))
def test_what_is_exact_means_one_value_and_reads_back_as_it_was_written(
    duckdb_type: str, text: str
) -> None:
    """What DuckDB makes of an accepted text is told in the same text, but for zeros at its end."""
    if not is_exact(text, duckdb_type):
        return
    with Engine() as engine:
        ((value,),) = engine.fetch(f"SELECT TRY_CAST($1 AS {duckdb_type})", [text], rows_max=1)
    if value is None:
        return  # Beyond the range of the type: it matches no row.

    told = canonical(value, duckdb_type)

    assert told is not None
    if duckdb_type.startswith("DECIMAL") or duckdb_type == DOUBLE:
        assert told == text or Decimal(told) == Decimal(text)
    else:
        assert told == text


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("duckdb_type", "exact", "wider"),
    [
        ("DATE", ("2024-01-02",), (
            "2024-01-02 23:00:00", "2024-01-02T23:00:00+05", "2024-1-2", " 2024-01-02", "20240102",
            "2024-W01-2", "2024-01-02T00:00:00", "infinity", "today", "epoch", "",
        )),
        ("TIMESTAMP", ("2024-01-01T00:00:00", "2024-01-01T00:00:00.000001"), (
            "2024-01-01", "2024-01-01 00:00:00", "2024-01-01T00:00:00.0000004",
            "2024-01-01T00:00:00.1", "2024-01-01T00:00:00Z", "2024-01-01T05:00:00+05:00", "now",
        )),
        (ZONED, ("2024-01-01T00:00:00Z",), (
            "2024-01-01T00:00:00", "2024-01-01T02:00:00+02:00", "2024-01-01T00:00:00+00:00",
            "2024-01-01 00:00:00Z", "2024-01-01T00:00:00z",
        )),
        (DOUBLE, ("0.1", "9007199254740992.0", "9007199254740992", "5", "0.0", "NaN", "1e+16"), (
            "9007199254740993", "0.1000000000000000055", "1e0", "5.", ".5", "inf", "nan", "-0.0",
            "05", "1_0", "1" * 400,
        )),
        (DECIMAL, ("7.50", "7.5", "7", "0", "-7.05"), (
            "7.504", "7.500", "07.5", "+7.5", "7.", ".5", "1e0", "-0", "-0.00", "7,5", "1_0",
            "Infinity", "1e999999999", "٣",
        )),
        ("BIGINT", ("1", "-1", "0"), ("1.0", "1.4", "1e0", " 1", "0x1", "+1", "01", "-0", "٣")),
        ("BOOLEAN", ("true", "false"), ("TRUE", "t", "1", "yes", "")),
        ("VARCHAR", ("", " a", "A", "1.0"), ()),
        ("INTEGER[]", (), ("[1]", "1")),
    ],
)  # fmt: skip
def test_what_an_engine_would_read_as_a_value_is_none(
    duckdb_type: str, exact: tuple[str, ...], wider: tuple[str, ...]
) -> None:
    assert [each for each in exact if not is_exact(each, duckdb_type)] == []
    assert [each for each in wider if is_exact(each, duckdb_type)] == []


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("declared", "fits", "refused"),
    [
        ("integer", ("12", "-3", "9" * 38), ("1.0", "x", "9" * 39, "")),
        ("decimal", ("1.5", "2", "0.00", "9" * 38), ("1e3", "-0", "9" * 39, "9" * 38 + ".1")),
        ("decimal(5,2)", ("123.45", "1", "0.05"), ("1234", "0.123", "1234.5")),
        ("decimal(2,2)", ("0.05", "0"), ("1", "1.00")),
        ("double", ("0.5", "3"), ("9007199254740993", "1e3")),
        ("date", ("2024-02-29",), ("2023-02-29", "2024-02-29T00:00:00")),
        ("timestamp", ("2024-01-01T00:00:00",), ("2024-01-01",)),
        ("timestamptz", ("2024-01-01T00:00:00Z",), ("2024-01-01T00:00:00",)),
        ("boolean", ("true",), ("1",)),
        ("Text", ("", "anything"), ()),
    ],
)
def test_a_declared_type_refuses_what_can_be_none_of_its_values(
    declared: str, fits: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    for text in fits:
        check_filter_value(text, declared, field="row_filters.0.allowed.0")
    for text in refused:
        with pytest.raises(Rejected) as found:
            check_filter_value(text, declared, field="row_filters.0.allowed.0")
        assert (found.value.code, found.value.field) == (
            "policy_filter_value",
            "row_filters.0.allowed.0",
        )
