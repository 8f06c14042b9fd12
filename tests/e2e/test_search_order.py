"""The order in which a reader finds passages tells nothing of what the reader may not see."""

from __future__ import annotations

import pytest

from tests.e2e.world import World

pytestmark = pytest.mark.e2e

PAIRS = (("plimsted", "quorvane"), ("tarbolt", "wexcombe"), ("umbrix", "yolland"))
"""Words that nothing else holds: of each pair one stands in a report of its own."""


async def found_first(world: World) -> list[str]:
    """Return which of two reports the reader finds first, for each pair of words."""
    desk = world.reader.workspace(world.id)
    found = [await desk.search(" ".join(pair)) for pair in PAIRS]
    reports = [
        [hit.source_id for hit in one.hits if hit.source_id in pair]
        for one, pair in zip(found, PAIRS, strict=True)
    ]
    assert [sorted(map(str, each)) for each in reports] == list(map(list, PAIRS))
    return [str(first) for first, _ in reports]


@pytest.mark.req("CL-12", "KO-9")
async def test_the_order_of_hits_tells_nothing_of_sources_out_of_sight(world: World) -> None:
    for word in (word for pair in PAIRS for word in pair):
        await world.document(word, f"The {word} report.\n")
    before = await found_first(world)
    told = "\n\n".join(f"Of {word} the board speaks, as {word} do." for word in before)

    await world.document("board", told, access="restricted")
    unseen = await found_first(world)
    await world.document("news", told)
    seen = await found_first(world)

    assert unseen == before
    # The same text where the reader may read it makes the word less rare: the other report leads.
    assert all(first != now for first, now in zip(before, seen, strict=True))
