"""How many grouping sets a statement asks for, counted before DuckDB's parser writes them out.

`CUBE` of 15 names stands for 32,768 lists of names, in 60 bytes: a hundred of them took a minute
and 1.8 GB to read. What is counted here are the tokens of DuckDB's own tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import duckdb

from chancery.tabular.refusals import refusal

SETS_MAX: Final = 256
"""The grouping sets of all parts of a statement together: CUBE of eight names."""

_CUBE_NAMES_MAX: Final = 16
_MAKING = re.compile(r"\b(?:cube|rollup|sets)\b", re.IGNORECASE | re.ASCII)
_MAKERS: Final = frozenset({"cube", "rollup", "sets"})
_PLAIN: Final = ""
_SPACES: Final = re.compile(
    "[\\x85\\xa0\\u1680\\u180e\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u2064\\u3000\\ufeff]"
)


def check_grouping(sql: str) -> None:
    """Refuse a statement that asks for too many grouping sets; nothing parses it for that.

    Raises:
        Rejected: `sql_too_complex`.
    """
    if asks_for_sets(sql) and grouping_sets(sql) > SETS_MAX:
        raise refusal("sql_too_complex")


def asks_for_sets(sql: str) -> bool:
    """Tell whether `sql` has a word that makes several grouping sets, wherever it stands."""
    return _MAKING.search(sql) is not None


def grouping_sets(sql: str) -> int:
    """Return the number of grouping sets that DuckDB's parser would make of `sql`.

    Beyond `SETS_MAX` it is no more than told to be so.
    """
    scopes = [_Scope(_PLAIN)]
    before = _PLAIN
    for word in words(sql):
        match word:
            case "(":
                scopes.append(_Scope(before if before in _MAKERS else _PLAIN))
            case ")" if len(scopes) > 1:
                _close(scopes)
            case ",":
                scopes[-1].commas += 1
            case "by" if before == "group":
                scopes[-1].begin()
            case _:
                pass
        before = word
    while len(scopes) > 1:
        _close(scopes)
    scopes[0].end()
    return scopes[0].done


@dataclass(slots=True)
class _Scope:
    """What stands in one pair of parentheses, behind the word `maker` if it makes sets.

    `product` are the sets of the GROUP BY that is being read, `inside` those that makers make of
    which there are `makers`, and `done` those of the clauses that were read.
    """

    maker: str
    product: int = 1
    inside: int = 0
    makers: int = 0
    done: int = 0
    commas: int = 0
    is_grouping: bool = False

    def add(self, made: int) -> None:
        """Take the sets of a maker into what stands around it."""
        self.product = min(self.product * made, 2 * SETS_MAX)
        self.inside += made
        self.makers += 1

    def begin(self) -> None:
        """Begin a GROUP BY; the one before, of a query that is combined with this one, is over."""
        self.end()
        self.is_grouping = True

    def end(self) -> None:
        """End the GROUP BY, if there is one."""
        if self.is_grouping:
            self.done += self.product
        self.product, self.is_grouping = 1, False

    @property
    def made(self) -> int:
        """Return how many sets the parentheses of a maker make."""
        match self.maker:
            case "cube":
                return 1 << min(self.commas + 1, _CUBE_NAMES_MAX)
            case "rollup":
                return self.commas + 2
            case _:
                return self.commas + 1 - self.makers + self.inside


def _close(scopes: list[_Scope]) -> None:
    """Take what the innermost parentheses hold into those around them."""
    closed = scopes.pop()
    grouped = closed.is_grouping
    closed.end()
    scopes[-1].done += closed.done
    if closed.maker:
        scopes[-1].add(closed.made)
    elif not grouped and closed.makers:
        scopes[-1].add(closed.product)


def words(sql: str) -> Iterator[str]:
    """Yield keywords in small letters, and each character of an operator; other tokens as nothing.

    The parser takes the spaces of Unicode for spaces, its tokenizer does not.
    """
    spaced = _SPACES.sub(" ", sql)
    data = spaced.encode()
    tokens = duckdb.tokenize(spaced)
    ends = [*(offset for offset, _ in tokens[1:]), len(data)]
    for (start, kind), end in zip(tokens, ends, strict=True):
        text = data[start:end].decode(errors="replace").strip()
        if kind == duckdb.token_type.keyword:
            yield text.lower()
        elif kind == duckdb.token_type.operator:
            yield from text
        elif kind != duckdb.token_type.comment:
            yield _PLAIN
