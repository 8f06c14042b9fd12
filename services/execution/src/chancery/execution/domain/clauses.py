"""A question in pieces: what is asked together need not be answered by one sentence."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SENTENCE: Final = re.compile(r"[?!;\n。！？]+|\.(?=\s|$)")
_CLAUSE: Final = re.compile(
    r"\s*(?:[,:\uff0c、]|\s[-–—]\s|\b(?:and|und|sowie|et|y|e|plus)\b)\s*", re.IGNORECASE
)
CLAUSES_MAX: Final = 24


class Ask(NamedTuple):
    """One sentence of the question, and the clauses it falls into (one: itself)."""

    whole: str
    clauses: tuple[str, ...]


def asks(question: str) -> tuple[Ask, ...]:
    """Return the sentences of a question in order, at most 24 clauses in all."""
    found: list[Ask] = []
    left = CLAUSES_MAX
    for sentence in _pieces(_SENTENCE, question):
        clauses = tuple(_pieces(_CLAUSE, sentence))[:left]
        left -= len(clauses)
        if clauses:
            found.append(Ask(sentence, clauses))
    return tuple(found)


def _pieces(separator: re.Pattern[str], text: str) -> list[str]:
    return [piece for piece in (part.strip() for part in separator.split(text)) if piece]
