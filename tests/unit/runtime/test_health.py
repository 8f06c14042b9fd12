"""Readiness: green only when every check is, red with reasons, and never stuck on one of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from chancery.kernel.errors import Unavailable
from chancery.runtime.health import Readiness, ReadyCheck, management_application
from chancery.runtime.metrics import create_metrics


async def fine() -> str | None:
    return None


async def behind() -> str | None:
    return "12 events behind"


async def away() -> str | None:
    message = "the database is away"
    raise Unavailable(message)


async def buggy() -> str | None:
    raise ValueError("secret")


async def hanging() -> str | None:
    await asyncio.Event().wait()
    return None


async def ask(path: str, **checks: ReadyCheck) -> tuple[int, bytes]:
    """Return status and body of a GET."""
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {}

    application = management_application(Readiness(dict(checks)), create_metrics())
    await application({"type": "http", "method": "GET", "path": path}, receive, send)
    return sent[0]["status"], sent[1]["body"]


async def test_ready_when_all_checks_are_well() -> None:
    status, body = await ask("/readyz", one=fine, two=fine)

    assert status == 200
    assert json.loads(body)["ready"] is True


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (behind, "12 events behind"),
        (away, "the database is away"),
        (buggy, "the check failed"),
        (hanging, "it did not answer in time"),
    ],
)
async def test_one_bad_check_is_red_with_its_reason(
    check: ReadyCheck, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chancery.runtime.health.CHECK_TIMEOUT_S", 0.05)

    status, body = await ask("/readyz", good=fine, bad=check)

    assert status == 503
    assert json.loads(body) == {
        "ready": False,
        "checks": [
            {"name": "bad", "ready": False, "reason": reason},
            {"name": "good", "ready": True, "reason": None},
        ],
    }


async def test_alive_does_not_depend_on_checks() -> None:
    assert (await ask("/healthz", bad=behind))[0] == 200


async def test_metrics_are_in_the_text_format() -> None:
    status, body = await ask("/metrics")

    assert status == 200
    assert b"# TYPE chancery_messages_handled_total counter" in body
