"""Words as they are compared: folded to their stems, so that "owns" finds "own"."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Final, Protocol

from chancery.evidence.terms import terms

_ALGORITHMS: Final[dict[str, str]] = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
}


class _Algorithm(Protocol):
    def stemWord(self, word: str) -> str:  # noqa: N802 - the library's own name
        ...


class Stemmer:
    """Folds words of one language; a language without an algorithm keeps its words."""

    def __init__(self, language: str) -> None:
        self._algorithm = _algorithm(language)

    def stems(self, text: str) -> tuple[str, ...]:
        """Return the stems of the meaning-bearing words of `text`, in order."""
        return tuple(self._stem(term) for term in terms(text))

    def _stem(self, term: str) -> str:
        if self._algorithm is None or not term.isalpha():
            return term
        return self._algorithm.stemWord(term)


@lru_cache(maxsize=8)
def stemmer(language: str) -> Stemmer:
    """Return the stemmer of a language."""
    return Stemmer(language)


def _algorithm(language: str) -> _Algorithm | None:
    name = _ALGORITHMS.get(language)
    if name is None:
        return None
    found: _Algorithm = import_module("snowballstemmer").stemmer(name)
    return found
