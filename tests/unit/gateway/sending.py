"""One request at the edge, piece by piece: what is taken of it, and when, is seen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fastapi import FastAPI
from starlette.types import Message, Scope

from chancery.kernel.canonical import Json
from tests.unit.gateway.fakes import TOKEN


@dataclass(slots=True)
class Sender:
    """A caller who sends `piece` up to `count` times, and then ends, hangs up or falls silent."""

    piece: bytes
    count: int
    ending: Message | None = field(
        default_factory=lambda: {"type": "http.request", "body": b"", "more_body": False}
    )
    token: str = TOKEN
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    seen: Callable[[], None] = lambda: None
    taken: int = 0
    sent: list[Message] = field(default_factory=list[Message])

    async def call(
        self, app: FastAPI, path: str, media_type: str = "text/plain", *, query: bytes = b""
    ) -> None:
        """Send the request and keep what comes back."""
        headers = {
            "authorization": f"Bearer {self.token}",
            "content-type": media_type,
            **self.headers,
        }
        scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        await app(scope, self._receive, self._send)

    @property
    def status(self) -> int:
        """Return the status of the answer."""
        found: int = self.sent[0]["status"]
        return found

    @property
    def header(self) -> dict[str, str]:
        """Return the headers of the answer."""
        pairs: list[tuple[bytes, bytes]] = self.sent[0]["headers"]
        return {name.decode(): value.decode() for name, value in pairs}

    @property
    def problem(self) -> dict[str, Json]:
        """Return the body of the answer."""
        found: dict[str, Json] = json.loads(self.sent[1]["body"])
        return found

    async def _receive(self) -> Message:
        self.seen()
        if self.taken < self.count:
            self.taken += 1
            return {"type": "http.request", "body": self.piece, "more_body": True}
        if self.ending is None:
            await asyncio.Event().wait()
        assert self.ending is not None
        return self.ending

    async def _send(self, message: Message) -> None:
        self.sent.append(message)


HUNG_UP: Message = {"type": "http.disconnect"}
