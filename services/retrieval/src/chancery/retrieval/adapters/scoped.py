"""Searching and counting the entries that a caller may read, as of one commit of the index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Protocol, runtime_checkable

from tantivy import DocAddress, Occur, Query, Searcher

from chancery.retrieval.adapters.documents import (
    KINDS,
    REPEATED,
    SCHEMA,
    TEXT,
    exactly,
    numbers,
    of_kind,
)
from chancery.retrieval.adapters.engine import engine_errors
from chancery.retrieval.adapters.matching import Clauses, count_each, find
from chancery.retrieval.adapters.words import Word, question_words, word_terms
from chancery.retrieval.domain.entries import EntryKind
from chancery.retrieval.domain.gathering import Hit
from chancery.retrieval.domain.ranking import LOOKED_AT_MIN, WORDS_MAX, Weights, leading
from chancery.retrieval.domain.repetition import repetitions

FILTERS_REMEMBERED = 32
"""Filters that are kept: a run searches the same revisions several times, and others do later."""


@runtime_checkable
class _Counted(Protocol):
    """What the engine's type stubs leave out of its search result."""

    @property
    def count(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Scoped:
    """The `SearchScope` over some slots; nothing else has a part in what is returned.

    `hidden` are left out, by slot and name.
    """

    tenant: str
    searcher: Searcher
    slots: tuple[int, ...]
    unconfirmed: frozenset[int]
    hidden: tuple[tuple[int, str], ...] = ()

    def search(self, question: str, *, kind: EntryKind, limit: int) -> tuple[Hit, ...]:
        """Return the best entries; see `SearchScope.search`.

        Of equal ones the lower pin is first, and in it the one further in front.
        """
        words = question_words(question)[:WORDS_MAX]
        if not words or not self.slots:
            return ()
        with engine_errors(self.tenant):
            scope = [*self._clauses(kind), *_without(self.hidden)]
            found = find(self.searcher, scope, [_with(word.term) for word in words])
            weights = Weights.counted(found.counts, len(words))
            codes, addresses = found.of(leading(found.counts, weights, max(limit, LOOKED_AT_MIN)))
            scores = weights.scores(codes, self._again(words, addresses))
            return self._ordered(scores, addresses, limit, is_named=kind == "measure")

    def statistics(self, terms: Sequence[str]) -> tuple[tuple[int, ...], int]:
        """Count terms and passages; see `SearchScope.statistics`."""
        if not self.slots:
            return (0,) * len(terms), 0
        queries = {term: query for term in terms if (query := _all_of(term)) is not None}
        with engine_errors(self.tenant):
            scope = self._clauses("passage")
            counted = count_each(self.searcher, scope, tuple(queries.values()))
            everything = self.searcher.search(Query.boolean_query(scope), 1, count=True)
        assert isinstance(everything, _Counted), "the engine counts when it is told to"
        counts = dict(zip(queries, counted, strict=True))
        return tuple(counts.get(term, 0) for term in terms), everything.count

    def _clauses(self, kind: EntryKind) -> Clauses:
        return [(Occur.Must, _among(self.slots)), (Occur.Must, of_kind(KINDS[kind]))]

    def _again(
        self, words: Sequence[Word], addresses: list[DocAddress]
    ) -> list[list[tuple[int, int]]]:
        @cache
        def column(number: int) -> list[int]:
            return numbers(self.searcher, REPEATED[number], addresses)

        return [repetitions(word.asked, column) for word in words]

    def _ordered(
        self,
        scores: Sequence[float],
        addresses: Sequence[DocAddress],
        limit: int,
        *,
        is_named: bool,
    ) -> tuple[Hit, ...]:
        """Return the best entries, best first; what is equal to the last one counts as well."""
        least = sorted(scores, reverse=True)[:limit][-1] if scores else 0.0
        kept = [place for place, score in enumerate(scores) if score >= least]
        hits = _hits(self.searcher, [addresses[place] for place in kept], is_named=is_named)
        ranked = sorted(zip([-scores[place] for place in kept], hits, strict=True))
        return tuple(hit for _, hit in ranked[:limit])


@lru_cache(maxsize=FILTERS_REMEMBERED)
def _among(slots: tuple[int, ...]) -> Query:
    return Query.const_score_query(Query.term_set_query(SCHEMA, "slot", list(slots)), 0.0)


def _without(hidden: Collection[tuple[int, str]]) -> Clauses:
    """Leave the entries in these slots with these names out before anything is counted."""
    return [
        (
            Occur.MustNot,
            Query.boolean_query(
                [
                    (Occur.Must, exactly("slot", slot)),
                    (Occur.Must, Query.term_query(SCHEMA, "name", name, "basic")),
                ]
            ),
        )
        for slot, name in hidden
    ]


def _with(term: str) -> Query:
    return Query.term_query(SCHEMA, TEXT, term, "basic")


def _all_of(term: str) -> Query | None:
    """Return the query for the entries with all words of a term, None when it has none."""
    words = [(Occur.Must, _with(word)) for word in word_terms(term)]
    return Query.boolean_query(words) if words else None


def _hits(searcher: Searcher, found: list[DocAddress], *, is_named: bool) -> tuple[Hit, ...]:
    columns = (numbers(searcher, name, found) for name in ("pin", "ordinal", "start", "end"))
    names = [_name(searcher, address) for address in found] if is_named else [""] * len(found)
    return tuple(Hit(*values) for values in zip(*columns, names, strict=True))


def _name(searcher: Searcher, address: DocAddress) -> str:
    return str(searcher.doc(address).get_first("name") or "")
