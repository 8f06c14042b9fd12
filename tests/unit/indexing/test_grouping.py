"""Deliveries that come together share their commits, and one bad resource fails alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from chancery.indexing.domain.history import History, ResourceRef
from chancery.indexing.errors import NeverDeclared
from chancery.indexing.handlers.grouping import GROUP_MAX, Announcements
from chancery.indexing.handlers.progress import Announcer, Asking, Cause, Progress
from chancery.indexing.handlers.room import Room
from chancery.kernel.errors import Unavailable

CAUSE = Cause("event", None, None)


@dataclass(slots=True)
class SlowAnnouncer:
    """An announcer that waits until it may go on; `bad` keys cannot be announced."""

    bad: frozenset[str] = frozenset()
    away: bool = False
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    groups: list[list[str]] = field(default_factory=list[list[str]])

    async def announce(self, asked: Sequence[Asking]) -> None:
        self.groups.append([one.ref.key for one in asked])
        self.begun.set()
        await self.may_go.wait()
        if self.away:
            message = "away"
            raise Unavailable(message)
        for one in asked:
            if one.ref.key in self.bad:
                message = "nothing declares it"
                raise NeverDeclared(message)
        for one in asked:
            one.progress = Progress(History(), ())


def _announcements(announcer: SlowAnnouncer) -> Announcements:
    return Announcements(cast("Announcer", announcer))


def _asking(key: str) -> Asking:
    return Asking(ResourceRef("acme", "source", key), CAUSE, {})


async def _outcomes(announcements: Announcements, *keys: str) -> list[Progress | BaseException]:
    return await asyncio.gather(
        *(announcements.announce(_asking(key)) for key in keys), return_exceptions=True
    )


async def test_what_comes_while_a_group_is_announced_shares_the_next_one() -> None:
    announcer = SlowAnnouncer()
    announcements = _announcements(announcer)

    async with asyncio.TaskGroup() as group:
        group.create_task(_outcomes(announcements, "a", "b", "c", "d"))
        await announcer.begun.wait()
        announcer.may_go.set()

    assert announcer.groups == [["a"], ["b", "c", "d"]]


async def test_a_group_is_bounded() -> None:
    announcer = SlowAnnouncer()
    announcer.may_go.set()

    await _outcomes(_announcements(announcer), *(f"s{n}" for n in range(3 * GROUP_MAX)))

    assert max(map(len, announcer.groups)) <= GROUP_MAX
    assert sum(map(len, announcer.groups)) == 3 * GROUP_MAX


@pytest.mark.req("EV-7")
async def test_one_bad_resource_fails_alone() -> None:
    announcer = SlowAnnouncer(bad=frozenset({"b"}))
    announcer.may_go.set()

    good, bad, other = await _outcomes(_announcements(announcer), "a", "b", "c")

    assert isinstance(good, Progress)
    assert isinstance(bad, NeverDeclared)
    assert isinstance(other, Progress)


async def test_a_log_that_is_away_is_told_to_all_at_once() -> None:
    announcer = SlowAnnouncer(away=True)
    announcer.may_go.set()

    found = await _outcomes(_announcements(announcer), "a", "b", "c")

    assert all(isinstance(one, Unavailable) for one in found)
    assert sum(map(len, announcer.groups)) == 3


async def test_a_delivery_that_is_cut_off_leaves_the_others_their_turn() -> None:
    announcer = SlowAnnouncer()
    announcements = _announcements(announcer)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(announcements.announce(_asking(key))) for key in "abc"]
        await announcer.begun.wait()
        tasks[0].cancel()
        announcer.may_go.set()

    assert tasks[0].cancelled()
    assert all(isinstance(task.result(), Progress) for task in tasks[1:])


async def test_room_is_kept_for_a_block_and_one_large_document_always_fits() -> None:
    room = Room(bytes_max=10)
    leave = asyncio.Event()
    inside: list[str] = []

    async def take(name: str, size: int) -> None:
        async with room.taking(size):
            inside.append(name)
            await leave.wait()

    async with asyncio.TaskGroup() as group:
        async with room.taking(6):
            group.create_task(take("large", 50))
            group.create_task(take("other", 6))
            async with room.taking(4):
                before = list(inside)
        leave.set()

    assert before == []
    assert inside == ["large", "other"]
