"""SQL stands in sql folders, names its own schema, and lists its columns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp

from tests.tidy.tree import Finding, docstrings, parsed

_LEAD = r"\s*(--[^\n]*\n\s*)*"
_STATEMENT = re.compile(
    _LEAD + r"(SELECT\s+\S|INSERT\s+INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|MERGE\s+INTO\s"
    r"|WITH\s+(RECURSIVE\s+)?\w+\s*(\([^)]*\)\s*)?AS\s*(NOT\s+)?(MATERIALIZED\s*)?\("
    r"|(CREATE|ALTER|DROP)\s+(TABLE|SCHEMA|ROLE|DATABASE|INDEX|VIEW|FUNCTION|TRIGGER)\s"
    r"|TRUNCATE\s+\S|LISTEN\s+\w|NOTIFY\s+\w|LOCK\s+TABLE\s"
    r"|GRANT\s+\w+.*\sTO\s|COPY\s+\S+\s+(FROM|TO)\s)"
)
_ROWS = re.compile(_LEAD + r"(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH)\b")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_LITERAL = re.compile(r"'(?:[^']|'')*'")


def statements_in_code(text: str) -> Iterator[Finding]:
    """Find string literals that are SQL statements."""
    tree = parsed(text)
    documentation = docstrings(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in documentation:
            continue
        if isinstance(node.value, str) and _STATEMENT.match(node.value):
            yield Finding(node.lineno, "spells SQL: move it to the package's sql folder")


def foreign_schemas(text: str, own: str, schemas: frozenset[str]) -> Iterator[Finding]:
    """Find names of a schema of `schemas` other than `own`, in bodies of functions too."""
    bare = _LITERAL.sub(_blank, _COMMENT.sub(_blank, text))
    others = "|".join(sorted(schemas - {own}))
    for found in re.finditer(rf'(?<![\w."])"?({others})"?\s*\.\s*"?\w', bare):
        line = bare.count("\n", 0, found.start()) + 1
        yield Finding(line, f"reaches into the schema {found.group(1)}")


def unqualified_tables(text: str) -> Iterator[Finding]:
    """Find tables named without their schema, so that a search path would decide."""
    for statement in _parsed(text):
        known = {item.alias_or_name for item in statement.find_all(exp.CTE)}
        for table in statement.find_all(exp.Table):
            if isinstance(table.parent, exp.Lock):
                continue  # FOR UPDATE OF names an alias of the statement
            if table.name and not table.db and table.name not in known and _is_stored(table):
                yield Finding(0, f"names the table {table.name} without its schema")


def stars(text: str) -> Iterator[Finding]:
    """Find `SELECT *`, `t.*` and `RETURNING *`: the columns are listed."""
    for statement in _parsed(text):
        for star in statement.find_all(exp.Star):
            if isinstance(star.parent, exp.Select | exp.Returning | exp.Column):
                yield Finding(0, f"takes every column: {statement.sql(dialect='postgres')[:60]}")


def _parsed(text: str) -> Iterator[exp.Expr]:
    """Yield the queries and changes of rows; what defines or grants has no columns to list."""
    for piece in filter(_ROWS.match, _split(text)):
        statement = sqlglot.parse_one(piece, dialect="postgres")
        if isinstance(statement, exp.Query | exp.Insert | exp.Update | exp.Delete | exp.Merge):
            yield statement


def _split(text: str) -> Iterator[str]:
    """Cut at semicolons that stand outside quotes and dollar-quoted bodies."""
    pattern = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/|;", re.DOTALL)
    start = 0
    for found in pattern.finditer(text):
        if found.group() == ";":
            yield text[start : found.start()]
            start = found.end()
    if _COMMENT.sub("", text[start:]).strip():
        yield text[start:]


def _is_stored(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Identifier)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found.group())
