"""The second opinion: which columns a statement reads, derived by sqlglot and not by DuckDB.

The worker compares the answer with what DuckDB's binder reads on an empty twin of the tables and
refuses on any difference. sqlglot never writes what runs.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from chancery.kernel.canonical import Json
from chancery.tabular.ambiguity import has_ambiguous_name
from chancery.tabular.gate import GatedQuery
from chancery.tabular.parsing import SESSION_VALUES, parsed
from chancery.tabular.refusals import refusal, session_name, unknown_name
from chancery.tabular.schema import TableSchema, ascii_fold
from chancery.tabular.tree import as_items, as_text, objects_within

Reads: TypeAlias = Mapping[str, tuple[str, ...]]
"""Native table name to the native names of the columns read, both sorted."""

_NO_COLUMN = "__no_column"
"""Stands for the columns of a table of which none is read; no statement can name it."""

# sqlglot logs the statement when it falls back; a statement is content and belongs into no log.
logging.getLogger("sqlglot").disabled = True


def tables_of(query: GatedQuery, schemas: Sequence[TableSchema]) -> tuple[TableSchema, ...]:
    """Return the pinned tables that `query` names.

    Raises:
        Rejected: `sql_unknown_table` or `sql_ambiguous_table`.
    """
    found = {table.name: table for table in (_find(name, schemas) for name in query.tables)}
    if len({ascii_fold(name) for name in found}) != len(found):
        raise refusal("sql_ambiguous_table")
    return tuple(found[name] for name in sorted(found))


def _find(name: str, schemas: Sequence[TableSchema]) -> TableSchema:
    """Return the table that SQL means by `name`: the exact spelling, else the only folded match."""
    exact = [each for each in schemas if each.name == name]
    found = exact or [each for each in schemas if ascii_fold(each.name) == ascii_fold(name)]
    if not found:
        raise unknown_name("sql_unknown_table", name)
    if len(found) > 1:
        raise refusal("sql_ambiguous_table")
    return found[0]


def reads_of(query: GatedQuery, tables: Sequence[TableSchema]) -> Reads:
    """Return the columns that `query` reads of `tables`, filters and orders included.

    Raises:
        Rejected: `sql_unknown_column`, `sql_lineage_unresolved`, or `sql_not_bindable` for a name
            that several tables have.
    """
    _check_names(query.node, tables)
    found: dict[str, set[str]] = {ascii_fold(each.name): set() for each in tables}
    try:
        expression = parsed(query.canonical_sql)
        _check_columns(query.node, expression)
        for table, column in _pairs(expression, tables):
            found[table].add(column)
    except (SqlglotError, RecursionError, KeyError, ValueError, AttributeError) as error:
        unclear = has_ambiguous_name(query.node, tables)
        raise refusal("sql_not_bindable" if unclear else "sql_lineage_unresolved") from error
    return {
        each.name: tuple(sorted(_native(each, name) for name in found[ascii_fold(each.name)]))
        for each in tables
    }


def _check_names(node: Mapping[str, Json], tables: Sequence[TableSchema]) -> None:
    """Refuse a bare name that is neither a column nor a result's alias.

    To DuckDB such a name can be a whole row (`SELECT t FROM t`) or a hidden call (`current_user`).
    The call wins over an alias in HAVING, QUALIFY and nested queries, so that none stands for one,
    and over every column in LIMIT and OFFSET.
    """
    known = {ascii_fold(column.name) for table in tables for column in table.columns}
    aliases = {
        ascii_fold(as_text(each["alias"]))
        for each in objects_within(node)
        if each.get("class") and each.get("alias")
    }
    for names in _references(node):
        name = ascii_fold(names[-1])
        is_call = len(names) == 1 and name in SESSION_VALUES
        if is_call and (name in aliases or name not in known):
            raise session_name(names[-1])
        if name not in known | aliases:
            raise unknown_name("sql_unknown_column", names[-1])
    for each in objects_within(node):
        for names in _references(each) if each.get("type") == "LIMIT_MODIFIER" else ():
            if ascii_fold(names[-1]) in SESSION_VALUES:
                raise session_name(names[-1])


def _references(node: Mapping[str, Json]) -> Iterator[list[str]]:
    """Yield the parts of each name of a column, wherever it stands."""
    for each in objects_within(node):
        if each.get("class") == "COLUMN_REF":
            yield [as_text(part) for part in as_items(each["column_names"])]


def _check_columns(node: Mapping[str, Json], expression: exp.Expr) -> None:
    """Refuse a name that sqlglot reads as something else than a column.

    What it means would be DuckDB's word alone.
    """
    read = Counter(ascii_fold(column.name) for column in expression.find_all(exp.Column))
    read.subtract(ascii_fold(names[-1]) for names in _references(node))
    if any(count < 0 for count in read.values()):
        raise refusal("sql_lineage_unresolved")


def _pairs(expression: exp.Expr, tables: Sequence[TableSchema]) -> Iterator[tuple[str, str]]:
    schema: dict[str, object] = {
        ascii_fold(table.name): {ascii_fold(each.name): each.duckdb_type for each in table.columns}
        or {_NO_COLUMN: "BOOLEAN"}
        for table in tables
    }
    # Unless it is told that they are folded, it reads the names as SQL: `a;b` is two statements.
    known = MappingSchema(schema, dialect="duckdb", normalize=False)
    qualified = qualify(
        expression, schema=known, dialect="duckdb", quote_identifiers=False, identify=False
    )
    for scope in traverse_scope(qualified):
        for column in scope.columns:
            if ascii_fold(column.name) in SESSION_VALUES and column.table not in scope.sources:
                # Of a nested query DuckDB calls the session value, not the column around it.
                raise refusal("sql_lineage_unresolved")
            source = _source(scope, column.table)
            if isinstance(source, exp.Table):
                yield ascii_fold(source.name), ascii_fold(column.name)


def _source(scope: Scope, alias: str) -> object:
    current: Scope | None = scope
    while current is not None:
        if alias in current.sources:
            return current.sources[alias]
        current = current.parent
    return None


def _native(table: TableSchema, name: str) -> str:
    column = table.column(name)
    if column is None:
        raise refusal("sql_unknown_column")
    return column.name
