"""Conversations and messages as release holds them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chancery.events.commands import PostMessage
from chancery.events.queries import RunState
from chancery.kernel.canonical import Json


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of one principal in one workspace."""

    tenant: str
    conversation_id: str
    workspace_id: str
    principal: str
    request_sha256: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """A question as it was posted; `body` is the PostMessage in JSON."""

    conversation_id: str
    number: int
    message_id: str
    credential_id: str
    request_sha256: str
    body: Json
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class Asked:
    """One line of a conversation's view."""

    number: int
    message_id: str
    run_id: str
    requested_at: datetime
    state: RunState
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """A message to record, by whom and as of when."""

    conversation: Conversation
    credential_id: str
    request_sha256: str
    traceparent: str | None
    body: PostMessage
    now: datetime
