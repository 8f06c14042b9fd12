"""Whose documents take long goes aside for a while, so that nobody else waits for them again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import pytest

from chancery.events.authority import RevisionWithdrawn, SourceRestored
from chancery.events.envelope import Event
from chancery.events.index import RevisionExtracted
from chancery.extract.extraction import Extraction as ReadDocument
from chancery.extract.extraction import extract
from chancery.extract.media import MARKDOWN, PDF
from chancery.extract.refusals import TakesLong
from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.handlers.briefly import (
    ASIDE_FIRST,
    ASIDE_MAX,
    AT_ONCE,
    REMEMBERED,
    Briefly,
    Who,
)
from tests.unit.indexing.world import SLOW, SOURCE, World, declared_source

ADA, BO = ("acme", "ada"), ("acme", "bo")


async def has_turn(briefly: Briefly, who: Who, *, is_long: bool) -> bool:
    """Tell whether a document got a turn; in it a long one is stopped."""
    has_begun = False
    with suppress(TakesLong):
        async with briefly.turn(who):
            has_begun = True
            _stop(is_long=is_long)
    return has_begun


def _stop(*, is_long: bool) -> None:
    if is_long:
        message = "long"
        raise TakesLong(message)


async def tried(briefly: Briefly, who: Who, documents: Iterable[bool]) -> int:
    """Return how many of the documents got a turn; true ones take long in it."""
    return sum([await has_turn(briefly, who, is_long=each) for each in documents])


async def test_after_one_that_took_long_the_next_go_aside_untried() -> None:
    briefly = Briefly()

    assert await tried(briefly, ADA, [True]) == 1
    assert await tried(briefly, ADA, [False] * ASIDE_FIRST) == 0
    assert await tried(briefly, ADA, [False, False]) == 2


async def test_a_thousand_in_a_row_get_a_handful_of_turns() -> None:
    assert await tried(Briefly(), ADA, [True] * 1000) == 7
    assert await tried(Briefly(), ADA, [False] * 1000) == 1000
    assert await tried(Briefly(), ADA, [True] * 20 * ASIDE_MAX) < 30


@pytest.mark.parametrize("other", [BO, ("other", "ada"), ("acme", None)])
async def test_nobody_else_goes_aside(other: Who) -> None:
    briefly = Briefly()
    await tried(briefly, ADA, [True] * 100)

    assert await tried(briefly, other, [False] * 100) == 100


async def test_documents_that_were_tried_at_the_same_time_count_as_one() -> None:
    briefly = Briefly()
    all_in = asyncio.Barrier(AT_ONCE)

    async def long() -> None:
        with suppress(TakesLong):
            async with briefly.turn(ADA):
                await all_in.wait()
                _stop(is_long=True)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(long())

    assert await tried(briefly, ADA, [False] * ASIDE_FIRST) == 0
    assert await tried(briefly, ADA, [False]) == 1


async def test_one_that_is_read_in_time_ends_it() -> None:
    briefly = Briefly()
    await tried(briefly, ADA, [True] * (2 + ASIDE_FIRST))

    await tried(briefly, ADA, [False] * (1 + 2 * ASIDE_FIRST))

    assert await tried(briefly, ADA, [True, *[False] * ASIDE_FIRST, False]) == 2


@pytest.mark.parametrize("is_long_first", [True, False])
async def test_one_that_was_read_beside_it_does_not_end_it(*, is_long_first: bool) -> None:
    """Else a quick document in flight would undo what a long one teaches, as often as one likes."""
    briefly, long_ones = Briefly(), 0
    for _ in range(100):
        long_ones += await pair(briefly, is_long_first=is_long_first)

    assert long_ones < 7
    assert long_ones > 1


async def pair(briefly: Briefly, *, is_long_first: bool) -> bool:
    """Begin a long and a quick document together, end them in turn; tell if the long one began."""
    both_in, in_turn = asyncio.Barrier(3), {each: asyncio.Event() for each in (True, False)}
    begun: set[bool] = set()

    async def document(*, is_long: bool) -> None:
        with suppress(TakesLong):
            async with briefly.turn(ADA):
                begun.add(is_long)
                await both_in.wait()
                await in_turn[is_long].wait()
                _stop(is_long=is_long)
        if is_long not in begun:
            await both_in.wait()

    async with asyncio.TaskGroup() as group:
        tasks = {each: group.create_task(document(is_long=each)) for each in (True, False)}
        await both_in.wait()
        for each in (is_long_first, not is_long_first):
            in_turn[each].set()
            await tasks[each]
    return True in begun


async def test_what_is_remembered_is_bounded() -> None:
    briefly = Briefly()
    for number in range(REMEMBERED + 1):
        await tried(briefly, ("acme", str(number)), [True])

    assert await tried(briefly, ("acme", "0"), [False]) == 1
    assert await tried(briefly, ("acme", "1"), [False]) == 0


@pytest.mark.req("CL-1", "EV-7")
async def test_documents_behind_one_that_takes_long_are_recorded_untried_and_texts_are_read() -> (
    None
):
    world = World(read=_read)
    world.record(declared_source())
    publications = world.publications

    await publications.handle(SOURCE, await world.publish(SLOW, media_type=PDF))
    await publications.handle(SOURCE, await world.publish(b"quick", media_type=PDF))
    await publications.handle(SOURCE, await world.publish(b"text" * 80_000, media_type=MARKDOWN))

    assert world.slow == [SlowRevision(SOURCE, 1), SlowRevision(SOURCE, 2)]
    assert world.standings()[3] == "ready"


@pytest.mark.req("CL-1")
async def test_who_restores_a_document_that_takes_long_does_not_go_aside_for_it() -> None:
    world = World(read=_read)
    world.record(declared_source())
    publications = world.publications
    await publications.handle(SOURCE, by("ada", await world.publish(SLOW, media_type=PDF)))
    await publications.handle(SOURCE, by("bo", world.record(RevisionWithdrawn())))
    await publications.handle(SOURCE, by("bo", world.record(SourceRestored())))

    await publications.handle(SOURCE, by("bo", await world.publish(b"one", media_type=PDF)))
    await publications.handle(SOURCE, by("ada", await world.publish(b"two", media_type=PDF)))

    assert world.slow == [SlowRevision(SOURCE, 1), SlowRevision(SOURCE, 3)]
    assert world.standings()[2] == "excluded"
    assert RevisionExtracted in {type(event.data) for _, event in world.index}


def by(actor: str, event: Event) -> Event:
    """Return the event as caused by `actor`."""
    return replace(event, envelope=event.envelope.model_copy(update={"actor": actor}))


def _read(_media_type: str, data: bytes) -> ReadDocument:
    return extract(MARKDOWN, data)
