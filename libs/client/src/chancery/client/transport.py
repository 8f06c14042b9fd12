"""One HTTP call: sent with a key, so that it may be sent again while the server is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from chancery.client.errors import NotReadable, problem_error
from chancery.client.pieces import pieces_of, size_of
from chancery.client.reachability import may_pass, unreachable
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Rejected
from chancery.kernel.ids import random_id

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 40.0
"""Above the 30 s that the server takes at most to make a snapshot queryable."""

PATIENCE_S = 45.0
"""A server whose parts are away says so after 15 s at most; this allows for two such waits."""

ABSENCE_S = 10.0
"""How long an address at which nothing answers is tried; a restarted gateway is back by then."""

PAUSE_FIRST_S = 0.1
PAUSE_LAST_S = 2.0

_AWAY = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class Sent:
    """A body on its way; None content sends none, that of a path is read while it is sent."""

    content: bytes | Path | None = None
    media_type: str | None = None
    json: Json = None
    idempotency_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Received:
    """A response that is no error."""

    status: int
    body: bytes

    def read(self, model: type[M]) -> M:
        """Return the body as `model`."""
        try:
            return model.model_validate_json(self.body)
        except ValidationError as error:
            raise _unreadable() from error

    def read_as(self, adapter: TypeAdapter[T]) -> T:
        """Return the body as the adapter's type."""
        try:
            return adapter.validate_json(self.body)
        except ValidationError as error:
            raise _unreadable() from error


@dataclass(frozen=True, slots=True)
class Transport:
    """Calls one server with one token.

    `patience_s` is how long a server is asked again that says it cannot answer now;
    `absence_s` is how long an address is tried at which nothing answers.
    """

    http: httpx.AsyncClient
    token: str | None = field(repr=False)
    patience_s: float = PATIENCE_S
    absence_s: float = ABSENCE_S

    async def call(self, method: str, path: str, sent: Sent | None = None) -> Received:
        """Send one request and return its response; the same key repeats it safely.

        Raises:
            ProblemError: the server refused.
            Unreachable: nobody answered within the patience.
        """
        sent = sent or Sent()
        headers = self._headers(sent)
        started = time.monotonic()
        pause_s = PAUSE_FIRST_S
        while True:
            waited_s = time.monotonic() - started + pause_s
            try:
                response = await self._send(method, path, sent, headers)
            except httpx.TransportError as error:
                if waited_s > self.absence_s or not may_pass(error):
                    raise unreachable(self.http.base_url, error) from error
            else:
                if response.is_success:
                    return Received(response.status_code, response.content)
                if response.status_code not in _AWAY or waited_s > self.patience_s:
                    raise problem_error(response.status_code, response.content)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_LAST_S)

    @asynccontextmanager
    async def stream(
        self, path: str, headers: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Open a stream and hand over its bytes as they come.

        Raises:
            ProblemError: the server refused.
            Unreachable: nobody answered, or the connection broke.
        """
        try:
            async with self.http.stream(
                "GET", path, headers=self._headers(Sent(headers=headers))
            ) as response:
                if not response.is_success:
                    raise problem_error(response.status_code, await response.aread())
                yield response.aiter_bytes()
        except httpx.TransportError as error:
            raise unreachable(self.http.base_url, error) from error

    async def _send(
        self, method: str, path: str, sent: Sent, headers: Mapping[str, str]
    ) -> httpx.Response:
        if sent.json is not None:
            return await self.http.request(method, path, json=sent.json, headers=headers)
        if isinstance(sent.content, Path):
            size = await asyncio.to_thread(size_of, sent.content)
            content, length = pieces_of(sent.content, size), {"Content-Length": str(size)}
            return await self.http.request(
                method, path, content=content, headers={**headers, **length}
            )
        return await self.http.request(method, path, content=sent.content, headers=headers)

    def _headers(self, sent: Sent) -> dict[str, str]:
        headers = {"Idempotency-Key": sent.idempotency_key or random_id(), **sent.headers}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if sent.media_type is not None:
            headers["Content-Type"] = sent.media_type
        return headers


def open_http(url: str, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Return the HTTP connections to the server at `url`; redirects are not followed.

    Raises:
        Rejected: when `url` is no address.
    """
    timeout = httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    try:
        return httpx.AsyncClient(base_url=url, timeout=timeout, transport=transport)
    except httpx.InvalidURL as error:
        message = f"{url} is no address of a server; it looks like http://127.0.0.1:8080"
        raise Rejected(message, field="url", code="invalid_url") from error


def _unreadable() -> NotReadable:
    message = "the server answered in a form that this client does not read"
    return NotReadable(message)
