"""What the tests send, and logs that race and lose answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from chancery.authority.names import source_ref
from chancery.bus.load import Stored
from chancery.bus.publish import Outgoing, Published, WrongSequence
from chancery.events.commands import (
    CreateWorkspace,
    DeclareSource,
    JoinGroup,
    PublishRevision,
)
from chancery.ingestion.domain import access, knowledge
from chancery.ingestion.domain.first_start import Operator
from chancery.ingestion.handlers.execution import Executor
from chancery.ingestion.handlers.first_start import first_start
from chancery.ingestion.ports import Log
from chancery.kernel.errors import Unavailable
from tests.integration.ingestion.harness import (
    TOKEN_KEY,
    Desk,
)

WORKSPACE = CreateWorkspace(workspace_id="ws", title="Works")
SOURCE = DeclareSource(workspace_id="ws", source_id="handbook", title="Handbook")
SUBJECT = source_ref("ws", "handbook").subject("default")


def revision(number: int) -> PublishRevision:
    """Return a publication of content that `number` determines."""
    return PublishRevision(
        workspace_id="ws",
        source_id="handbook",
        content_sha256=f"{number:064x}",
        media_type="text/plain",
        size_bytes=10,
    )


async def declare(desk: Desk) -> None:
    """Make the workspace and its source."""
    await desk.send(access.CREATE_WORKSPACE, WORKSPACE)
    await desk.send(knowledge.DECLARE_SOURCE, SOURCE)


async def begin(executor: Executor) -> None:
    """Start a process on the log."""
    operator = Operator(TOKEN_KEY)
    await first_start(executor.aggregates, executor.appender, operator, executor.clock)


@dataclass(slots=True)
class RacingLog:
    """A log on which the administrator's aggregate moves just before the first batch."""

    inner: Log
    desk: Desk
    refused: int = 0

    def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        return self.inner.read(subject, after)

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        if self.refused == 0:
            joined = JoinGroup(group="staff", principal="admin")
            await self.desk.send(access.JOIN_GROUP, joined)
        try:
            return await self.inner.append(messages)
        except WrongSequence:
            self.refused += 1
            raise

    async def position(self) -> int:
        return await self.inner.position()


@dataclass(slots=True)
class LossyLog:
    """A log of which the next `losses` answers to an append are lost."""

    inner: Log
    losses: int
    appends: list[int] = field(default_factory=list[int])

    def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        return self.inner.read(subject, after)

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        self.appends.append(len(messages))
        lost, self.losses = self.losses > 0, max(0, self.losses - 1)
        try:
            published = await self.inner.append(messages)
        except WrongSequence:
            if not lost:
                raise
        else:
            if not lost:
                return published
        message = "the answer was lost"
        raise Unavailable(message)

    async def position(self) -> int:
        return await self.inner.position()
