"""A caller who hangs up while a statement runs: what works for it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request

from chancery.gateway.handlers.edge import Context
from chancery.kernel.errors import ChanceryError

Told = TypeVar("Told")


async def answered(request: Request, here: Context, answer: Awaitable[Told]) -> Told:
    """Return the answer; when the caller hangs up before, say that nobody waits for it.

    Raises:
        ChanceryError: what the answer raises.
    """
    found: Told | ChanceryError
    async with asyncio.TaskGroup() as group:
        leaving = group.create_task(_tell(request, here))
        try:
            found = await answer
        except ChanceryError as error:
            found = error
        finally:
            leaving.cancel()
    if isinstance(found, ChanceryError):
        raise found
    return found


async def _tell(request: Request, here: Context) -> None:
    """Wait until the caller has gone; the body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    await here.edge.nudges.abandon(here.call.caller, here.call.idempotency_key)
