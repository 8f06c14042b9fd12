"""The HTTP edge of the skeleton: `python -m tests.bench.edge`.

A question is a request to the process `release` and a published message; a stream of events asks
`release` again at each nudge, as often as the gateway would.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from chancery.bus.connection import Connection, connect
from chancery.bus.publish import Outgoing, publish_message
from chancery.gateway.adapters import Bell
from chancery.kernel.ids import random_id
from chancery.runtime.http import serving
from chancery.runtime.process import run
from tests.bench import plan
from tests.bench.hop import NATS_VARIABLE, READY, TIMEOUT_S

if TYPE_CHECKING:
    from nats.aio.msg import Msg

PAYLOAD: Final = b"{" + b" " * 900 + b"}"
"""As large as the events of a run are."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What both routes share."""

    bus: Connection

    async def post(self) -> dict[str, str]:
        """Start a run."""
        run_id = random_id()
        await self._ask(run_id)
        outgoing = Outgoing(
            subject=plan.stage_subject(run_id, plan.REQUESTED),
            payload=PAYLOAD,
            message_id=random_id(),
        )
        await publish_message(self.bus, outgoing)
        return {"run_id": run_id}

    async def events(self, run_id: str) -> StreamingResponse:
        """Stream a run until it ends."""
        return StreamingResponse(self._frames(run_id), media_type="text/event-stream")

    async def _frames(self, run_id: str) -> AsyncIterator[bytes]:
        bell = Bell()

        async def ring(message: Msg) -> None:
            bell.ring(is_last=message.data == plan.ENDED)

        subscription = await self.bus.subscribe(f"{plan.NUDGES}.{run_id}", ring)
        while (told := await self._ask(run_id)) != plan.ENDED:
            yield b"data: " + told + b"\n\n"
            await bell.wait(TIMEOUT_S)
        yield b"data: " + told + b"\n\n"
        await subscription.unsubscribe()

    async def _ask(self, run_id: str) -> bytes:
        reply = await self.bus.request(plan.ASKED, run_id.encode(), timeout_s=TIMEOUT_S)
        return reply.data


async def serve() -> None:
    """Serve until the process is ended; the port is told on standard output."""
    async with connect(os.environ[NATS_VARIABLE], name="bench-gateway") as bus:
        edge = Edge(bus)
        surface = FastAPI()
        surface.post("/runs")(edge.post)
        surface.get("/runs/{run_id}/events", response_model=None)(edge.events)
        async with serving(surface, host="127.0.0.1", port=0) as port:
            print(READY, port, flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(run(serve))
