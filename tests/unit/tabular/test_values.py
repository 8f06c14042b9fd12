"""Canonical texts are exact: parsing and writing are inverse, NULL is no text."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.tabular.values import Unrepresentable, canonical, display, parse

WIDE = "DECIMAL(38,4)"
wide_decimals = st.integers(-(10**27), 10**27).map(lambda n: Decimal(n).scaleb(-4))


@given(st.integers(-(2**127), 2**127 - 1))
def test_integers_survive_exactly(value: int) -> None:
    assert parse(canonical(value, "HUGEINT"), "HUGEINT") == value


@given(wide_decimals)
def test_decimals_survive_exactly(value: Decimal) -> None:
    text = canonical(value, WIDE)

    assert parse(text, WIDE) == value
    assert text is not None
    assert len(text.partition(".")[2]) == 4


@given(st.integers(-(10**38) + 1, 10**38 - 1))
def test_decimals_of_38_digits_survive_exactly(digits: int) -> None:
    sign, text = ("-" if digits < 0 else ""), str(abs(digits)).rjust(5, "0")
    written = f"{sign}{text[:-4]}.{text[-4:]}"

    assert canonical(Decimal(written), WIDE) == written


@given(st.floats(allow_nan=False))
def test_doubles_survive_exactly(value: float) -> None:
    read = parse(canonical(value, "DOUBLE"), "DOUBLE")

    assert isinstance(read, float)
    assert read == value


def test_zero_has_one_form() -> None:
    assert canonical(-0.0, "DOUBLE") == canonical(0.0, "DOUBLE") == "0.0"
    assert canonical(-1e-320, "DOUBLE") == "-1e-320"


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=2)))).filter(lambda m: m.year > 1))
def test_moments_are_written_in_utc(value: datetime) -> None:
    text = canonical(value, "TIMESTAMP WITH TIME ZONE")

    assert text is not None
    assert text.endswith("Z")
    assert parse(text, "TIMESTAMP WITH TIME ZONE") == value


@given(st.dates(), st.datetimes(), st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_other_families_survive_exactly(day: date, moment: datetime, text: str, flag: bool) -> None:
    assert parse(canonical(day, "DATE"), "DATE") == day
    assert parse(canonical(moment, "TIMESTAMP"), "TIMESTAMP") == moment
    assert parse(canonical(text, "VARCHAR"), "VARCHAR") == text
    assert parse(canonical(flag, "BOOLEAN"), "BOOLEAN") is flag


def test_null_nan_zero_and_nothing_differ() -> None:
    forms = [
        canonical(None, "DOUBLE"),
        canonical(math.nan, "DOUBLE"),
        canonical(0.0, "DOUBLE"),
        canonical("", "VARCHAR"),
        canonical(math.inf, "DOUBLE"),
    ]

    assert forms == [None, "NaN", "0.0", "", "Infinity"]


@pytest.mark.parametrize(
    ("value", "duckdb_type"),
    [
        (True, "BIGINT"),
        (1, "BOOLEAN"),
        (1.0, "BIGINT"),
        (Decimal("1.005"), "DECIMAL(18,2)"),
        (Decimal("NaN"), "DECIMAL(18,2)"),
        (datetime(2024, 1, 1, tzinfo=UTC), "TIMESTAMP"),
        (datetime(2024, 1, 1), "DATE"),  # noqa: DTZ001 - the naive moment is the point
        ([1], "INTEGER[]"),
        (timedelta(1), "INTERVAL"),
    ],
)
def test_a_value_of_another_type_has_no_form(value: object, duckdb_type: str) -> None:
    with pytest.raises(Unrepresentable):
        canonical(value, duckdb_type)


@pytest.mark.parametrize(
    ("text", "duckdb_type"),
    [
        ("04000", "BIGINT"),
        ("4,000", "BIGINT"),
        ("1.5", "DECIMAL(18,2)"),
        ("1e3", "DOUBLE"),
        ("yes", "BOOLEAN"),
        ("2024-1-1", "DATE"),
    ],
)
def test_a_text_that_is_not_canonical_is_refused(text: str, duckdb_type: str) -> None:
    with pytest.raises(Unrepresentable):
        parse(text, duckdb_type)


@pytest.mark.req("KO-4")
@pytest.mark.parametrize(
    ("text", "duckdb_type", "shown"),
    [
        ("4000", "HUGEINT", "4,000"),
        ("-1234567", "BIGINT", "-1,234,567"),
        ("999", "BIGINT", "999"),
        ("4000.50", "DECIMAL(38,2)", "4,000.50"),
        ("-0.50", "DECIMAL(18,2)", "-0.50"),
        ("2000.0", "DOUBLE", "2,000.0"),
        ("1e+300", "DOUBLE", "1e+300"),
        ("NaN", "DOUBLE", "NaN"),
        ("2024", "VARCHAR", "'2024'"),
        ("NULL", "VARCHAR", "'NULL'"),
        ("it's", "VARCHAR", "'it''s'"),
        ("", "VARCHAR", "''"),
        ("2024-01-31", "DATE", "2024-01-31"),
        (None, "VARCHAR", "NULL"),
        (None, "BIGINT", "NULL"),
    ],
)
def test_numbers_are_shown_grouped_and_texts_quoted(
    text: str | None, duckdb_type: str, shown: str
) -> None:
    assert display(text, duckdb_type) == shown
