"""An answer that would come too late is not given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from chancery.events.queries import Identity, WhoAmI
from chancery.events.requests import Caller, Message, Request
from chancery.kernel.errors import Unavailable
from chancery.release.handlers import in_time
from chancery.release.handlers.in_time import InTime

BodyT = TypeVar("BodyT", bound=Message)
AnswerT = TypeVar("AnswerT", bound=Message)

IDENTITY = Identity(tenant="t", principal="ada", tenant_admin=False, workspaces=())
REQUEST = Request[WhoAmI](
    caller=Caller(tenant="t", principal="ada", credential_id="c", proof="a" * 64),
    route="GET /v1/x",
    idempotency_key="k",
    request_sha256="b" * 64,
    body=WhoAmI(),
)


@dataclass(slots=True)
class Registered:
    """Keeps what was registered."""

    handlers: list[Callable[[Any], Awaitable[Message]]] = field(
        default_factory=list[Callable[[Any], Awaitable[Message]]]
    )

    def responder(
        self,
        subject: str,
        body_type: type[BodyT],
        handler: Callable[[Request[BodyT]], Awaitable[AnswerT]],
    ) -> None:
        self.handlers.append(handler)


def in_time_of(handler: Callable[[Request[WhoAmI]], Awaitable[Identity]]) -> Awaitable[Message]:
    registered = Registered()
    InTime(registered).responder("query.release.identity.v1", WhoAmI, handler)
    return registered.handlers[0](REQUEST)


async def test_an_answer_in_time_is_given() -> None:
    async def answer(request: Request[WhoAmI]) -> Identity:
        assert request is REQUEST
        return IDENTITY

    assert await in_time_of(answer) == IDENTITY


async def test_what_hangs_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_time, "ANSWER_WITHIN_S", 0.01)

    async def hang(_: Request[WhoAmI]) -> Identity:
        await asyncio.get_running_loop().create_future()
        return IDENTITY

    with pytest.raises(Unavailable) as caught:
        await in_time_of(hang)

    assert caught.value.code == "answer_late"
