"""Every message that was handed out is settled, whatever becomes of the task that has it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import ClassVar

import pytest
from nats.errors import OutboundBufferLimitError

from chancery.events.topology import RELEASE_CANCELLED, consumer
from chancery.kernel.canonical import canonical_bytes
from chancery.runtime import pulling
from chancery.runtime.pulling import GuardedPull
from chancery.testkit.waiting import eventually

PASSED_OVER = "chancery.passed.over.v1"


@dataclass(slots=True, eq=False)
class Message:
    """A message that notes how it ended; its acknowledgement may fail."""

    data: bytes = b"{}"
    fails: bool = False
    ended: list[str] = field(default_factory=list[str])

    async def ack(self) -> None:
        if self.fails:
            raise OutboundBufferLimitError
        self.ended.append("ack")

    async def nak(self) -> None:
        self.ended.append("nak")


class Inbox:
    """What would come from the stream: all of it at once, then nothing."""

    messages: ClassVar[deque[Message]] = deque()
    breaks: ClassVar[bool] = False

    def __init__(self, *_: object) -> None:
        self.outstanding = 0

    @property
    def has_arrived(self) -> bool:
        return bool(self.messages)

    async def request(self, batch: int) -> None:
        del batch

    async def wait(self, timeout_s: float) -> None:
        if not self.messages and self.breaks:
            raise RuntimeError
        if not self.messages:
            async with asyncio.timeout(timeout_s):
                await asyncio.Event().wait()

    async def drain(self) -> None:
        return

    def take(self, limit: int | None = None) -> list[Message]:
        count = len(self.messages) if limit is None else min(limit, len(self.messages))
        return [self.messages.popleft() for _ in range(count)]


@pytest.fixture
def pull(monkeypatch: pytest.MonkeyPatch) -> GuardedPull:
    monkeypatch.setattr(pulling, "PullInbox", Inbox)
    Inbox.messages, Inbox.breaks = deque(), False
    connection = SimpleNamespace(generation=0)
    return GuardedPull(
        connection,  # pyright: ignore[reportArgumentType]
        consumer(RELEASE_CANCELLED),
        8,
        frozenset({PASSED_OVER}),
    )


async def test_a_message_whose_task_never_began_is_given_back(pull: GuardedPull) -> None:
    messages = [Message() for _ in range(3)]
    Inbox.messages.extend(messages)

    async def consume(_message: object) -> None:
        pytest.fail("its task is cancelled before")

    # It breaks in the turn of the loop in which the tasks were made: none of them has begun.
    Inbox.breaks = True
    with pytest.raises(ExceptionGroup):
        await pull.hand_out(consume)

    assert [each.ended for each in messages] == [["nak"]] * 3
    assert pull.unsettled == 0


async def test_one_acknowledgement_that_fails_strands_no_other_message(pull: GuardedPull) -> None:
    payload = canonical_bytes({"type": PASSED_OVER})
    handled: list[object] = []
    passed = [Message(payload, fails=number == 0) for number in range(3)]
    Inbox.messages.extend([*passed, Message()])

    async def consume(message: object) -> None:
        handled.append(message)
        pull.settle()

    async with asyncio.TaskGroup() as group:
        handing_out = group.create_task(pull.hand_out(consume))
        await eventually(lambda: pull.settled == 4)
        handing_out.cancel()

    assert [each.ended for each in passed] == [[], ["ack"], ["ack"]]
    assert len(handled) == 1
    assert (pull.unsettled, pull.failure) == (0, None)


async def test_what_arrived_is_given_back_when_the_consumer_is_lost(pull: GuardedPull) -> None:
    late = [Message(), Message()]
    began = asyncio.Event()
    Inbox.messages.append(Message())

    async def consume(_message: object) -> None:
        began.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        handing_out = group.create_task(pull.hand_out(consume))
        await began.wait()
        Inbox.messages.extend(late)
        await pull.give_back()
        handing_out.cancel()

    assert [each.ended for each in late] == [["nak"], ["nak"]]
