"""Asking while a service is killed: every question ends once, none is lost."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import dataclass

import psutil

from chancery.client.http import Ask
from chancery.client.replies import Answer
from chancery.kernel.ids import random_id
from chancery.testkit.waiting import eventually
from tests.e2e.running import System
from tests.e2e.world import World

PAGE = "# Pumps\n\nThe spare pump stands in hall seven.\n"
QUESTION = "Where does the spare pump stand?"
OFF_TOPIC = "Who wrote Moby Dick?"
DURATION_S = 60
FAST: Mapping[str, str] = {"CHANCERY_ACK_WAIT_S": "2"}
"""A short wait for acknowledgements, so that lost work is handed out again soon."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the run it became, what that ended with, and how often it says so."""

    run_id: str
    answer: Answer
    endings: int


async def ask_while_killing(
    system: System, world: World, service: str, *, count: int
) -> list[Asked]:
    """Ask `count` questions one after the other; kill the service at a third of the way."""
    await world.document("pumps", PAGE)
    conversation = await world.reader.workspace(world.id).open_conversation()
    asked: list[Asked] = []
    for number in range(count):
        if number == count // 3:
            kill(system, service)
        asked.append(await ask_once(world, conversation, number))
    await eventually(lambda: came_back(system, service), within_s=90)
    return asked


async def ask_once(world: World, conversation: str, number: int) -> Asked:
    """Ask and read to the end; the same key asks the same question again when it got lost."""
    question = OFF_TOPIC if number % 5 == 4 else QUESTION
    key = random_id()
    ask = Ask(question=question, idempotency_key=key, bounds={"max_duration_s": DURATION_S})
    posted = await world.reader.post_message(conversation, ask)
    again = await world.reader.post_message(conversation, ask)
    assert again.run_id == posted.run_id
    async with asyncio.timeout(2 * DURATION_S):
        handle = await world.reader.wait(posted.run_id)
        events = [event async for event in world.reader.events(posted.run_id)]
    endings = sum(event.handle is not None for event in events)
    return Asked(posted.run_id, await world.reader.answer(handle), endings)


def kill(system: System, service: str) -> None:
    """End a service without a chance to say goodbye."""
    process = system.child(service)
    assert process is not None
    process.send_signal(signal.SIGKILL)


def came_back(system: System, service: str) -> bool:
    """Tell whether the supervisor said that it starts the service again, and it runs."""
    said = any(each.line.startswith(f"{service} ended") for each in system.told())
    process = system.child(service)
    try:
        return said and process is not None and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_each_ended_once(asked: list[Asked]) -> None:
    """Every run ended sealed or refused, exactly once, and as its question deserves."""
    assert len({each.run_id for each in asked}) == len(asked)
    assert [each.endings for each in asked] == [1] * len(asked)
    ends = [each.answer.status for each in asked]
    wanted = ["refused" if number % 5 == 4 else "sealed" for number in range(len(asked))]
    assert ends == wanted
