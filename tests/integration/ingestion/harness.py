"""A caller of commands over a real log, without the request subjects between."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from chancery.authority.rights import DEFAULT_TENANT
from chancery.authority.tokens import proof_of, secret_for
from chancery.bus.connection import Connection, connect
from chancery.bus.load import Stored, last_sequence, read_subject
from chancery.events.commands import CredentialIssuedOutcome
from chancery.events.requests import Caller, Message, Request
from chancery.events.topology import AUTHORITY
from chancery.ingestion.adapters.log import AuthorityLog
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.first_start import CREDENTIAL_ID, OPERATOR, Operator
from chancery.ingestion.handlers.appending import Appender
from chancery.ingestion.handlers.execution import Executor
from chancery.ingestion.handlers.first_start import first_start
from chancery.ingestion.handlers.loading import Aggregates
from chancery.ingestion.ports import Log
from chancery.kernel.canonical import canonical_hash
from chancery.kernel.clock import SystemClock
from chancery.kernel.ids import random_id

B = TypeVar("B", bound=Message)
R = TypeVar("R", bound=Message)

TOKEN_KEY = b"token key of the tests, 32 bytes."


def caller_of(issued: CredentialIssuedOutcome) -> Caller:
    """Return the caller that an issued credential makes."""
    return Caller(
        tenant=issued.tenant,
        principal=issued.principal,
        credential_id=issued.credential_id,
        proof=proof_of(secret_for(TOKEN_KEY, issued.credential_id)),
    )


ADMIN = Caller(
    tenant=DEFAULT_TENANT,
    principal=OPERATOR,
    credential_id=CREDENTIAL_ID,
    proof=proof_of(secret_for(TOKEN_KEY, CREDENTIAL_ID)),
)


def new_executor(log: Log) -> Executor:
    """Return what a freshly started process runs commands with."""
    return Executor(log, Aggregates(log), Appender(log), SystemClock(), TOKEN_KEY)


@dataclass(slots=True)
class Desk:
    """Sends commands as `caller`, each under a key of its own unless one is named."""

    connection: Connection
    executor: Executor
    caller: Caller = field(default=ADMIN)

    async def send(
        self,
        command: Command[B, R],
        body: B,
        *,
        key: str | None = None,
        caller: Caller | None = None,
        route: str | None = None,
    ) -> R:
        """Run one command and return what is told of it."""
        request = Request[B](
            caller=caller or self.caller,
            route=route or command.subject,
            idempotency_key=key or random_id(),
            request_sha256=canonical_hash(body.model_dump(mode="json")),
            body=body,
        )
        return await self.executor.execute(command, request)

    async def stored(self, subject: str) -> list[Stored]:
        """Return everything on a subject."""
        return [each async for each in read_subject(self.connection, AUTHORITY, subject)]

    async def position(self) -> int:
        """Return the log's last sequence."""
        return (await last_sequence(self.connection, AUTHORITY)).last

    def restarted(self) -> Desk:
        """Return the same caller at a process that remembers nothing."""
        return Desk(self.connection, new_executor(AuthorityLog(self.connection)), self.caller)


@asynccontextmanager
async def open_desk(nats_url: str) -> AsyncGenerator[Desk]:
    """Yield a desk on a provisioned log after the first start."""
    async with connect(nats_url, name="test") as connection:
        executor = new_executor(AuthorityLog(connection))
        await first_start(
            executor.aggregates, executor.appender, Operator(TOKEN_KEY), executor.clock
        )
        yield Desk(connection, executor)
