"""What sqlglot reads in a canonical statement: where DuckDB has a name, it has to read a name, too.

DuckDB leaves the quotation marks of a name away wherever its own parser needs none. sqlglot takes a
few such words for calls or for operators, so that no column and no dataset could bear them.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from chancery.tabular.schema import ascii_fold

SESSION_VALUES: Final = frozenset(
    {
        "current_catalog", "current_date", "current_role", "current_schema", "current_time",
        "current_timestamp", "current_user", "localtime", "localtimestamp", "session_user", "user",
    }
)  # fmt: skip
"""The names that DuckDB calls where no column bears them: the clock, and whose session it is."""

_NAMES: Final = SESSION_VALUES | {
    "connect_by_root", "partitioned_by", "regexp", "rlike", "uncache", "xor",
}  # fmt: skip
"""The words that are names to DuckDB, bare as they are, and may be none to sqlglot."""


def parsed(canonical_sql: str) -> exp.Expr:
    """Return the statement as sqlglot reads it.

    Raises:
        SqlglotError: it cannot read it.
    """
    tokens = [_as_name(each) for each in DuckDB().tokenize(canonical_sql)]
    (statement,) = DuckDB().parser().parse(tokens, canonical_sql)
    if statement is None:
        message = "no statement"
        raise ParseError(message)
    return statement


def _as_name(token: Token) -> Token:
    """Return a word that is a name as one that is quoted; any other token as it is."""
    if token.token_type is TokenType.STRING or ascii_fold(token.text) not in _NAMES:
        return token
    return Token(TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end)
