"""The query of a search: every word of it counts, or it is refused and told the bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.events.requests import Caller, Request
from chancery.events.search import Search, SearchPin
from chancery.retrieval.adapters.words import count_words
from chancery.retrieval.domain.entries import Pin
from chancery.retrieval.domain.ranking import WORDS_MAX
from chancery.retrieval.errors import TooManyWords
from chancery.retrieval.handlers.searching import Searching
from tests.unit.retrieval.world import TENANT, World

WORDS = [f"w{number}" for number in range(WORDS_MAX)]


def asked(query: str, pin: Pin) -> Request[Search]:
    """Return the search of one document."""
    of = SearchPin(
        kind="source",
        key=pin.ref.key,
        revision=pin.ref.revision,
        extraction_sha256=pin.extraction_sha256,
        manifest_sha256=pin.manifest_sha256,
    )
    return Request(
        caller=Caller(tenant=TENANT, principal="ada", credential_id="c", proof="0" * 64),
        route="POST /search",
        idempotency_key="k",
        request_sha256="0" * 64,
        body=Search(query=query, limit=5, index_sequence=1, pins=(of,)),
    )


@pytest.mark.req("KO-3")
async def test_the_last_of_the_most_words_is_searched_and_one_more_is_refused(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "The pump stands in hall nine.")
    service = world.start()
    await service.catch_up()
    searching = Searching(service.following, count_words)

    found = await searching.search(asked(" ".join([*WORDS[1:], "pump"]), pin))
    with pytest.raises(TooManyWords) as refused:
        await searching.search(asked(" ".join([*WORDS, "pump"]), pin))

    assert [each.key for each in found.hits] == ["a"]
    assert (refused.value.code, refused.value.field) == ("too_many_words", "query")
    assert f"more than {WORDS_MAX} distinct words" in refused.value.detail


async def test_words_that_are_there_again_and_stop_words_do_not_count(tmp_path: Path) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "The pump stands in hall nine.")
    service = world.start()
    await service.catch_up()
    searching = Searching(service.following, count_words)
    words = [*WORDS[1:], "pump"]

    found = await searching.search(asked(" ".join([*words, *words, "the", "and", "Pumps"]), pin))

    assert [each.key for each in found.hits] == ["a"]
