"""Words of a question and of evidence, for ranking only: nothing here touches what is quoted."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

_WORD: Final = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+\d*|\d+")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
"""Runs of kana and Han characters, which are written without spaces."""

_ENGLISH: Final = """
a about an and are as at be been but by can could did do does for from had has have he her his how i
if in into is it its me my of on or our she should so than that the their them then there these they
s t re ve ll this those to was we were what when where which who whom whose why will with would
you your many much
"""
_GERMAN: Final = """
aber als am an auch auf aus bei bin bis da das dass dein dem den der des die dies diese dieser
dieses du durch ein eine einem einen einer eines er es für hat haben hatte ich ihr ihre im in ist
ja kann man mein mit nach oder sein seine sich sie sind so um und uns unser von vor wann war
warum was welche welcher welches wem wen wenn wer werden wessen wie wir wird wo zu zum zur über
hoch viel viele vielen
"""
STOP_WORDS: Final[frozenset[str]] = frozenset((_ENGLISH + _GERMAN).split())
"""Words that tell nothing about a topic; negations are not among them."""


def terms(text: str) -> tuple[str, ...]:
    """Return the words of `text` in order, case-folded, without stop words.

    A number keeps its separators (`1,250`); kana and Han runs become pairs of characters; a word
    that a soft hyphen may break is one word.
    """
    folded = unicodedata.normalize("NFKC", text.replace("\u00ad", "")).casefold()
    words: list[str] = _WORD.findall(folded)
    if _UNSPACED.search(folded):
        words = [word for found in words for word in _split_unspaced(found)]
    return tuple([word for word in words if word not in STOP_WORDS])


def idf_coverage(
    question_terms: Iterable[str],
    text_terms: Iterable[str],
    document_frequency: Mapping[str, int],
    total: int,
) -> float:
    """Return how much of the question's meaning-bearing weight the text covers, 0 to 1.

    Each distinct term weighs its inverse document frequency among `total` texts; a term that no
    text has weighs most, so that a question about something else is not covered.
    """
    asked = frozenset(question_terms)
    present = frozenset(text_terms)
    weights = {term: _idf(document_frequency.get(term, 0), total) for term in sorted(asked)}
    whole = math.fsum(weights.values())
    if whole <= 0:
        return 0.0
    return math.fsum(weights[term] for term in sorted(asked & present)) / whole


def _idf(frequency: int, total: int) -> float:
    bounded = min(max(frequency, 0), max(total, 0))
    return math.log1p((max(total, 0) - bounded + 0.5) / (bounded + 0.5))


def _split_unspaced(word: str) -> Iterable[str]:
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield word[position : run.start()]
        yield from _pairs(run.group())
        position = run.end()
    if position < len(word):
        yield word[position:]


def _pairs(run: str) -> Iterable[str]:
    if len(run) == 1:
        return (run,)
    return (run[place : place + 2] for place in range(len(run) - 1))
