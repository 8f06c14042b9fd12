"""What DuckDB's parser makes of `CASE x WHEN`, counted before it does.

It writes the operand out for each WHEN. One inside the other, each level of 34 bytes doubles the
tree: 500 bytes took 16 s and 0.9 GB to read. What is counted here are the tokens of DuckDB's own
tokenizer, those of an operand once for each WHEN behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chancery.tabular.grouping import words
from chancery.tabular.refusals import refusal

TOKENS_MAX: Final = 8_192
"""As many as a statement of the greatest length could have without any copy."""


def check_copies(sql: str) -> None:
    """Refuse a statement that the parser would write out to too much; nothing parses it for that.

    Raises:
        Rejected: `sql_too_complex`.
    """
    if "case" in sql.lower() and tokens_made(sql) > TOKENS_MAX:
        raise refusal("sql_too_complex")


def tokens_made(sql: str) -> int:
    """Return how many tokens `sql` has, those of the operand of a CASE once for each WHEN."""
    cases = [_Case()]
    for word in words(sql):
        match word:
            case "case":
                cases.append(_Case())
            case "when":
                cases[-1].whens += 1
            case "end" if len(cases) > 1:
                _close(cases)
            case _:
                cases[-1].add(1)
    while len(cases) > 1:
        _close(cases)
    return cases[0].made


@dataclass(slots=True)
class _Case:
    """A CASE that is being read: tokens before its first WHEN, and behind it."""

    operand: int = 0
    rest: int = 1
    whens: int = 0

    def add(self, tokens: int) -> None:
        """Take tokens in where the reading is."""
        if self.whens:
            self.rest += tokens
        else:
            self.operand += tokens

    @property
    def made(self) -> int:
        """Return how many tokens it is, written out."""
        return max(self.whens, 1) * self.operand + self.whens + self.rest


def _close(cases: list[_Case]) -> None:
    closed = cases.pop()
    cases[-1].add(closed.made)
