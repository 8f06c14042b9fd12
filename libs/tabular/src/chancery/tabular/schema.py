"""Columns, their types and the tables that a query may name."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Family: TypeAlias = Literal[
    "integer", "decimal", "double", "boolean", "date", "timestamp", "timestamptz", "text", "other"
]
"""What a value is, whatever its width; `other` is never carried in a preview."""

INTEGERS = frozenset(
    {
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
        "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    }
)  # fmt: skip
_FAMILIES: dict[str, Family] = {
    "DOUBLE": "double",
    "FLOAT": "double",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "VARCHAR": "text",
    '"NULL"': "text",
}
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_DECIMAL = re.compile(r"DECIMAL\((\d{1,2}),(\d{1,2})\)")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a snapshot: its native name, its family and its exact DuckDB type."""

    name: str
    type: Family
    duckdb_type: str


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A pinned table as the caller may see it: the dataset id and the visible columns in order."""

    name: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column | None:
        """Return the column that SQL means by `name` (DuckDB folds case), or None."""
        return _found(self.columns, name, ascii_fold)

    def declared_column(self, name: str) -> Column | None:
        """Return the column that a publisher means by `name`, or None."""
        return _found(self.columns, name, fold)


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    """What a publisher declares of a column: a type, and the roles that may see it."""

    type: str | None = None
    roles: tuple[str, ...] = ()


def family_of(duckdb_type: str) -> Family:
    """Return the family of a DuckDB type name; lists, structs, intervals and such are `other`."""
    if duckdb_type in INTEGERS:
        return "integer"
    if _DECIMAL.fullmatch(duckdb_type):
        return "decimal"
    return _FAMILIES.get(duckdb_type, "other")


def decimal_scale(duckdb_type: str) -> int:
    """Return the fraction digits of a DECIMAL type."""
    found = _DECIMAL.fullmatch(duckdb_type)
    assert found is not None, "only DECIMAL types have a scale"
    return int(found.group(2))


def column_of(name: str, duckdb_type: str) -> Column:
    """Return the column with the family that its DuckDB type has."""
    return Column(name, family_of(duckdb_type), duckdb_type)


def visible_columns(
    columns: Iterable[tuple[str, str]], hidden: Iterable[str]
) -> tuple[Column, ...]:
    """Return the (name, DuckDB type) pairs of a snapshot that are not hidden, as columns.

    Names are compared as declarations are. A hidden field of a nested column (`st.priv`) hides
    the whole column: what is left of it could not be told from what was taken.
    """
    names = {fold(name) for name in hidden}
    made = (column_of(*each) for each in columns)
    return tuple(each for each in made if not _is_hidden(each, names))


def _is_hidden(column: Column, hidden: Collection[str]) -> bool:
    name = fold(column.name)
    inside = column.type == "other" and any(each.startswith(f"{name}.") for each in hidden)
    return name in hidden or inside


def _found(columns: Iterable[Column], name: str, folded: Callable[[str], str]) -> Column | None:
    wanted = folded(name)
    return next((each for each in columns if folded(each.name) == wanted), None)


def fold(name: str) -> str:
    """Return the form under which two spellings of a name are one in what a publisher declares.

    It is wider than SQL's, for a policy that hides `GRÖßE` must not leave `größe` visible; a file
    with both is refused. Never ask it what a statement means.
    """
    return name.lower()


def ascii_fold(name: str) -> str:
    """Return the form under which two spellings of a name are one in a statement.

    An engine folds no other letters: with a wider fold `É` would be the column `é` here, and there
    an alias, whose value would then stand under the column's name.
    """
    return name.translate(_ASCII_LOWER)


def quote_identifier(name: str) -> str:
    """Return `name` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
