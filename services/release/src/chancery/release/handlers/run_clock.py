"""The clock of runs: past its deadline, or when a stage gave its event up, a run ends refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from nats.aio.msg import Msg
from pydantic import BaseModel, ValidationError

from chancery.bus.connection import Connection as Bus
from chancery.bus.connection import translate_errors
from chancery.bus.load import message_at
from chancery.bus.publish import publish
from chancery.events.codec import decode
from chancery.events.run import RunAdmitted, RunExpired, RunGathered, RunProposed
from chancery.events.topology import RUNS, run_subject
from chancery.kernel.clock import Clock
from chancery.kernel.errors import Corrupt
from chancery.release.domain.stages import stage_event
from chancery.release.handlers.ending import Ending
from chancery.release.ports.stores import RunStore
from chancery.runtime.logging import get_logger

POLL_S = 1.0
POLL_S_MIN = 0.02
ADVISORIES_MAX = 1000
_ADVISORY: Final = f"$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.{RUNS}.*"
_STAGES: Final = ("requested", "admitted", "gathered", "proposed")

_log = get_logger("chancery.release")

Reason = Literal["deadline", "parked"]


class _Terminated(BaseModel):
    stream_seq: int
    consumer: str


@dataclass(slots=True)
class RunClock:
    """Ends runs that nothing else ends."""

    bus: Bus
    runs: RunStore
    ending: Ending
    clock: Clock
    _advisories: asyncio.Queue[int] = field(
        default_factory=lambda: asyncio.Queue[int](ADVISORIES_MAX)
    )

    async def watch_deadlines(self) -> None:
        """Expire overdue runs for ever.

        Raises:
            Unavailable: run again.
        """
        while True:
            for each in await self.runs.overdue():
                await self.expire(each.tenant, each.run_id, "deadline", generation=each.generation)
            due_s = await self.runs.next_deadline_s()
            wait_s = POLL_S if due_s is None else min(POLL_S, max(POLL_S_MIN, due_s))
            await asyncio.sleep(wait_s)

    async def watch_terminations(self) -> None:
        """Expire runs whose stage was given up, as the server tells.

        An advisory may get lost; then the deadline ends the run.

        Raises:
            Unavailable: run again.
        """
        async with self._subscribed():
            while True:
                sequence = await self._advisories.get()
                stored = await message_at(self.bus, RUNS, sequence)
                if stored is not None:
                    await self.give_up(stored.subject, stored.payload)

    async def give_up(self, subject: str, payload: bytes) -> None:
        """Expire the run whose stage this was, unless a later generation has begun.

        Raises:
            Unavailable: call again.
        """
        match subject.split("."):
            case [_, tenant, run_id, stage] if stage in _STAGES:
                generation = _generation_of(payload)
                await self.expire(tenant, run_id, "parked", generation=generation)
            case _:
                return

    async def expire(
        self, tenant: str, run_id: str, reason: Reason, *, generation: int | None = None
    ) -> None:
        """End a run that is still open: say so on the stream, then seal the refusal.

        With `generation` only that one is meant.

        Raises:
            Unavailable: call again.
        """
        run = await self.runs.read(tenant, run_id)
        if run is None or not run.is_open or generation not in {None, run.generation}:
            return
        data = RunExpired(run_id=run_id, generation=run.generation, reason=reason)
        event = stage_event(run, "expired", data, at=self.clock.now())
        await publish(self.bus, run_subject(tenant, run_id, "expired"), event)
        await self.ending.give_up(run, "unavailable", reason)
        _log.info("run expired", run_id=run_id, reason=reason)

    @asynccontextmanager
    async def _subscribed(self) -> AsyncGenerator[None]:
        with translate_errors():
            subscription = await self.bus.subscribe(_ADVISORY, self._take)
        try:
            yield
        finally:
            if self.bus.is_connected:
                with translate_errors():
                    await subscription.unsubscribe()

    async def _take(self, message: Msg) -> None:
        try:
            advisory = _Terminated.model_validate_json(message.data)
            self._advisories.put_nowait(advisory.stream_seq)
        except (ValidationError, asyncio.QueueFull):
            _log.warning("an advisory was dropped")


def _generation_of(payload: bytes) -> int | None:
    """Return the generation that an event of a stage is of; None when it does not say."""
    try:
        data = decode(payload).data
    except Corrupt:
        return None
    return data.generation if isinstance(data, RunAdmitted | RunGathered | RunProposed) else None
