"""What every request passes first: its size, its credential's shape, its key, its trace.

The whole body is read here, within its bound, so that a route sees either all of it or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from opentelemetry.trace import SpanKind
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chancery.gateway.domain.calls import Call, body_hash, caller_of, checked_key
from chancery.gateway.domain.media import essence
from chancery.gateway.domain.problems import problem_of
from chancery.gateway.errors import status_of
from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import ChanceryError, Corrupt, Rejected, TooLarge
from chancery.kernel.ids import random_id
from chancery.runtime.telemetry import current_trace_id, current_traceparent, span

JSON_BYTES_MAX = 1024 * 1024
UPLOAD_SUFFIXES = ("/revisions", "/snapshots")
REQUEST_SPAN = "http.request"


@dataclass(frozen=True, slots=True)
class Intake:
    """ASGI middleware; leaves a `Call` in `request.state.call` for every route under /v1."""

    app: ASGIApp
    upload_bytes_max: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its call, or answer with a problem document."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self.app(scope, receive, send)
            return
        parent = Headers(scope=scope).get("traceparent")
        ids = {"http.request.method": str(scope["method"])}
        with span(REQUEST_SPAN, parent=parent, kind=SpanKind.SERVER, ids=ids):
            await self._admit(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            body = await _read(receive, headers, self._bound(scope))
            call = _call(scope, headers, body)
        except ChanceryError as error:
            await problem_response(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["call"] = call
        await self.app(scope, _replay(body, receive), _echo(call.idempotency_key, send))

    def _bound(self, scope: Scope) -> int:
        return self.upload_bytes_max if scope["path"].endswith(UPLOAD_SUFFIXES) else JSON_BYTES_MAX


def problem_response(error: ChanceryError) -> Response:
    """Return `error` as an HTTP response."""
    problem = problem_of(error, current_trace_id())
    headers = {"Cache-Control": "no-store"}
    status = status_of(error)
    if status == 401:  # noqa: PLR2004 - the one status that has to name its scheme
        headers["WWW-Authenticate"] = "Bearer"
    if status == 503:  # noqa: PLR2004 - the one status that says when to come back
        headers["Retry-After"] = "1"
    return Response(
        problem.model_dump_json(exclude_none=True),
        status_code=status,
        media_type="application/problem+json",
        headers=headers,
    )


async def _read(receive: Receive, headers: Headers, bytes_max: int) -> bytes:
    declared = headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > bytes_max:
        raise _too_large(bytes_max)
    chunks = bytearray()
    while True:
        message = await receive()
        chunks += message.get("body", b"")
        if len(chunks) > bytes_max:
            raise _too_large(bytes_max)
        if not message.get("more_body", False):
            return bytes(chunks)


def _too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"the body must be at most {bytes_max:,} bytes", field="body")


def _call(scope: Scope, headers: Headers, body: bytes) -> Call:
    caller = caller_of(headers.get("authorization"))
    content_type = headers.get("content-type", "")
    if essence(content_type) == "application/json":
        _check_json(body)
    key = headers.get("idempotency-key")
    return Call(
        caller=caller,
        route=f"{scope['method']} {scope['path']}",
        idempotency_key=random_id() if key is None else checked_key(key),
        request_sha256=body_hash(essence(content_type), body),
        traceparent=current_traceparent(),
    )


def _check_json(body: bytes) -> None:
    try:
        value = parse_json(body)
    except Corrupt as error:
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


def _echo(idempotency_key: str, send: Send) -> Send:
    async def echo(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Idempotency-Key"] = idempotency_key
            headers.setdefault("Cache-Control", "no-store")
            headers["X-Content-Type-Options"] = "nosniff"
        await send(message)

    return echo
