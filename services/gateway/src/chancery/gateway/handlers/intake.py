"""What every request passes first: its credential's shape, its key, its size, its trace.

The body is read here as a whole, so that a route sees either all of it or nothing: a caller who
hangs up in the middle has asked for nothing. What is more than a few bytes is read only
once the credential is proven and there is room for it. An upload is left to its route, which
streams it to the blobs when it knows that the caller may publish.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final

from opentelemetry.trace import SpanKind
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chancery.events.requests import Caller
from chancery.gateway.domain.body_limits import BodyLimits, limits_of
from chancery.gateway.domain.calls import Call, caller_of, checked_key
from chancery.gateway.domain.digests import BodyDigest
from chancery.gateway.domain.json_bodies import check_json
from chancery.gateway.domain.media import UnsupportedMediaType, essence
from chancery.gateway.domain.sent_digests import FIELDS, SentDigest, SentDigests, sent_digests
from chancery.gateway.errors import Internal
from chancery.gateway.handlers.arriving import USUAL_PACE, Arrival, Pace, too_large
from chancery.gateway.handlers.refusing import problem_response
from chancery.gateway.handlers.room import Room
from chancery.gateway.handlers.watching import Watch, sight_of
from chancery.kernel.errors import ChanceryError, Rejected
from chancery.kernel.ids import random_id
from chancery.runtime.logging import describe
from chancery.runtime.telemetry import current_traceparent, span
from chancery.store.spool import Spool

UNPROVEN_BYTES: Final = 16 * 1024
"""After how many bytes of a body no further piece is read before its credential is proven."""
REQUEST_SPAN: Final = "http.request"
_ONCE: Final = ("authorization", "content-type", "idempotency-key")


class _HungUp(Exception):
    """The caller closed the connection before the body was complete."""


@dataclass(frozen=True, slots=True)
class Intake:
    """ASGI middleware; leaves a `Call` in `request.state.call` for every route under /v1.

    `prove` raises when the credential of a call is not what it claims. The route of an upload finds
    its body's `Arrival` in `request.state.arrival`.
    """

    app: ASGIApp
    upload_bytes_max: int
    watch: Watch
    prove: Callable[[Call], Awaitable[None]]
    room: Room
    pace: Pace = USUAL_PACE

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
        async with AsyncExitStack() as held:
            try:
                _check_headers(headers)
                caller = caller_of(headers.get("authorization"))
                _see(scope, caller)
                key = _key(headers)
                limits = self._limits(scope, headers)
                digest = BodyDigest(headers.get("content-type", ""), _query(scope))
                arrival = Arrival(
                    receive,
                    limits.bytes_max,
                    self.pace,
                    digest,
                    SentDigests(_stated(headers)),
                    advice=limits.advice,
                )
                call = _call(scope, caller, key, digest.sha256())
                if not limits.is_streamed:
                    body = await self._body(arrival, call, held)
                    await _checked_aside(headers, body, limits)
                    call = replace(call, request_sha256=digest.sha256())
                    receive = _replay(body, receive)
                    del body
            except ChanceryError as error:
                await problem_response(error)(scope, receive, send)
                return
            except _HungUp:
                return
            state = scope.setdefault("state", {})
            state["call"], state["arrival"] = call, arrival
            receive = arrival if limits.is_streamed else receive
            await self._route(scope, receive, _finish(scope, key, _freeing(held, send)))

    def _limits(self, scope: Scope, headers: Headers) -> BodyLimits:
        limits = limits_of(scope["method"], scope["path"], upload_bytes_max=self.upload_bytes_max)
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > limits.bytes_max:
            raise too_large(limits.bytes_max, limits.advice)
        return limits

    async def _body(self, arrival: Arrival, call: Call, held: AsyncExitStack) -> bytes:
        first = b""
        while not arrival.is_whole:
            first += await _piece(arrival)
            if arrival.received > UNPROVEN_BYTES:
                break
        if arrival.is_whole:
            return first
        await self.prove(call)
        async with self.room.arriving(call.caller), AsyncExitStack() as opened:
            spool = Spool()
            opened.push_async_callback(spool.close)
            await spool.write(first)
            while not arrival.is_whole:
                await spool.write(await _piece(arrival))
            await held.enter_async_context(self.room.whole(spool.size))
            return await spool.read()

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request; a bug is answered once, unless the answer has begun already."""
        has_begun = False

        async def noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except ClientDisconnect:
            return
        except Exception as error:
            if has_begun:
                raise
            sight = sight_of(scope)
            if sight is not None:
                sight.failure = describe(error)
            message = "something went wrong here; the trace id finds it in the logs"
            await problem_response(Internal(message))(scope, receive, send)


def _freeing(held: AsyncExitStack, send: Send) -> Send:
    """Return a `send` that gives the room of the body back once there is something to say."""

    async def freeing(message: Message) -> None:
        await held.aclose()
        await send(message)

    return freeing


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


def _stated(headers: Headers) -> list[SentDigest]:
    return [
        each for field in FIELDS for each in sent_digests(field, ", ".join(headers.getlist(field)))
    ]


def _key(headers: Headers) -> str:
    key = headers.get("idempotency-key")
    return random_id() if key is None else checked_key(key)


async def _piece(arrival: Arrival) -> bytes:
    message = await arrival()
    if message["type"] == "http.disconnect":
        raise _HungUp
    found: bytes = message.get("body", b"")
    return found


def _call(scope: Scope, caller: Caller, key: str, sha256: str) -> Call:
    return Call(
        caller=caller,
        route=f"{scope['method']} {scope['path']}",
        idempotency_key=key,
        request_sha256=sha256,
        traceparent=current_traceparent(),
    )


def _query(scope: Scope) -> bytes:
    found: bytes = scope.get("query_string", b"")
    return found


async def _checked_aside(headers: Headers, body: bytes, limits: BodyLimits) -> None:
    """Check a body, a large one beside the requests of others."""
    if len(body) > UNPROVEN_BYTES:
        await asyncio.to_thread(_check_body, headers, body, limits)
    else:
        _check_body(headers, body, limits)


def _check_body(headers: Headers, body: bytes, limits: BodyLimits) -> None:
    """Refuse a body that is no JSON of the one kind that is checked, where nothing else may be."""
    if not body:
        return
    if essence(headers.get("content-type", "")) == "application/json":
        check_json(body)
    elif not limits.any_type:
        message = "send the body as JSON, with Content-Type: application/json"
        raise UnsupportedMediaType(message, field="Content-Type")


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting: list[bytes] = [body]

    async def replay() -> Message:
        if not waiting:
            return await receive()
        return {"type": "http.request", "body": waiting.pop(), "more_body": False}

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
