"""Which words stand in which entry, asked of the engine in few passes over a scope.

The engine's own ranking weighs a word by how often it stands in the whole index, deleted documents
included, and a length by the average there: its order tells of what the caller may not see. Here
the engine says only what stands where: each query adds a power of two of its own to the score, so
that the score is a whole number with a bit for each query that matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from tantivy import DocAddress, Occur, Query, Searcher

AT_ONCE: Final = 24
"""Powers of two that a 32-bit float adds without rounding; more words take another pass."""

Clauses: TypeAlias = list[tuple[Occur, Query]]
Matches: TypeAlias = list[tuple[float, DocAddress]]
"""Codes with addresses, the highest first, as the engine returns them."""


class Found(NamedTuple):
    """The entries with one of the words: how many have each code, and where those stand.

    The addresses are in the order of the codes in `counts`.
    """

    counts: dict[int, int]
    addresses: list[DocAddress]

    def of(self, codes: Sequence[int]) -> tuple[list[int], list[DocAddress]]:
        """Return the entries with these codes, each with its own."""
        starts: dict[int, int] = {}
        start = 0
        for code, count in self.counts.items():
            starts[code] = start
            start += count
        coded = [code for code in codes for _ in range(self.counts[code])]
        addresses = [
            address
            for code in codes
            for address in self.addresses[starts[code] : starts[code] + self.counts[code]]
        ]
        return coded, addresses


def find(searcher: Searcher, scope: Clauses, words: Sequence[Query]) -> Found:
    """Return the code (`domain.ranking`) and the address of every entry with one of `words`."""
    passes = [_matches(searcher, scope, some) for some in _some(words)]
    found = passes[0] if len(passes) == 1 else _joined(passes)
    counted = Counter(map(itemgetter(0), found))
    return Found(
        {int(code): count for code, count in counted.items()}, [address for _, address in found]
    )


def count_each(searcher: Searcher, scope: Clauses, queries: Sequence[Query]) -> list[int]:
    """Return how many entries of `scope` match each query."""
    counts: list[int] = []
    for some in _some(queries):
        codes = Counter(map(itemgetter(0), _matches(searcher, scope, some)))
        counts.extend(
            sum(count for code, count in codes.items() if int(code) >> place & 1)
            for place in range(len(some))
        )
    return counts


def _matches(searcher: Searcher, scope: Clauses, queries: Sequence[Query]) -> Matches:
    either = [
        (Occur.Should, Query.const_score_query(query, float(1 << place)))
        for place, query in enumerate(queries)
    ]
    query = Query.boolean_query([*scope, (Occur.Must, Query.boolean_query(either))])
    return searcher.search(query, max(1, searcher.num_docs), count=False).hits


def _joined(passes: Sequence[Matches]) -> Matches:
    """Return each entry once, with the bits of all passes, the highest code first."""
    codes: dict[tuple[int, int], int] = {}
    addresses: dict[tuple[int, int], DocAddress] = {}
    for number, found in enumerate(passes):
        for code, address in found:
            place = (address.segment_ord, address.doc)
            codes[place] = codes.get(place, 0) + (int(code) << number * AT_ONCE)
            addresses[place] = address
    ordered = sorted(codes, key=codes.__getitem__, reverse=True)
    return [(codes[place], addresses[place]) for place in ordered]


def _some(queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
    for start in range(0, len(queries), AT_ONCE):
        yield queries[start : start + AT_ONCE]
