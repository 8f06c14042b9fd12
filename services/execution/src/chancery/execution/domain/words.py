"""Words as they are compared: folded to their stems, so that "owns" finds "own"."""

from __future__ import annotations

from collections.abc import Iterable
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
_STEMS_KEPT: Final = 65_536
_RELATED_MIN: Final = 4
_ENDING_MAX: Final = 3


class _Algorithm(Protocol):
    def stemWord(self, word: str) -> str:  # noqa: N802 - the library's own name
        ...


class Stemmer:
    """Folds words of one language; a language without an algorithm keeps its words."""

    def __init__(self, language: str) -> None:
        self.language = language
        algorithm = _algorithm(language)
        self._stem = lru_cache(_STEMS_KEPT)(str if algorithm is None else algorithm.stemWord)

    def stems(self, text: str) -> tuple[str, ...]:
        """Return the stems of the meaning-bearing words of `text`, in order."""
        return tuple(self.stem(term) for term in terms(text))

    def stem(self, term: str) -> str:
        """Return the stem of one folded word."""
        return self._stem(term) if term.isalpha() else term


@lru_cache(maxsize=8)
def stemmer(language: str) -> Stemmer:
    """Return the stemmer of a language."""
    return Stemmer(language)


def beginnings(words: Iterable[str]) -> frozenset[str]:
    """Return how the words begin that can be related to another word."""
    return frozenset(word[:_RELATED_MIN] for word in words if len(word) >= _RELATED_MIN)


def related(stem: str, words: Iterable[str]) -> bool:
    """Tell whether a word shares all but the ending with `stem`, as compose and composition do.

    Only a stem whose first letters are among `beginnings(words)` can be.
    """
    if len(stem) < _RELATED_MIN or not stem.isalpha():
        return False
    root = stem[: max(_RELATED_MIN, len(stem) - _ENDING_MAX)]
    return any(word.startswith(root) or _is_root(word, stem) for word in words if word != stem)


def may_be_related(stem: str, begun: frozenset[str]) -> bool:
    """Tell quickly whether `related` can find something in words that begin like `begun`."""
    return stem[:_RELATED_MIN] in begun


def _is_root(word: str, stem: str) -> bool:
    return len(word) > _RELATED_MIN and stem.startswith(
        word[: max(_RELATED_MIN + 1, len(word) - 2)]
    )


def _algorithm(language: str) -> _Algorithm | None:
    name = _ALGORITHMS.get(language)
    if name is None:
        return None
    found: _Algorithm = import_module("snowballstemmer").stemmer(name)
    return found
