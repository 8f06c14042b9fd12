"""How text becomes search terms, for passages and questions alike.

Words are split at everything that is no letter or digit, lower-cased, stripped of accents and
stemmed, once as English and once as German, so that a question in either finds its word forms;
names and numbers pass both nearly unchanged. Kana and Han characters are words of their own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

_WORD_BYTES_MAX = 80
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def _analyzer(language: str) -> TextAnalyzer:
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(_WORD_BYTES_MAX))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer(language))
        .build()
    )


ANALYZERS: Mapping[str, TextAnalyzer] = {
    "english": _analyzer("english"),
    "german": _analyzer("german"),
}
"""The text fields of the index, each with its analyzer."""


def prepare(text: str) -> str:
    """Return `text` composed (NFKC), without soft hyphens, unspaced scripts spaced."""
    if text.isascii():
        return text  # As it would be below, found out far sooner.
    composed = unicodedata.normalize("NFKC", text.replace("\u00ad", ""))
    return _UNSPACED.sub(lambda found: f" {found.group()} ", composed)


def question_terms(question: str) -> tuple[tuple[str, str], ...]:
    """Return the distinct (field, term) pairs of a question, in order."""
    prepared = prepare(question)
    return tuple(
        (field, term)
        for field, analyzer in ANALYZERS.items()
        for term in dict.fromkeys(analyzer.analyze(prepared))
    )


def word_terms(word: str, language: str) -> tuple[tuple[str, str], ...]:
    """Return the (field, term) pairs of one word, in the field of a question's language."""
    field = "german" if language == "de" else "english"
    found = ANALYZERS[field].analyze(prepare(word))
    return tuple((field, term) for term in dict.fromkeys(found))
