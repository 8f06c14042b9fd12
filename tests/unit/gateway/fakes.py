"""The ports of the edge in memory: owners that answer from a table, blobs in a dict."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
from fastapi import FastAPI

from chancery.authority.tokens import build_token, secret_for
from chancery.events.envelope import Event
from chancery.events.requests import Caller, Message, Request
from chancery.gateway.handlers.arriving import USUAL_PACE, Pace
from chancery.gateway.handlers.edge import Edge
from chancery.gateway.handlers.room import Room
from chancery.gateway.handlers.surface import create_surface
from chancery.gateway.ports import Nudge, Sent, Told
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.store.blobs import Receiving, open_blobs

KEY = bytes(32)
TOKEN = build_token("default", "ada", "c1", secret_for(KEY, "c1"))


@dataclass(slots=True)
class TableOwners:
    """Owners that answer each subject from a table and remember what they were asked."""

    answers: dict[str, Message | ChanceryError] = field(default_factory=dict)
    asked: list[tuple[str, Request[Message]]] = field(default_factory=list)

    async def ask(self, subject: str, request: Request[Sent], reply: type[Told]) -> Told:
        """Return or raise what the table holds; an absent subject is an owner that is away."""
        self.asked.append((subject, Request[Message].model_construct(**dict(request))))
        answer = self.answers.get(subject, Unavailable("nobody answers"))
        if isinstance(answer, ChanceryError):
            raise answer
        assert isinstance(answer, reply)
        return answer


@dataclass(slots=True)
class ListAnnouncements:
    """Announcements in a list."""

    events: dict[str, Event] = field(default_factory=dict)

    async def announce(self, subject: str, event: Event) -> None:
        """Keep the first event of a subject."""
        self.events.setdefault(subject, event)


class _Silence:
    async def wait(self, timeout_s: float) -> None:
        del timeout_s


@dataclass(frozen=True, slots=True)
class NoNudges:
    """Nudges that never come: every wait ends at once."""

    abandoned: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @asynccontextmanager
    async def of_run(self, tenant: str, run_id: str) -> AsyncGenerator[Nudge]:
        """Return a nudge that waits for nothing."""
        del tenant, run_id
        yield _Silence()

    async def abandon(self, caller: Caller, idempotency_key: str) -> None:
        """Remember who has hung up."""
        self.abandoned.append((caller.principal, idempotency_key))


@dataclass(slots=True)
class World:
    """An edge with everything behind it in memory."""

    owners: TableOwners = field(default_factory=TableOwners)
    announcements: ListAnnouncements = field(default_factory=ListAnnouncements)
    blobs: Receiving = field(default_factory=lambda: open_blobs("memory://"))
    nudges: NoNudges = field(default_factory=NoNudges)
    upload_bytes_max: int = 1000
    room: Room = field(default_factory=Room)
    pace: Pace = USUAL_PACE

    def surface(self) -> FastAPI:
        """Return the edge's application."""
        edge = Edge(
            owners=self.owners,
            announcements=self.announcements,
            nudges=self.nudges,
            blobs=self.blobs,
            token_key=KEY,
            room=self.room,
        )
        return create_surface(edge, upload_bytes_max=self.upload_bytes_max, pace=self.pace)

    def client(
        self, token: str | None = TOKEN, surface: FastAPI | None = None
    ) -> httpx.AsyncClient:
        """Return an HTTP client of the edge's application, its own one or that of others too."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(surface or self.surface()),
            base_url="http://edge",
            headers=headers,
        )
