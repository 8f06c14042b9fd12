"""What a reader sees of a value by its number format, and what is left in its plain form."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.extract.number_formats import BUILT_IN, Value, number_format

ACCOUNTING = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'
MARCH = dt.datetime(2023, 3, 5, 14, 7, 9)  # noqa: DTZ001 - cells have no zone

SHOWN: list[tuple[Value, str, str]] = [
    # General
    (0.0, "General", "0"),
    (7.0, "General", "7"),
    (-7.5, "General", "-7.5"),
    (0.1 + 0.2, "General", "0.3"),
    (0.00001, "General", "0.00001"),
    (0.0000000001, "General", "1E-10"),
    (1.5e20, "General", "1.5E+20"),
    (4006381333931.0, "General", "4006381333931"),
    (5.0, 'General" kg"', "5 kg"),
    (-5.0, "General;(General)", "(5)"),
    (5.0, "[Red]General", "5"),
    (5.0, "@", "5"),
    # digits
    (0.4, "0", "0"),
    (0.5, "0", "1"),
    (2.5, "0", "3"),
    (-2.5, "0", "-3"),
    (1.005, "0.00", "1.01"),
    (2.675, "0.00", "2.68"),
    (1234.5, "0.00", "1234.50"),
    (0.0, "0.00", "0.00"),
    (7.0, "000", "007"),
    (1234567.891, "#,##0", "1,234,568"),
    (999.5, "#,##0", "1,000"),
    (12.0, "#,##0", "12"),
    (-1234.5, "#,##0.00", "-1,234.50"),
    (1234.0, "000,000", "001,234"),
    (0.5, "#.##", ".5"),
    (5.0, "#.##", "5."),
    (1.5, ".00", "1.50"),
    (5.0, "0.", "5."),
    (1.5, "0.0##", "1.5"),
    (1.23456, "0.0##", "1.235"),
    (1.5, '0.??" kg"', "1.5  kg"),
    (1e20, "#,##0", "100,000,000,000,000,000,000"),
    (123456789012345678.0, "0", "123456789012346000"),
    # percentages and thousands
    (0.05, "0%", "5%"),
    (0.285, "0%", "29%"),
    (0.12345, "0.00%", "12.35%"),
    (-0.05, "0%", "-5%"),
    (12.5, "#,##0%", "1,250%"),
    (0.05, '0" %"', "0 %"),
    (1234567.0, "#,##0,", "1,235"),
    (1234567.0, '0.0,,"M"', "1.2M"),
    (1234567.0, '#,##0.00,"k"', "1,234.57k"),
    # literals
    (5.0, '0" pieces"', "5 pieces"),
    (5.0, "0\\x", "5x"),
    (5.0, '"0.00 "0', "0.00 5"),
    (5.0, "$0.00", "$5.00"),
    (-5.0, "$0.00", "-$5.00"),
    (5.0, "[$€-407] 0.00", "€ 5.00"),
    (1234.5, "#,##0.00\\ [$€-407]", "1,234.50 €"),
    (1234.5, "[$$-409]#,##0.00", "$1,234.50"),
    (1234.5, "[$£-809]#,##0.00", "£1,234.50"),
    (1234.5, "[$USD] #,##0.00", "USD 1,234.50"),
    (1234.5, "[$€-2]\\ #,##0.00", "€ 1,234.50"),
    (1234.5, "[$CHF-de-CH] #,##0.00", "CHF 1,234.50"),
    (1234.5, "[$¥-411]#,##0", "¥1,235"),
    (5.0, '0" of "\\;', "5 of ;"),
    (123456789.0, "000-00-0000", "123-45-6789"),
    (5551234567.0, "(000) 000-0000", "(555) 123-4567"),
    # sections
    (-5.0, "0;(0)", "(5)"),
    (0.0, "0;(0)", "0"),
    (0.0, '0;(0);"-"', "-"),
    (-5.0, "[Blue]0.0;[Red]-0.0", "-5.0"),
    (-5.0, "0;[Color 12]0", "5"),
    (1234.5, ACCOUNTING, "$1,234.50"),
    (-1234.5, ACCOUNTING, "$(1,234.50)"),
    (0.0, ACCOUNTING, "$-"),
    (-1234.0, "#,##0_);(#,##0)", "(1,234)"),
    (5.0, "0;@", "5"),
    (-5.0, "0;@", "-5"),
    (5.0, '"yes";"no";"none"', "yes"),
    (-5.0, '"yes";"no";"none"', "no"),
    ("name", '"yes";"no";"none";"Mr. "@', "Mr. name"),
    ("name", '@" (new)"', "name (new)"),
    ("name", '0;0;0;"a text"', "a text"),
    # powers of ten
    (12345.678, "0.00E+00", "1.23E+04"),
    (0.00012, "0.00E+00", "1.20E-04"),
    (0.00012, "0.00E-00", "1.20E-04"),
    (12345.678, "0.00E-00", "1.23E04"),
    (9.9999, "0.0E+0", "1.0E+1"),
    (-12345.0, "0E+0", "-1E+4"),
    (0.0, "0.00E+00", "0.00E+00"),
    (123456.0, "##0.0E+0", "123.5E+3"),
    (0.012, "##0.0E+0", "12.0E-3"),
    # dates and times
    (MARCH, "yyyy-mm-dd", "2023-03-05"),
    (MARCH, "yyyy\\-mm\\-dd;@", "2023-03-05"),
    (MARCH, "d.m.yy", "5.3.23"),
    (MARCH, "[$-407]dd.mm.yyyy", "05.03.2023"),
    (MARCH, "[$-409]d-mmm-yy;@", "5-Mar-23"),
    (MARCH, "[$-en-US]mmmm d, yyyy", "March 5, 2023"),
    (MARCH, "[$-809]dddd d mmmm yyyy", "Sunday 5 March 2023"),
    (MARCH, "dddd, ddd d", "Sunday, Sun 5"),
    (MARCH, "mmmmm", "M"),
    (MARCH, "m/d/yyyy h:mm", "3/5/2023 14:07"),
    (MARCH, "h:mm AM/PM", "2:07 PM"),
    (MARCH, "hh:mm:ss A/P", "02:07:09 P"),
    (MARCH, "mm:ss", "07:09"),
    (MARCH, "ss.000", "09.000"),
    (MARCH, 'yyyy" week"', "2023 week"),
    (MARCH, "YYYY-MM-DD HH:MM", "2023-03-05 14:07"),
    (MARCH.date(), "d mmm yyyy", "5 Mar 2023"),
    (dt.time(0, 0), "h:mm", "0:00"),
    (dt.time(0, 30), "h AM/PM", "12 AM"),
    (dt.time(12, 0), "h AM/PM", "12 PM"),
    (dt.time(9, 5, 7, 250_000), "h:mm:ss.0", "9:05:07.3"),
    (dt.time(9, 5, 7, 500_000), "h:mm:ss", "9:05:08"),
    (dt.timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
    (dt.timedelta(hours=30, minutes=5), "[h]:mm:ss", "30:05:00"),
    (dt.timedelta(minutes=90, seconds=7), "[mm]:ss", "90:07"),
    (dt.timedelta(seconds=75), '[s]" s"', "75 s"),
    (dt.timedelta(0), '[h]:mm;;"none"', "none"),
]


@pytest.mark.parametrize(("value", "code", "shown"), SHOWN)
def test_a_value_is_shown_by_its_format(value: Value, code: str, shown: str) -> None:
    assert number_format(code).shown(value) == shown


PLAIN: list[tuple[Value, str]] = [
    # digits that a column cuts
    (2 / 3, "General"),
    (12345678901.25, "General"),
    (1.2345678901234568e16, "General"),
    (2 / 3, 'General" kg"'),
    # a negative that is rounded to nothing, where spreadsheets differ
    (-0.001, "0.00"),
    (-0.001, "0.00;(0.00)"),
    (float("nan"), "0.00"),
    (float("inf"), "0.00"),
    # what is not rendered
    (5.0, "[>3]0.0;0"),
    (5.5, "# ?/?"),
    (5.5, "# ??/16"),
    (5.0, "[DBNum1]0"),
    (5.0, "[$₹-4009]#,##0"),
    (5.0, "[$-2000401]0"),
    (5.0, "[$ر.س-401] 0"),
    (5.0, "0.0.0"),
    (5.0, "0#"),
    (5.0, "0.#0"),
    (5.0, "0.0,0"),
    (5.0, ",0"),
    (5.0, "0%%"),
    (5.0, "0%.0"),
    (5.0, '"no. "@'),
    (5.0, "?,??0"),
    (5.0, "00.0E+0"),
    (999999.0, "##0.0E+0"),
    (0.0, "##0.0E+0"),
    (5.0, "0E+#"),
    (5.0, "0x"),
    (5.0, '0"x'),
    (5.0, "0\\"),
    (5.0, "0;0;0;0;0"),
    (5.0, "0@"),
    (5.0, ""),
    (5.0, "[Red]"),
    (5.0, "0" * 256),
    (5.0, "yyyy-mm-dd"),
    (5.0, "0;yyyy;0;@;@"),
    ("text", "0.00"),
    ("text", "General"),
    ("text", "@"),
    ("text", "_(@_)"),
    (" text ", ACCOUNTING),
    (True, "0.00"),
    # dates
    (MARCH, "0.00"),
    (MARCH, "[$-407]d. mmmm yyyy"),
    (MARCH, "[$-809]d mmm yyyy"),
    (MARCH, "[$-C09]h:mm AM/PM"),
    (MARCH, "[$-F800]dddd, mmmm dd, yyyy"),
    (MARCH, "[$-x-sysdate]dddd"),
    (MARCH, "[$-F400]h:mm:ss AM/PM"),
    (MARCH, "[$-411]yyyy"),
    (MARCH, "[$-1070000]d/mm/yyyy"),
    (MARCH, "ggge"),
    (MARCH, "yyyyy"),
    (MARCH, "h:mm am/pm"),
    (MARCH, "m h"),
    (MARCH, "ss mm"),
    (MARCH, "ss.0000"),
    (MARCH, "[h]:mm"),
    (MARCH, "yyyy [h]"),
    (MARCH, "yyyy 0"),
    (MARCH, "yyyy%"),
    (MARCH, "[<5]yyyy;0"),
    (dt.datetime(1900, 2, 28, 6), "yyyy-mm-dd"),  # noqa: DTZ001
    (dt.time(6, 0), "yyyy-mm-dd"),
    (dt.time(6, 0), "[h]:mm"),
    (dt.time(9, 5, 59, 700_000), "h:mm:ss"),
    (dt.time(23, 59, 59, 999_000), "h:mm"),
    (dt.timedelta(hours=-1), "[h]:mm"),
    (dt.timedelta(days=2_958_466), "[h]:mm"),
    (dt.timedelta(hours=1), "h:mm"),
    (dt.timedelta(hours=1), "[m]:hh"),
]


@pytest.mark.parametrize(("value", "code"), PLAIN)
def test_what_is_not_rendered_exactly_stays_plain(value: Value, code: str) -> None:
    assert number_format(code).shown(value) is None


HIDDEN: list[tuple[Value, str]] = [
    (5.0, ";;;"),
    (-5.0, ";;;"),
    (0.0, ";;;"),
    ("text", ";;;"),
    (True, ";;;"),
    (MARCH, ";;;"),
    (5.0, "[Red];;;"),
    (5.0, ";;"),
    (-5.0, "0;"),
    (0.0, "0;-0;;@"),
    ("text", "0;0;0;"),
    (0.0, "#"),
    (0.3, "#,###"),
    (5.0, '""'),
    (5.0, '"  ";0'),
    (5.0, "_(;0"),
    (dt.timedelta(hours=-1), "[h]:mm;;"),
    # no section has a place for the value, whatever chooses between them
    (5.0, '[>3]"";""'),
    (5.0, '[>3]"many";"few"'),
]


@pytest.mark.parametrize(("value", "code"), HIDDEN)
def test_what_a_format_hides_is_not_shown(value: Value, code: str) -> None:
    assert number_format(code).shown(value) == ""


BY_ID: dict[int, tuple[Value, str | None]] = {
    0: (1234.5, "1234.5"),
    1: (1234.5, "1235"),
    2: (1234.5, "1234.50"),
    3: (1234.5, "1,235"),
    4: (1234.5, "1,234.50"),
    9: (0.126, "13%"),
    10: (0.126, "12.60%"),
    11: (1234.5, "1.23E+03"),
    12: (1.5, None),
    13: (1.5, None),
    15: (MARCH, "5-Mar-23"),
    16: (MARCH, "5-Mar"),
    17: (MARCH, "Mar-23"),
    18: (MARCH, "2:07 PM"),
    19: (MARCH, "2:07:09 PM"),
    20: (MARCH, "14:07"),
    21: (MARCH, "14:07:09"),
    37: (-1234.5, "(1,235)"),
    38: (-1234.5, "(1,235)"),
    39: (-1234.5, "(1,234.50)"),
    40: (-1234.5, "(1,234.50)"),
    45: (MARCH, "07:09"),
    46: (dt.timedelta(hours=30), "30:00:00"),
    47: (MARCH, "07:09.0"),
    48: (1234.5, "1.2E+3"),
    49: (1234.5, "1234.5"),
}


def test_the_formats_that_need_no_declaration_are_rendered() -> None:
    assert BUILT_IN.keys() == BY_ID.keys()
    for number, (value, shown) in BY_ID.items():
        assert number_format(BUILT_IN[number]).shown(value) == shown, number


def test_formats_that_follow_the_settings_of_whoever_looks_are_not_known() -> None:
    assert not BUILT_IN.keys() & {*range(5, 9), 14, 22, *range(23, 37), *range(41, 45)}


_PIECES = st.sampled_from(
    ["0", "#", "?", ",", ".", "%", "E+", "E-", ";", "@", "General", '"', '"x"', "\\", "_", "*", " ",
     "/", "-", "(", ")", "$", "[$€-407]", "[Red]", "[>1]", "[h]", "[", "]", "yyyy", "mm", "m", "d",
     "h", "ss", "AM/PM", "é", "x"]
)  # fmt: skip
_VALUES: st.SearchStrategy[Value] = st.one_of(
    st.floats(), st.booleans(), st.text(max_size=5), st.datetimes(), st.dates(), st.times(),
    st.timedeltas(),
)  # fmt: skip


@given(value=_VALUES, code=st.lists(_PIECES, max_size=12).map("".join) | st.text(max_size=300))
def test_no_format_and_no_value_is_too_much(value: Value, code: str) -> None:
    shown = number_format(code).shown(value)

    assert shown is None or (isinstance(shown, str) and len(shown) < 2_000)
