"""Puts the service together and runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from chancery.bus.connection import Connection
from chancery.events.topology import INGESTION_INTAKE, consumer
from chancery.ingestion.adapters.log import AuthorityLog
from chancery.ingestion.adapters.outcomes import StreamedOutcomes
from chancery.ingestion.adapters.token_file import OperatorTokenFile
from chancery.ingestion.domain.first_start import Operator
from chancery.ingestion.handlers.appending import Appender
from chancery.ingestion.handlers.execution import Executor
from chancery.ingestion.handlers.first_start import first_start, write_token
from chancery.ingestion.handlers.intake import Intake, RejectingParking
from chancery.ingestion.handlers.loading import Aggregates
from chancery.ingestion.handlers.serving import serve_commands
from chancery.ingestion.ports import Log, TokenFile
from chancery.ingestion.settings import IngestionSettings
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Unavailable
from chancery.runtime.logging import get_logger
from chancery.runtime.service import Service
from chancery.store.blobs import open_blobs

SUBMISSION_DELIVERIES_MAX: Final = 40
"""About three minutes of an outage; one submission waits for the other, to keep their order."""

_log = get_logger("chancery.ingestion")


@dataclass(slots=True)
class Beginning:
    """The first start as a part of readiness: requests are worth sending once it is done."""

    executor: Executor
    operator: Operator
    file: TokenFile
    reason: str | None = field(default="the first start is not done")

    async def run(self) -> None:
        """Make sure of the default tenant and of the operator's token file.

        Raises:
            ForeignTokenKey: the token key is not the log's.
            Unavailable: the log or the file is away.
        """
        parts = self.executor
        await first_start(parts.aggregates, parts.appender, self.operator, parts.clock)
        if await write_token(parts.aggregates, self.operator, self.file):
            _log.info("operator token written")
        self.reason = None

    async def check(self) -> str | None:
        """Return why the service is not ready."""
        return self.reason


def create_executor(connection: Connection, token_key: bytes) -> Executor:
    """Return what runs commands on the log behind `connection`."""
    log = AuthorityLog(connection)
    return Executor(log, Aggregates(log), Appender(log), SystemClock(), token_key)


async def serve(settings: IngestionSettings) -> None:
    """Run ingestion until it is told to stop.

    Raises:
        Rejected: a setting is missing.
        Unavailable: NATS or its topology is away.
    """
    token_key = settings.require_token_key()
    blobs = open_blobs(settings.require_blobs_url())
    service = Service("ingestion", settings)
    async with service.open() as opened:
        executor = create_executor(opened.connection, token_key)
        beginning = Beginning(
            executor, Operator(token_key), OperatorTokenFile(settings.operator_token_path)
        )
        service.background("first start", beginning.run)
        service.ready_check("first start", beginning.check)
        service.ready_check("log", lambda: _log_reason(executor.log))
        serve_commands(service, executor)
        intake = Intake(
            executor,
            blobs,
            StreamedOutcomes(opened.connection),
            settings.max_upload_bytes,
        )
        service.receiver(
            consumer(INGESTION_INTAKE),
            intake.receive,
            parking=RejectingParking(intake),
            workers=1,
            deliveries_max=SUBMISSION_DELIVERIES_MAX,
        )
        await service.run()


async def _log_reason(log: Log) -> str | None:
    try:
        await log.position()
    except Unavailable as error:
        return error.detail
    return None
