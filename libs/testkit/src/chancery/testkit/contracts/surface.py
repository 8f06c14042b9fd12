"""The OpenAPI document of the gateway, from its routes; nothing behind them is opened."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chancery.events.envelope import Event
from chancery.events.requests import Caller, Request
from chancery.gateway.handlers.edge import Edge
from chancery.gateway.handlers.surface import create_surface
from chancery.gateway.ports import Nudge, Sent, Told
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Unavailable
from chancery.testkit.blobs import MemoryBlobs

PATH = "http/openapi.json"


class NothingBehind(Unavailable):
    """This edge has no owners: it only describes itself."""

    code = "nothing_behind"

    def __init__(self) -> None:
        super().__init__("this edge only describes itself")


@dataclass(frozen=True, slots=True)
class Nobody:
    """Every port of the edge, and nothing behind it."""

    async def ask(self, subject: str, request: Request[Sent], reply: type[Told]) -> Told:
        """Refuse: nobody owns anything here."""
        del subject, request, reply
        raise NothingBehind

    async def announce(self, subject: str, event: Event) -> None:
        """Refuse: there is no stream here."""
        del subject, event
        raise NothingBehind

    @asynccontextmanager
    async def of_run(self, tenant: str, run_id: str) -> AsyncGenerator[Nudge]:
        """Refuse: nothing nudges here."""
        del tenant, run_id
        raise NothingBehind
        yield _Still()

    async def abandon(self, caller: Caller, idempotency_key: str) -> None:
        """Refuse: nobody works here."""
        del caller, idempotency_key
        raise NothingBehind


class _Still:
    async def wait(self, timeout_s: float) -> None:
        del timeout_s


def openapi() -> dict[str, Json]:
    """Return the OpenAPI 3.1 document; operation ids follow the handler's name and the route."""
    nobody = Nobody()
    edge = Edge(
        owners=nobody,
        announcements=nobody,
        nudges=nobody,
        blobs=MemoryBlobs(),
        token_key=bytes(32),
    )
    document: dict[str, Json] = create_surface(edge).openapi()
    return document
