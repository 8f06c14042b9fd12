"""Which texts of a row filter are a value of a column's type: its exact form, and no other.

An engine's cast is wider (DuckDB reads `2024-01-02 23:00:00` as a date, and 9007199254740993 as the
DOUBLE beside it), so what a policy says would match rows that it does not name.
"""

from __future__ import annotations

import re

from chancery.kernel.errors import Rejected
from chancery.tabular.inference import DIGITS_MAX, parse_declaration
from chancery.tabular.schema import ColumnDeclaration, decimal_scale, family_of
from chancery.tabular.values import Unrepresentable, parse

_PLAIN = re.compile(r"(-?(?:0|[1-9][0-9]{0,37}))(?:\.([0-9]{1,38}))?")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,37}")
_TYPES = {
    "integer": f"DECIMAL({DIGITS_MAX},0)",
    "text": "VARCHAR",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}


def filter_text(value: str | int | bool) -> str:  # noqa: FBT001 - a cell's value, not a flag
    """Return a value of a declared filter as a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def is_exact(text: str, duckdb_type: str) -> bool:
    """Return whether `text` is the canonical form of a value of the type.

    A decimal may leave out zeros at its end, and a DOUBLE the fraction of a whole number: JSON has
    whole numbers only. Whether a number lies within the range of its type is not asked here.
    """
    match family_of(duckdb_type):
        case "decimal":
            return _is_canonical(_at_scale(text, decimal_scale(duckdb_type)), duckdb_type)
        case "double" if _INTEGER.fullmatch(text):
            return int(float(text)) == int(text)
        case _:
            return _is_canonical(text, duckdb_type)


def check_filter_value(text: str, declared_type: str, *, field: str) -> None:
    """Refuse a text that can be no value of the type that a publisher declares of a column.

    Raises:
        Rejected: `policy_filter_value`; `invalid_column_type` for no type at all.
    """
    wanted = parse_declaration(ColumnDeclaration(declared_type), field=field)
    assert wanted is not None, "a type is declared"
    family, digits = wanted
    if family == "decimal":
        fits = _fits(text, digits)
    else:
        fits = is_exact(text, _TYPES.get(family, family.upper()))
    if not fits:
        detail = f"{field} must be a {family} in its exact form, as results show it"
        raise Rejected(detail, field=field, code="policy_filter_value")


def _fits(text: str, digits: tuple[int, int] | None) -> bool:
    """Return whether a decimal of the declared digits holds the number; any does without them."""
    found = _PLAIN.fullmatch(text)
    if found is None or text == "-0":
        return False
    whole, fraction = found.group(1).lstrip("-"), found.group(2) or ""
    width, scale = digits or (DIGITS_MAX, max(len(fraction), DIGITS_MAX - len(whole)))
    room = width - scale if digits else DIGITS_MAX - len(fraction)
    return is_exact(text, f"DECIMAL({width},{scale})") and (whole == "0" or len(whole) <= room)


def _at_scale(text: str, scale: int) -> str:
    """Return a plain number with the zeros that its column shows; anything else as no number."""
    found = _PLAIN.fullmatch(text)
    if found is None:
        return ""
    whole, fraction = found.group(1), (found.group(2) or "").ljust(scale, "0")
    return f"{whole}.{fraction}" if fraction else whole


def _is_canonical(text: str, duckdb_type: str) -> bool:
    try:
        parse(text, duckdb_type)
    except (Unrepresentable, OverflowError):
        return False
    return True
