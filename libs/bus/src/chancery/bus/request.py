"""The asking side of request/reply: one question, one typed answer or the owner's refusal."""

from __future__ import annotations

from typing import Final, TypeVar

from pydantic import ValidationError

from chancery.bus.connection import Connection
from chancery.events.requests import Message, Request
from chancery.events.requests import reply_type as reply_of
from chancery.kernel.errors import Corrupt

TIMEOUT_S: Final = 10.0

BodyT = TypeVar("BodyT", bound=Message)
AnswerT = TypeVar("AnswerT", bound=Message)


async def ask(
    connection: Connection,
    topic_subject: str,
    request: Request[BodyT],
    reply_type: type[AnswerT],
    *,
    timeout_s: float = TIMEOUT_S,
) -> AnswerT:
    """Send `request` to the owner of `topic_subject` and return its answer.

    Raises:
        ChanceryError: what the owner raised, of the same kind and code.
        Unavailable: nobody answers now, or not in time.
        Corrupt: the answer is not a `reply_type`.
    """
    payload = request.model_dump_json().encode()
    reply = await connection.request(topic_subject, payload, timeout_s=timeout_s)
    try:
        parsed = reply_of(reply_type).model_validate_json(reply.data)
    except ValidationError as error:
        message = "the answering service sent a reply that this build cannot read"
        raise Corrupt(message, code="unreadable_reply") from error
    if parsed.failure is not None:
        raise parsed.failure.to_error()
    if parsed.body is None:
        message = "the answering service sent neither an answer nor a refusal"
        raise Corrupt(message, code="empty_reply")
    return parsed.body
