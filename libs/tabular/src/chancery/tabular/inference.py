"""The type of a CSV column from all of its texts; what would lose a digit stays text.

Integers are BIGINT, beyond 64 bits DECIMAL(38,0) (Parquet has no wider integer; DuckDB would write
HUGEINT as DOUBLE). Fractions are DECIMAL with the most fraction digits seen. Leading zeros, plus
signs, exponents, more than 38 digits and mixed families stay VARCHAR. An empty field is NULL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite

from chancery.kernel.errors import Rejected
from chancery.tabular.schema import ColumnDeclaration

DIGITS_MAX = 38
_NARROW_DIGITS = 18
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(?:\.([0-9]+))?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|NaN|-?Infinity")
_NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})
_DOUBLE_DIGITS = 15
"""A number of so many digits reads back from a DOUBLE as it was."""

_DECLARED_DECIMAL = re.compile(r"decimal\(\s*([0-9]{1,2})\s*,\s*([0-9]{1,2})\s*\)")
_DECLARED = {
    "integer": "integer", "bigint": "integer", "decimal": "decimal", "double": "double",
    "date": "date", "timestamp": "timestamp", "timestamptz": "timestamptz",
    "boolean": "boolean", "text": "text", "varchar": "text",
}  # fmt: skip
_BIGINT_MIN, _BIGINT_MAX = -(2**63), 2**63 - 1


@dataclass(slots=True)
class ColumnEvidence:
    """What the texts of one column have in common so far."""

    families: set[str]
    whole_digits: int = 1
    fraction_digits: int = 0
    has_whole: bool = False
    wide: bool = False
    mismatch_row: int | None = None

    @classmethod
    def empty(cls) -> ColumnEvidence:
        """Return the evidence of no text at all."""
        return cls(set())

    def add(self, text: str) -> None:
        """Take one non-empty text into account."""
        if self.families == {"text"}:
            return
        family = classify(text)
        self.families.add(family)
        if family in {"integer", "decimal"}:
            self._measure(text)

    def add_declared(self, text: str, declared: str, row: int) -> None:
        """Take one non-empty text of a column with a declared type into account."""
        if declared == "text":
            return
        if not _fits(text, declared):
            self.mismatch_row = self.mismatch_row or row
        elif declared in {"integer", "decimal"}:
            self._measure(text)

    def inferred(self) -> str:
        """Return the DuckDB type that carries every text exactly."""
        families = self.families
        if families == {"integer"}:
            return self._integer()
        if families and families <= {"integer", "decimal"}:
            return self._decimal()
        names = {"boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP"}
        names["timestamptz"] = "TIMESTAMP WITH TIME ZONE"
        return names.get(next(iter(families)), "VARCHAR") if len(families) == 1 else "VARCHAR"

    def declared(self, declared: str, exact: tuple[int, int] | None) -> str | None:
        """Return the DuckDB type of the declared family, or None when the digits do not fit."""
        if declared == "integer":
            found = self._integer()
            return None if found == "VARCHAR" else found
        if declared == "decimal":
            return self._declared_decimal(exact)
        names = {"text": "VARCHAR", "timestamptz": "TIMESTAMP WITH TIME ZONE"}
        return names.get(declared, declared.upper())

    def _measure(self, text: str) -> None:
        found = _NUMBER.fullmatch(text)
        assert found is not None, "only numbers are measured"
        self.whole_digits = max(self.whole_digits, len(found.group(1)))
        self.fraction_digits = max(self.fraction_digits, len(found.group(2) or ""))
        self.has_whole = self.has_whole or found.group(1) != "0"
        if self.whole_digits >= _NARROW_DIGITS and not self.wide and found.group(2) is None:
            self.wide = not _is_bigint(text)

    def _integer(self) -> str:
        if self.whole_digits > DIGITS_MAX:
            return "VARCHAR"
        return f"DECIMAL({DIGITS_MAX},0)" if self.wide else "BIGINT"

    def _decimal(self) -> str:
        digits = self.whole_digits + self.fraction_digits
        if digits > DIGITS_MAX:
            return "VARCHAR"
        width = _NARROW_DIGITS if digits <= _NARROW_DIGITS else DIGITS_MAX
        return f"DECIMAL({width},{self.fraction_digits})"

    def _declared_decimal(self, exact: tuple[int, int] | None) -> str | None:
        if exact is None:
            found = self._decimal()
            return None if found == "VARCHAR" else found
        width, scale = exact
        whole_digits = self.whole_digits if self.has_whole else 0
        fits = self.fraction_digits <= scale and whole_digits <= width - scale
        return f"DECIMAL({width},{scale})" if fits else None


def classify(text: str) -> str:
    """Return the narrowest family whose texts include `text`."""
    if _INTEGER.fullmatch(text):
        return "integer" if len(text.lstrip("-")) <= DIGITS_MAX else "text"
    if _fits(text, "decimal"):
        return "decimal"
    for family in ("boolean", "date", "timestamp", "timestamptz"):
        if _fits(text, family):
            return family
    return "text"


def parse_declaration(
    declaration: ColumnDeclaration, *, field: str
) -> tuple[str, tuple[int, int] | None] | None:
    """Return the declared family and, for `decimal(p,s)`, its digits; None when none is declared.

    Raises:
        Rejected: with code `invalid_column_type`.
    """
    if declaration.type is None:
        return None
    name = declaration.type.strip().lower()
    found = _DECLARED_DECIMAL.fullmatch(name)
    if found is not None:
        width, scale = int(found.group(1)), int(found.group(2))
        if 1 <= width <= DIGITS_MAX and scale <= width:
            return "decimal", (width, scale)
    elif name in _DECLARED:
        return _DECLARED[name], None
    detail = f"{field} must be one of {', '.join(sorted(_DECLARED))} or decimal(precision,scale)"
    raise Rejected(detail, field=field, code="invalid_column_type")


def goes_by_rows(declared_type: str | None) -> bool:
    """Tell whether a column's type, and with it the form of its values, depends on all its rows.

    Of what is declared, the width of whole numbers and the digits of a plain `decimal` do.
    """
    try:
        wanted = parse_declaration(ColumnDeclaration(declared_type), field="type")
    except Rejected:
        return True
    return wanted in {None, ("integer", None), ("decimal", None)}


def _fits(text: str, family: str) -> bool:
    match family:
        case "integer":
            return _INTEGER.fullmatch(text) is not None
        case "decimal":
            return _NUMBER.fullmatch(text) is not None and text != "-0"
        case "double":
            return _DOUBLE.fullmatch(text) is not None and _is_kept_by_double(text)
        case "boolean":
            return text.lower() in {"true", "false"}
        case "date":
            return _DATE.fullmatch(text) is not None and _is_date(text)
        case _:
            return _is_moment(text, zoned=family == "timestamptz")


def _is_bigint(text: str) -> bool:
    return _BIGINT_MIN <= int(text) <= _BIGINT_MAX if len(text) <= DIGITS_MAX + 1 else False


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_moment(text: str, *, zoned: bool) -> bool:
    found = _MOMENT.fullmatch(text)
    if found is None or (found.group(1) is not None) != zoned:
        return False
    try:
        moment = datetime.fromisoformat(text)
        if zoned:
            moment.astimezone(UTC)
    except (ValueError, OverflowError):  # in UTC it may be another year than 1 to 9999
        return False
    return True


def _is_kept_by_double(text: str) -> bool:
    """Return whether a number keeps its size, and a whole one written in digits its every digit.

    A fraction becomes the nearest DOUBLE: that is what the type is for.
    """
    if len(text) <= _DOUBLE_DIGITS and text.lstrip("+-").isdigit():
        return True
    value = float(text)
    if not isfinite(value):
        return text in _NOT_FINITE
    mantissa, exponent, _ = text.lower().partition("e")
    written = Decimal(mantissa)
    if exponent or written != written.to_integral_value():
        return value != 0 or written == 0
    return Decimal(repr(value)) == written
