"""The second step of a search: the best passages among what release admitted, by place alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

from chancery.events.index_requests import ConfirmRevision, RevisionConfirmed
from chancery.events.requests import Request
from chancery.events.search import Search, SearchHit, SearchKind, SearchPin, SearchResult
from chancery.retrieval.domain.entries import Pin, RevisionRef, pin_number
from chancery.retrieval.domain.ranking import WORDS_MAX
from chancery.retrieval.errors import IndexBroken, TooManyWords
from chancery.retrieval.handlers.following import FRESHNESS_WAIT_S, Following

SCOPES_REMEMBERED = 32
"""Scopes that are kept, some 0.3 MB each at most: one caller searches the same one again."""

_NAMES = attrgetter("kind", "key", "revision", "manifest_sha256")


@dataclass(frozen=True, slots=True)
class Searching:
    """Handlers of the queries; nothing outside their pins is looked at, counted or told."""

    following: Following
    count_words: Callable[[str], int]
    """How many distinct words of a query are searched for."""

    async def search(self, request: Request[Search]) -> SearchResult:
        """Return the passages, best first, once the index has what the pins need.

        Raises:
            TooManyWords: some would have no part in what is found; a question has no such bound.
            Unavailable: the index is being built again; try again.
        """
        tenant, body = request.caller.tenant, request.body
        if self.count_words(body.query) > WORDS_MAX:
            raise TooManyWords(WORDS_MAX)
        position = await self.following.reached(
            tenant, body.index_sequence, within_s=FRESHNESS_WAIT_S
        )
        return await asyncio.to_thread(self._search, tenant, body, position)

    async def confirm(self, request: Request[ConfirmRevision]) -> RevisionConfirmed:
        """Tell whether the index holds exactly this revision now."""
        tenant, pin = request.caller.tenant, _pin(request.body.pin)
        scope = await asyncio.to_thread(self.following.index.within, tenant, (pin.number,))
        return RevisionConfirmed(is_indexed=not scope.unconfirmed)

    def _search(self, tenant: str, body: Search, position: int) -> SearchResult:
        pins, keys = _scope(tuple(map(_NAMES, body.pins)))
        scope = self.following.index.within(tenant, pins)
        try:
            hits = scope.search(body.query, kind="passage", limit=body.limit)
        except IndexBroken:
            self.following.report_broken(tenant)
            raise
        return SearchResult(
            hits=tuple(
                SearchHit(key=keys[hit.pin], start=hit.start, end=hit.end)
                for hit in hits
                if hit.pin in keys
            ),
            index_position=position,
            unconfirmed=tuple(sorted(map(keys.__getitem__, scope.unconfirmed))),
        )


@lru_cache(maxsize=SCOPES_REMEMBERED)
def _scope(
    names: tuple[tuple[SearchKind, str, int, str], ...],
) -> tuple[tuple[int, ...], dict[int, str]]:
    """Return the numbers of the pins with these names, and whose each is."""
    keys = {pin_number(*name): name[1] for name in names}
    return tuple(keys), keys


def _pin(pin: SearchPin) -> Pin:
    ref = RevisionRef(pin.kind, pin.key, pin.revision)
    return Pin(ref, pin.extraction_sha256, pin.manifest_sha256)
