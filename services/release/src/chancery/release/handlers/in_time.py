"""Answers in time: whatever hangs, a caller is told before giving up, and nothing is told late."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from chancery.events.requests import Message, Request
from chancery.kernel.errors import Unavailable
from chancery.release.ports import Responders

ANSWER_WITHIN_S = 4.0
"""Less than the gateway waits for an answer."""

_BodyT = TypeVar("_BodyT", bound=Message)
_AnswerT = TypeVar("_AnswerT", bound=Message)


@dataclass(frozen=True, slots=True)
class InTime:
    """Registers each handler with a deadline of its own."""

    service: Responders

    def responder(
        self,
        subject: str,
        body_type: type[_BodyT],
        handler: Callable[[Request[_BodyT]], Awaitable[_AnswerT]],
    ) -> None:
        """Answer the requests on `subject`, each in time or with `Unavailable`."""

        async def answer(request: Request[_BodyT]) -> _AnswerT:
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    return await handler(request)
            except TimeoutError as error:
                message = "the log or the database did not answer in time; retry in a moment"
                raise Unavailable(message, code="answer_late") from error

        self.service.responder(subject, body_type, answer)
