"""What a question wants a total broken down by: "by region", "je Monat", "par pays".

A measure is one value over all rows, so it answers such a question only when its card says the
same. Words of every language count whatever language is answered in; one too many refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import dropwhile, takewhile
from typing import Final

from chancery.evidence.terms import STOP_WORDS
from chancery.execution.domain.words import Stemmer

_MARK: Final = re.compile(
    r"\b(?:by|per|each|every|pro|nach|jede[mnrs]?|par|selon|chaque"
    r"|por(?!\s+favor\b)|según|cada)[\s-]",
    re.IGNORECASE,
)
_GERMAN_MARK: Final = re.compile(r"\bje[\s-]", re.IGNORECASE)
_PHRASE: Final = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")
_PERIOD: Final = re.compile(
    r"\b(?:week|month|quarter|year)ly\b|\bdaily\b|\bannual(?:ly)?\b"
    r"|\b(?:täg|wöchent|monat|quartal|jähr)lich(?:e[mnrs]?)?\b"
    r"|\b(?:mensu|trimestri|annu|anu)el(?:le)?s?\b|\b(?:mensu|trimestr|anu)al(?:es)?\b",
    re.IGNORECASE,
)
_JAPANESE: Final = re.compile(
    r"[\u30a1-\u30ff\u4e00-\u9fff]{2,}?(?=別|毎|ごと)|[\u30a1-\u30ff\u4e00-\u9fff](?:別|毎|ごと)"
)


def breakdown(text: str, stemmer: Stemmer) -> frozenset[str]:
    """Return the stems of what `text` wants one value each for; empty: a single value will do."""
    wanted = [*_marked(text, stemmer), *_PERIOD.findall(text), *_JAPANESE.findall(text)]
    return frozenset(stem for phrase in wanted for stem in stemmer.stems(phrase))


def _marked(text: str, stemmer: Stemmer) -> Iterable[str]:
    """Yield what follows a word like "per", up to the next word without a meaning."""
    # In French "je" is a pronoun.
    marks = (_MARK,) if stemmer.language == "fr" else (_MARK, _GERMAN_MARK)
    for mark in (found for each in marks for found in each.finditer(text)):
        phrase = _PHRASE.match(text, mark.end())
        words = phrase.group().replace("-", " ").split() if phrase else []
        meant = dropwhile(_is_empty, words)
        yield " ".join(takewhile(lambda word: not _is_empty(word), meant))


def _is_empty(word: str) -> bool:
    return word.casefold() in STOP_WORDS
