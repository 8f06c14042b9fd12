"""How text becomes search terms, for passages and questions alike.

Words are split at everything that is no letter or digit, lower-cased, stripped of accents and
stemmed, as English and what is left as German, so that a question in either finds its word forms;
names and numbers pass both nearly unchanged. Kana and Han characters are words of their own.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from chancery.evidence.terms import STOP_WORDS

_WORD_BYTES_MAX: Final = 80
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


class Word(NamedTuple):
    """A word of a question: its term in the index, and as it was asked."""

    term: str
    asked: str


def _words() -> TextAnalyzerBuilder:
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    return builder.filter(Filter.remove_long(_WORD_BYTES_MAX)).filter(Filter.lowercase())


def _stems() -> TextAnalyzer:
    words = _words().filter(Filter.ascii_fold())
    return words.filter(Filter.stemmer("english")).filter(Filter.stemmer("german")).build()


STEMS: Final = _stems()
"""The analyzer of the text field."""

_UNSTEMMED: Final = _words().build()


def prepare(text: str) -> str:
    """Return `text` composed (NFKC), without soft hyphens, unspaced scripts spaced."""
    if text.isascii():
        return text  # As it would be below, found out far sooner.
    composed = unicodedata.normalize("NFKC", text.replace("\u00ad", ""))
    return _UNSPACED.sub(lambda found: f" {found.group()} ", composed)


def question_words(question: str) -> tuple[Word, ...]:
    """Return the distinct words of a question in order; stop words only where it has no others."""
    prepared = prepare(question)
    found = [
        Word(*each)
        for each in zip(STEMS.analyze(prepared), _UNSTEMMED.analyze(prepared), strict=True)
    ]
    telling = [word for word in found if word.asked not in STOP_WORDS]
    return tuple({word.term: word for word in telling or found}.values())


def count_words(question: str) -> int:
    """Return how many words `question_words` finds."""
    return len(question_words(question))


def word_terms(word: str) -> tuple[str, ...]:
    """Return the distinct terms in the index of one word, which may have several parts."""
    return tuple(dict.fromkeys(STEMS.analyze(prepare(word))))
