"""Numbers are rounded as spreadsheets round: 15 digits, halves away from zero."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

from hypothesis import given
from hypothesis import strategies as st

from chancery.extract.format_numbers import fifteen_digits
from chancery.extract.number_formats import number_format

_NUMBERS = st.decimals(0, 10**8, places=6)
_PLACES = st.integers(0, 6)


def _rounded(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def _zeros(places: int) -> str:
    return f"0.{'0' * places}" if places else "0"


@given(number=_NUMBERS, places=_PLACES)
def test_places_are_those_of_the_decimal_number(number: Decimal, places: int) -> None:
    value, expected = float(number), _rounded(number, places)

    assert number_format(_zeros(places)).shown(value) == f"{expected:f}"
    assert number_format(f"#,##{_zeros(places)}").shown(value) == f"{expected:,f}"
    if expected:
        assert number_format(_zeros(places)).shown(-value) == f"-{expected:f}"
        assert number_format(f"0;({_zeros(places)})").shown(-value) == f"({expected:f})"


@given(number=_NUMBERS, places=_PLACES)
def test_a_percentage_is_a_hundred_times_the_number(number: Decimal, places: int) -> None:
    shown = number_format(f"{_zeros(places)}%").shown(float(number))

    assert shown == f"{_rounded(number * 100, places):f}%"


@given(number=_NUMBERS, commas=st.integers(1, 3), places=_PLACES)
def test_a_comma_at_the_end_divides_by_a_thousand(
    number: Decimal, commas: int, places: int
) -> None:
    shown = number_format(f"{_zeros(places)}{',' * commas}").shown(float(number))

    assert shown == f"{_rounded(number.scaleb(-3 * commas), places):f}"


@given(number=_NUMBERS.filter(bool), places=_PLACES)
def test_a_power_of_ten_has_one_digit_before_its_point(number: Decimal, places: int) -> None:
    with localcontext(rounding=ROUND_HALF_UP):
        mantissa, _, power = f"{number:.{places}E}".partition("E")

    shown = number_format(f"{_zeros(places)}E+00").shown(float(number))

    assert shown == f"{mantissa}E{power[0]}{power[1:]:>02}"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_general_never_changes_a_number(value: float) -> None:
    shown = number_format("General").shown(value)

    if shown is None:
        assert len(f"{fifteen_digits(value).normalize():f}") > 11
    else:
        assert Decimal(shown) == fifteen_digits(value)
