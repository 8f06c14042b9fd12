"""/healthz, /readyz and /metrics: alive, able to work (with reasons), and the numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import ChanceryError
from chancery.runtime.logging import describe, get_logger
from chancery.runtime.metrics import Metrics

CHECK_TIMEOUT_S: Final = 2.0

ReadyCheck: TypeAlias = "Callable[[], Awaitable[str | None]]"
"""Returns why the service is not ready, or None; the reason is for operators and holds no content.

A ChanceryError that it raises counts as a reason too.
"""

Scope: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = "Callable[[], Awaitable[MutableMapping[str, Any]]]"
Send: TypeAlias = "Callable[[MutableMapping[str, Any]], Awaitable[None]]"
Application: TypeAlias = "Callable[[Scope, Receive, Send], Awaitable[None]]"
"""An ASGI application."""

_log = get_logger("chancery.runtime")


@dataclass(slots=True)
class Readiness:
    """All checks of one service, by name; each is asked with a time bound."""

    checks: dict[str, ReadyCheck] = field(default_factory=dict[str, ReadyCheck])

    async def reasons(self) -> Mapping[str, str | None]:
        """Return each check's reason, None where all is well."""
        async with asyncio.TaskGroup() as group:
            tasks = {
                name: group.create_task(_ask(name, check)) for name, check in self.checks.items()
            }
        return {name: task.result() for name, task in tasks.items()}


async def _ask(name: str, check: ReadyCheck) -> str | None:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            return await check()
    except TimeoutError:
        return "it did not answer in time"
    except ChanceryError as error:
        return error.detail
    except Exception as error:  # noqa: BLE001 - a broken check is a reason, not a crash.
        _log.error("ready check failed", name=name, **describe(error))
        return "the check failed"


def management_application(readiness: Readiness, metrics: Metrics) -> Application:
    """Return the ASGI application of the management port."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        match (scope["type"], scope.get("method"), scope.get("path")):
            case ("http", "GET" | "HEAD", "/healthz"):
                await _reply(send, 200, {"alive": True})
            case ("http", "GET" | "HEAD", "/readyz"):
                await _report_ready(send, readiness, metrics)
            case ("http", "GET" | "HEAD", "/metrics"):
                body = generate_latest(metrics.registry)
                await _send(send, 200, body, CONTENT_TYPE_LATEST)
            case ("http", _, _):
                await _reply(send, 404, {"error": "not found"})
            case _:
                pass

    return application


async def _report_ready(send: Send, readiness: Readiness, metrics: Metrics) -> None:
    reasons = await readiness.reasons()
    ready = all(reason is None for reason in reasons.values())
    metrics.ready.set(1 if ready else 0)
    checks: list[Json] = [
        {"name": name, "ready": reason is None, "reason": reason}
        for name, reason in sorted(reasons.items())
    ]
    await _reply(send, 200 if ready else 503, {"ready": ready, "checks": checks})


async def _reply(send: Send, status: int, body: Mapping[str, Json]) -> None:
    await _send(send, status, canonical_bytes(body), "application/json")


async def _send(send: Send, status: int, body: bytes, content_type: str) -> None:
    headers = [
        (b"content-type", content_type.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
