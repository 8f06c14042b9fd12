"""What every request passes first: its credential's shape, its key, its size, its trace.

The whole body is read here, within its bounds, so that a route sees either all of it or nothing:
a caller who hangs up in the middle has asked for nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from opentelemetry.trace import SpanKind
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chancery.events.requests import Caller
from chancery.gateway.domain.body_limits import BodyLimits, limits_of
from chancery.gateway.domain.calls import Call, body_hash, caller_of, checked_key
from chancery.gateway.domain.media import UnsupportedMediaType, essence
from chancery.gateway.errors import Internal, SlowBody
from chancery.gateway.handlers.refusing import problem_response
from chancery.gateway.handlers.watching import Watch, sight_of
from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import ChanceryError, Corrupt, Rejected, TooLarge
from chancery.kernel.ids import random_id
from chancery.runtime.logging import describe
from chancery.runtime.telemetry import current_traceparent, span

BODY_PAUSE_MAX_S: Final = 20.0
"""How long a caller may be silent in the middle of a body."""
BODY_WITHIN_S: Final = 300.0
"""How long a whole body may take."""
REQUEST_SPAN: Final = "http.request"
_ONCE: Final = ("authorization", "content-type", "idempotency-key")


class _HungUp(Exception):
    """The caller closed the connection before the body was complete."""


@dataclass(frozen=True, slots=True)
class Intake:
    """ASGI middleware; leaves a `Call` in `request.state.call` for every route under /v1."""

    app: ASGIApp
    upload_bytes_max: int
    watch: Watch
    body_pause_max_s: float = BODY_PAUSE_MAX_S
    body_within_s: float = BODY_WITHIN_S

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its call, or answer with a problem document."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self.app(scope, receive, send)
            return
        # Never below a span that is current already: the server reuses one context for all
        # requests of a connection. An empty parent starts a new trace.
        parent = Headers(scope=scope).get("traceparent", "")
        ids = {"http.request.method": str(scope["method"])}
        with span(REQUEST_SPAN, parent=parent, kind=SpanKind.SERVER, ids=ids):
            await self.watch.follow(self._admit, scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            _check_headers(headers)
            caller = caller_of(headers.get("authorization"))
            _see(scope, caller)
            key = _key(headers)
            limits = limits_of(scope["path"], upload_bytes_max=self.upload_bytes_max)
            body = await self._body(limits, headers, receive)
            _check_body(headers, body, limits)
        except ChanceryError as error:
            await problem_response(error)(scope, receive, send)
            return
        except _HungUp:
            return
        scope.setdefault("state", {})["call"] = _call(scope, headers, body, caller, key)
        await self._route(scope, _replay(body, receive), _finish(scope, key, send))

    async def _body(self, limits: BodyLimits, headers: Headers, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout(self.body_within_s):
                return await _read(receive, headers, limits.bytes_max, self.body_pause_max_s)
        except TimeoutError as error:
            message = "the body did not arrive in time; send it faster or in a smaller piece"
            raise SlowBody(message, field="body") from error

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request; a bug is answered once, unless the answer has begun already."""
        has_begun = False

        async def noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as error:
            if has_begun:
                raise
            sight = sight_of(scope)
            if sight is not None:
                sight.failure = describe(error)
            message = "something went wrong here; the trace id finds it in the logs"
            await problem_response(Internal(message))(scope, receive, send)


def _see(scope: Scope, caller: Caller) -> None:
    sight = sight_of(scope)
    if sight is not None:
        sight.caller = caller


def _check_headers(headers: Headers) -> None:
    """Refuse what two readers of one request could understand differently, packed bodies too."""
    for name in _ONCE:
        if len(headers.getlist(name)) > 1:
            message = f"send the header {name} once"
            raise Rejected(message, field=name, code="repeated_header")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        message = "send the body as it is, without a Content-Encoding"
        raise UnsupportedMediaType(message, field="Content-Encoding")
    if "transfer-encoding" in headers and "content-length" in headers:
        message = "send either Content-Length or Transfer-Encoding, not both"
        raise Rejected(message, field="content-length", code="ambiguous_length")


def _key(headers: Headers) -> str:
    key = headers.get("idempotency-key")
    return random_id() if key is None else checked_key(key)


async def _read(receive: Receive, headers: Headers, bytes_max: int, pause_max_s: float) -> bytes:
    declared = headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > bytes_max:
        raise _too_large(bytes_max)
    chunks = bytearray()
    while True:
        async with asyncio.timeout(pause_max_s):
            message = await receive()
        if message["type"] == "http.disconnect":
            raise _HungUp
        chunks += message.get("body", b"")
        if len(chunks) > bytes_max:
            raise _too_large(bytes_max)
        if not message.get("more_body", False):
            return bytes(chunks)


def _too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"the body must be at most {bytes_max:,} bytes", field="body")


def _call(scope: Scope, headers: Headers, body: bytes, caller: Caller, key: str) -> Call:
    return Call(
        caller=caller,
        route=f"{scope['method']} {scope['path']}",
        idempotency_key=key,
        request_sha256=body_hash(headers.get("content-type", ""), body, _query(scope)),
        traceparent=current_traceparent(),
    )


def _query(scope: Scope) -> bytes:
    found: bytes = scope.get("query_string", b"")
    return found


def _check_body(headers: Headers, body: bytes, limits: BodyLimits) -> None:
    """Refuse a body that is no JSON of the one kind that is checked, where nothing else may be."""
    if not body:
        return
    if essence(headers.get("content-type", "")) == "application/json":
        _check_json(body)
    elif not limits.any_type:
        message = "send the body as JSON, with Content-Type: application/json"
        raise UnsupportedMediaType(message, field="Content-Type")


def _check_json(body: bytes) -> None:
    try:
        # Text, not bytes: the parser would guess UTF-16 and UTF-32 too.
        value = parse_json(body.decode("utf-8-sig"))
    except (Corrupt, UnicodeDecodeError) as error:
        message = "the body is not valid JSON (UTF-8, unique keys, no NaN)"
        raise Rejected(message, field="body", code="malformed_json") from error
    if not _storable(value):
        message = "the body has a NUL character or half a surrogate pair in a string"
        raise Rejected(message, field="body", code="malformed_json")


def _storable(value: Json) -> bool:
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if "\x00" in item or not _encodable(item):
                return False
        elif isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item
    return True


def _encodable(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _finish(scope: Scope, idempotency_key: str, send: Send) -> Send:
    """Return a `send` that adds what every response has; a read has no key to be repeated by."""

    async def finish(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if scope["method"] not in {"GET", "HEAD"}:
                headers["Idempotency-Key"] = idempotency_key
            headers.setdefault("Cache-Control", "no-store")
            headers["X-Content-Type-Options"] = "nosniff"
        await send(message)

    return finish
