"""What is kept of every request under /v1: how long it took, and a line when it was refused.

The line names the trace, the route, the code and who called; never a path, a header or a body.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry, Histogram
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chancery.events.requests import Caller
from chancery.runtime.logging import describe, get_logger
from chancery.runtime.metrics import SECONDS_BUCKETS

UNKNOWN_ROUTE: Final = "unknown"
HUNG_UP: Final = "hung up"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SIGHT: Final = "sight"
_REFUSED_FROM, _FAILED_FROM = 400, 500

_log = get_logger("chancery.gateway")


@dataclass(slots=True)
class Sight:
    """What is seen of one request while it is served; the caller is who the credential claims."""

    method: str
    route: str
    caller: Caller | None = None
    status: int | None = None
    code: str | None = None
    failure: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Watch:
    """Watches requests; labels are templates of routes, so that no id becomes a label."""

    templates: tuple[tuple[re.Pattern[str], str], ...]
    seconds: Histogram

    async def follow(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request by `app` and keep what is seen of it."""
        method = scope["method"] if scope["method"] in _METHODS else "other"
        sight = Sight(method, self._template(scope["path"]))
        scope.setdefault("state", {})[_SIGHT] = sight
        started = perf_counter()

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                sight.status = int(message["status"])
            await send(message)

        try:
            await app(scope, receive, noting)
        except Exception as error:
            sight.failure = describe(error)
            raise
        finally:
            status = HUNG_UP if sight.status is None else str(sight.status)
            taken = perf_counter() - started
            self.seconds.labels(sight.method, sight.route, status).observe(taken)
            _tell(sight)

    def _template(self, path: str) -> str:
        found = (template for pattern, template in self.templates if pattern.match(path))
        return next(found, UNKNOWN_ROUTE)


def create_watch(routes: Iterable[BaseRoute], registry: CollectorRegistry) -> Watch:
    """Return a watch over `routes` whose numbers stand in `registry`."""
    templates = {each.path_format: each.path_regex for each in routes if isinstance(each, APIRoute)}
    seconds = Histogram(
        "chancery_http_request_seconds",
        "Time to answer one HTTP request, by route and status; its count counts them.",
        ("method", "route", "status"),
        registry=registry,
        buckets=SECONDS_BUCKETS,
    )
    return Watch(tuple((regex, path) for path, regex in templates.items()), seconds)


def sight_of(scope: Scope) -> Sight | None:
    """Return what is seen of the request of `scope`, None when nobody watches it."""
    found = scope.get("state", {}).get(_SIGHT)
    return found if isinstance(found, Sight) else None


def _tell(sight: Sight) -> None:
    """Write the line of a request that was refused or failed."""
    status = sight.status or 0
    if status < _REFUSED_FROM and not sight.failure:
        return
    fields: dict[str, object] = {
        "method": sight.method,
        "route": sight.route,
        "status": sight.status,
        "code": sight.code,
        "tenant": None if sight.caller is None else sight.caller.tenant,
        "principal": None if sight.caller is None else sight.caller.principal,
        **sight.failure,
    }
    if status >= _FAILED_FROM or sight.failure:
        _log.error("request failed", **fields)
    else:
        _log.info("request refused", **fields)
