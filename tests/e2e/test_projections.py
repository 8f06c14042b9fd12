"""`chancery projections` on a live system: a rebuild and a switch under load fail no request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from chancery.kernel.canonical import Json
from tests.e2e.killing import PAGE, ask_once
from tests.e2e.running import System, command
from tests.e2e.world import World

pytestmark = pytest.mark.e2e


async def told(system: System, verb: str, name: str = "all") -> list[dict[str, Json]]:
    """Run the command and return what it said, a document per line."""
    arguments = ["projections", verb, name, "--data-dir", str(system.folder), "--json"]
    done = await asyncio.to_thread(command, arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@asynccontextmanager
async def load(world: World, conversation: str) -> AsyncGenerator[list[str]]:
    """Ask, read answers and publish all the time; whatever fails, fails the test."""
    ended: list[str] = []
    done = asyncio.Event()

    async def ask() -> None:
        while not done.is_set():
            asked = await ask_once(world, conversation, len(ended))
            ended.append(asked.answer.status)

    async def publish() -> None:
        number = 0
        while not done.is_set():
            number += 1
            await world.document("news", f"# News\n\nEdition {number} is out.\n")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ask())
        tasks.create_task(publish())
        try:
            yield ended
        finally:
            done.set()


@pytest.mark.req("EV-5", "EV-8")
async def test_a_rebuild_and_a_switch_under_load_fail_no_request(
    system: System, world: World
) -> None:
    await world.document("pumps", PAGE)
    conversation = await world.reader.workspace(world.id).open_conversation()

    async with load(world, conversation) as ended:
        rebuilt = await told(system, "rebuild")
        switched = await told(system, "switch")
        count = len(ended)
        async with asyncio.timeout(240):
            while len(ended) < count + 3:
                await ask_once(world, conversation, 0)
    status = await told(system, "status")

    live = {str(each["projection"]): each for each in status if each.get("live") is True}
    assert [each["event"] for each in switched] == ["switched", "switched"]
    assert {str(each["event"]) for each in rebuilt} == {"progress", "rebuilt"}
    for each in switched:
        now = live[str(each["projection"])]
        assert now["table_set"] == each["table_set"] != each["before"]
    # Every fifth question has no answer in the documents.
    wanted = ["refused" if number % 5 == 4 else "sealed" for number in range(len(ended))]
    assert ended == wanted
