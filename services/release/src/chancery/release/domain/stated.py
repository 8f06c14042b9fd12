"""What a statement can give, whatever its recorded preview says: a type and a form of values.

A preview is bytes that another service stored. A sum that is a sentence never came from DuckDB, and
would put words into the answer that nobody published. A cell of several lines could forge those of
the answer: a further statement, with a quotation and its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import category

from chancery.evidence.answer import is_one_line
from chancery.release.errors import InvalidSelection
from chancery.tabular.eligibility import Native
from chancery.tabular.preview import NativeValue
from chancery.tabular.schema import TableSchema, family_of
from chancery.tabular.values import Unrepresentable, parse

_COUNTED = "BIGINT"
_JOINERS = frozenset("\u200c\u200d")
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters of Hangul that look like a space."""

_NUMBERS = frozenset({"integer", "decimal", "double"})


def check_stated(value: NativeValue, tables: Iterable[TableSchema]) -> None:
    """Refuse a value that the native fact it claims to be cannot have.

    Raises:
        InvalidSelection: with code `value_malformed`, or `value_not_one_line`.
    """
    if not _has_type(value.type, value.native, tables):
        raise _malformed()
    try:
        parse(value.value, value.type)
    except Unrepresentable as error:
        raise _malformed() from error
    if not _is_shown(value.value or ""):
        message = "a text of several lines, or with characters that nobody sees, is no stated value"
        raise InvalidSelection(message, code="value_not_one_line")


def _is_shown(text: str) -> bool:
    """Tell whether a text is one line of which a reader sees every character.

    Marks that only join letters (Persian, emoji) or pick a shape stay: a neighbour shows them.
    """
    return is_one_line(text) and not any(map(_is_unseen, text))


def _is_unseen(character: str) -> bool:
    return character not in _JOINERS and (category(character) == "Cf" or character in _FILLERS)


def _has_type(duckdb_type: str, native: Native, tables: Iterable[TableSchema]) -> bool:
    if native.aggregate == "COUNT":
        return duckdb_type == _COUNTED
    if native.aggregate in {None, "MIN", "MAX"}:
        return duckdb_type in _types_of(native, tables)
    return family_of(duckdb_type) in _NUMBERS


def _types_of(native: Native, tables: Iterable[TableSchema]) -> set[str]:
    columns = (
        None if native.column is None else table.column(native.column)
        for table in tables
        if table.name == native.table
    )
    return {column.duckdb_type for column in columns if column is not None}


def _malformed() -> InvalidSelection:
    message = "a recorded value is not one that its statement can give"
    return InvalidSelection(message, code="value_malformed")
