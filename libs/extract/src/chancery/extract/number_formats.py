"""The number formats of workbooks: what a reader sees of the value of a cell.

Numbers are written with a decimal point and commas between thousands, names in English, as in a
column that is wide enough. What is not rendered exactly is not rendered: the caller has a plain
form. A section that is empty hides what falls to it.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from chancery.extract.format_codes import SECTIONS_MAX, Section, UnknownFormat, sections_of
from chancery.extract.format_dates import DateCode, Moment, date_code
from chancery.extract.format_numbers import NumberCode, fifteen_digits, general, number_code

Value: TypeAlias = int | float | str | bool | Moment

BUILT_IN: Final[Mapping[int, str]] = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%",
    11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy",
    18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 37: "#,##0 ;(#,##0)",
    38: "#,##0 ;[Red](#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;[Red](#,##0.00)",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
}  # fmt: skip
"""The formats that a workbook need not declare, as far as they are the same everywhere.

Dates by 14 and 22 follow the settings of whoever looks, money by 5 to 8 and 41 to 44 too.
"""

_UNSEEN: Final = re.compile(r'"[^"]*"|\\.|[_*].|\[[^\]]*\]', re.DOTALL)
"""What a code says that is not the value."""

_VALUE: Final = re.compile(r"[0-9#?@A-Za-z]")
_BLANKS: Final = " \u00a0"

_Code: TypeAlias = NumberCode | DateCode | Section | None
"""A section as it is rendered; None is one that is not."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A number format; without sections it renders nothing, so that all is shown plainly."""

    numeric: tuple[_Code, ...] = ()
    text: _Code = None

    def shown(self, value: Value) -> str | None:
        """Return what a reader sees of `value`: `""` is nothing, None is its plain form."""
        match value:
            case bool():
                return "" if self._hides_text() else None
            case str():
                return self._text(value)
            case int() | float():
                return self._number(float(value)) if math.isfinite(value) else None
            case _:
                return self._moment(value)

    def _hides_text(self) -> bool:
        return isinstance(self.text, Section) and not _joined(self.text).strip(_BLANKS)

    def _text(self, value: str) -> str | None:
        if not isinstance(self.text, Section) or self.text.kind == "general":
            return None
        if self.text.kind == "literal":
            return _joined(self.text).strip(_BLANKS)
        before, *between, after = _joined(self.text, "\0").split("\0")
        shown = value.join((before.lstrip(_BLANKS), *between, after.rstrip(_BLANKS)))
        return None if shown == value else shown

    def _number(self, value: float) -> str | None:
        code = self._section((value > 0) - (value < 0))
        match code:
            case NumberCode():
                shown = code.shown(fifteen_digits(abs(value)), is_negative=value < 0)
            case Section(kind="general"):
                digits = general(abs(value))
                shown = None if digits is None else _joined(code, digits)
            case Section(kind="literal"):
                shown = _joined(code)
            case _:
                return None
        if shown is None:
            return None
        has_sign = value < 0 and len(self.numeric) == 1
        return f"-{shown.strip(_BLANKS)}" if has_sign else shown.strip(_BLANKS)

    def _moment(self, value: Moment) -> str | None:
        match value:
            case dt.timedelta():
                sign = (value > dt.timedelta(0)) - (value < dt.timedelta(0))
            case dt.time():
                sign = int(value != dt.time(0))
            case _:
                sign = 1
        match self._section(sign):
            case DateCode() as code if sign >= 0:
                shown = code.shown(value)
            case Section(kind="literal") as code if sign >= 0 or len(self.numeric) > 1:
                shown = _joined(code)
            case _:
                return None
        return None if shown is None else shown.strip(_BLANKS)

    def _section(self, sign: int) -> _Code:
        """Return the section for a sign: positive, negative, zero, as far as there are so many."""
        which = 1 if sign < 0 else 2 if sign == 0 else 0
        if not self.numeric:
            return None
        return self.numeric[which] if which < len(self.numeric) else self.numeric[0]


PLAIN: Final = NumberFormat()
"""Shows everything in its plain form."""

_NOTHING: Final = NumberFormat((Section("literal"),) * 2, Section("literal"))


def number_format(code: str) -> NumberFormat:
    """Return a number format; one that is not known shows everything plainly.

    One that is not known and has no place for a value shows nothing.
    """
    try:
        sections = sections_of(code)
    except UnknownFormat:
        return PLAIN if _VALUE.search(_UNSEEN.sub("", code)) or not code else _NOTHING
    if len(sections) == 1 and not sections[0].pieces:
        return PLAIN
    *numeric, last = sections
    if len(sections) == SECTIONS_MAX or last.kind == "text":
        by_default = (None,) if _joined(last).strip(_BLANKS) else (_GENERAL,)
        return NumberFormat(tuple(map(_code, numeric)) or by_default, _code(last))
    return NumberFormat(tuple(map(_code, sections)))


_GENERAL: Final = Section("general", (("general", ""),))


def _code(section: Section) -> _Code:
    try:
        match section.kind:
            case "number":
                return number_code(section.pieces)
            case "date":
                return date_code(section.pieces)
            case "unknown":
                return None
            case _:
                return section
    except UnknownFormat:
        return None


def _joined(section: Section, value: str = "") -> str:
    """Return the literals of a section, with `value` where it belongs."""
    return "".join(text if kind == "literal" else value for kind, text in section.pieces)
