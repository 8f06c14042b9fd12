"""Conversations and messages in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import asyncpg

from chancery.kernel.ids import derived_id
from chancery.release.domain.conversations import Asked, Conversation, Message, Posting
from chancery.release.errors import KeyReused, UnstorableText
from chancery.store.pool import Pool, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_INSERT_CONVERSATION = _QUERIES["insert_conversation"]
_READ_CONVERSATION = _QUERIES["read_conversation"]
_READ_MESSAGE = _QUERIES["read_message_of_run"]
_READ_MESSAGES = _QUERIES["read_messages"]
_INSERT_MESSAGE = _QUERIES["insert_message"]


@dataclass(frozen=True, slots=True)
class Conversations:
    """Opens conversations and records questions, each once per idempotency key."""

    pool: Pool

    async def create(
        self, tenant: str, conversation_id: str, workspace_id: str, principal: str, *, sha256: str
    ) -> Conversation:
        """Return the conversation of this id, which is new or was opened by the same request.

        Raises:
            KeyReused: another request opened it.
        """
        with translate_errors():
            await self.pool.execute(
                _INSERT_CONVERSATION, tenant, conversation_id, workspace_id, principal, sha256
            )
        found = await self.read(tenant, conversation_id)
        if found is None or found.request_sha256 != sha256 or found.principal != principal:
            raise _reused()
        return found

    async def read(self, tenant: str, conversation_id: str) -> Conversation | None:
        """Return a conversation, or None."""
        with translate_errors():
            row = await self.pool.fetchrow(_READ_CONVERSATION, tenant, conversation_id)
        if row is None:
            return None
        return Conversation(
            tenant,
            conversation_id,
            row["workspace_id"],
            row["principal"],
            row["request_sha256"],
            row["created_at"],
        )

    async def message_of(self, tenant: str, run_id: str) -> Message | None:
        """Return the message that asked a run's question."""
        with translate_errors():
            row = await self.pool.fetchrow(_READ_MESSAGE, tenant, run_id)
        return None if row is None else Message(**dict(row))

    async def messages(self, tenant: str, conversation_id: str) -> tuple[Asked, ...]:
        """Return the messages of a conversation in order."""
        with translate_errors():
            rows = await self.pool.fetch(_READ_MESSAGES, tenant, conversation_id)
        return tuple(Asked(**dict(row)) for row in rows)

    async def post(self, posting: Posting) -> Message:
        """Record a question and its run, or return what the same request recorded before.

        Raises:
            KeyReused: another request used the key.
            UnstorableText: the database does not take a text of it.
        """
        with translate_errors():
            try:
                return await _insert(self.pool, posting)
            except asyncpg.UniqueViolationError:
                found = await self.message_of(posting.conversation.tenant, posting.body.run_id)
            except asyncpg.DataError as error:
                message = (
                    "the message holds text that cannot be stored, such as a NUL; leave it out"
                )
                raise UnstorableText(message) from error
        if found is None or not _is_repeat(found, posting):
            raise _reused()
        return found


def _is_repeat(found: Message, posting: Posting) -> bool:
    same = found.request_sha256 == posting.request_sha256
    return same and found.conversation_id == posting.conversation.conversation_id


async def _insert(pool: Pool, posting: Posting) -> Message:
    conversation, body = posting.conversation, posting.body
    message_id = derived_id("message", conversation.tenant, body.run_id)
    fields = body.model_dump(mode="json")
    number: int = await pool.fetchval(
        _INSERT_MESSAGE,
        conversation.tenant,
        conversation.conversation_id,
        message_id,
        body.run_id,
        posting.credential_id,
        posting.request_sha256,
        fields,
        posting.now,
        conversation.workspace_id,
        conversation.principal,
        posting.now + timedelta(seconds=body.bounds.max_duration_s),
        body.mode,
        body.bounds.model_dump(mode="json"),
        body.question_sha256,
        posting.traceparent,
    )
    return Message(
        conversation_id=conversation.conversation_id,
        number=number,
        message_id=message_id,
        credential_id=posting.credential_id,
        request_sha256=posting.request_sha256,
        body=fields,
        requested_at=posting.now,
    )


def _reused() -> KeyReused:
    message = "the Idempotency-Key was used before with another request; choose a new key"
    return KeyReused(message, field="Idempotency-Key")
