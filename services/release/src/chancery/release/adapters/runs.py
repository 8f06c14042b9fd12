"""Runs in PostgreSQL: each move of a run is one statement that happens once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import starmap
from typing import Any

import asyncpg
from pydantic import ValidationError

from chancery.events.run import Bounds
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Corrupt
from chancery.release.domain.runs import EventRecord, Generation, Overdue, Retry, Run, Told
from chancery.release.errors import RunStillOpen
from chancery.store.pool import Connection, Pool, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_RUN = _QUERIES["read_run"]
_LOCK_RUN = _QUERIES["lock_run"]
_READ_RETRY = _QUERIES["read_retry"]
_RETRY_RUN = _QUERIES["retry_run"]
_ADMIT_RUN = _QUERIES["admit_run"]
_KEEP_GATHERED = _QUERIES["keep_gathered"]
_KEEP_PROPOSED = _QUERIES["keep_proposed"]
_RECORD_ACTIVITY = _QUERIES["record_activity"]
_READ_RUN_WITH_EVENTS = _QUERIES["read_run_with_events"]
_READ_OVERDUE = _QUERIES["read_overdue_runs"]
_READ_NEXT_DEADLINE = _QUERIES["read_next_deadline"]

OVERDUE_MAX = 100
_EVENT_COLUMNS = ("numbers", "generations", "kinds", "bodies", "ciphertexts")


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of all tenants; every call names the tenant."""

    pool: Pool

    async def read(self, tenant: str, run_id: str) -> Run | None:
        """Return a run, or None."""
        with translate_errors():
            row = await self.pool.fetchrow(_READ_RUN, tenant, run_id)
        return None if row is None else _run(tenant, dict(row))

    async def admit(self, run: Run, *, lease: str, admitted: bytes, policy_sha256: str) -> bool:
        """Give a requested run its lease and scope; False when it has moved on."""
        with translate_errors():
            moved: bool = await self.pool.fetchval(
                _ADMIT_RUN, run.tenant, run.run_id, lease, admitted, policy_sha256, run.generation
            )
        return moved

    async def keep_gathered(
        self, tenant: str, run_id: str, *, generation: int, lease: str, payload: bytes
    ) -> bool:
        """Store what was gathered; False when the run is not in that state under that lease."""
        with translate_errors():
            moved: bool = await self.pool.fetchval(
                _KEEP_GATHERED, tenant, run_id, generation, lease, payload
            )
        return moved

    async def keep_proposed(self, run: Run, generation: int, lease: str, payload: bytes) -> bool:
        """Store what was proposed; False when the run is not in that state under that lease."""
        with translate_errors():
            moved: bool = await self.pool.fetchval(
                _KEEP_PROPOSED, run.tenant, run.run_id, generation, lease, payload
            )
        return moved

    async def record_activity(
        self, tenant: str, run_id: str, *, generation: int, lease: str, body: Json, event_id: str
    ) -> bool:
        """Add an event row for an activity, once; False when it was told or the lease is void."""
        with translate_errors():
            told: bool = await self.pool.fetchval(
                _RECORD_ACTIVITY, tenant, run_id, generation, lease, body, event_id
            )
        return told

    async def read_told(self, tenant: str, run_id: str, after: int, limit: int) -> Told | None:
        """Return a run with its event rows behind `after`; a place ahead of it is its beginning."""
        with translate_errors():
            row = await self.pool.fetchrow(_READ_RUN_WITH_EVENTS, tenant, run_id, after, limit)
        if row is None:
            return None
        fields = dict(row)
        columns = [fields.pop(name) or () for name in _EVENT_COLUMNS]
        return Told(_run(tenant, fields), tuple(starmap(EventRecord, zip(*columns, strict=True))))

    async def begun(self, run: Run, request_id: str) -> Generation | None:
        """Return the generation that a request began, or None."""
        with translate_errors():
            row = await self.pool.fetchrow(_READ_RETRY, run.tenant, run.run_id, request_id)
        return None if row is None else Generation(**dict(row))

    async def retry(self, run: Run, wish: Retry) -> Generation:
        """Begin the generation after the run's, once per request.

        Raises:
            RunStillOpen: the run has not ended, or another request was first.
        """
        with translate_errors():
            try:
                moved: bool = await self.pool.fetchval(
                    _RETRY_RUN,
                    run.tenant,
                    run.run_id,
                    run.generation,
                    wish.request_id,
                    wish.credential_id,
                    wish.now,
                    wish.now + timedelta(seconds=run.bounds.max_duration_s),
                    wish.traceparent,
                )
            except asyncpg.UniqueViolationError:
                moved = False
        found = await self.begun(run, wish.request_id)
        if found is None:
            assert not moved
            message = "the run has not ended yet; wait for it, or cancel it"
            raise RunStillOpen(message)
        return found

    async def overdue(self) -> list[Overdue]:
        """Return the open generations whose deadline has passed, oldest first."""
        with translate_errors():
            rows = await self.pool.fetch(_READ_OVERDUE, OVERDUE_MAX)
        return [Overdue(**dict(row)) for row in rows]

    async def next_deadline_s(self) -> float | None:
        """Return the seconds until the next open run is overdue, None when none is open."""
        with translate_errors():
            seconds: float | None = await self.pool.fetchval(_READ_NEXT_DEADLINE)
        return seconds


async def lock_run(connection: Connection, tenant: str, run_id: str) -> Run | None:
    """Return a run and hold it until the transaction ends."""
    row = await connection.fetchrow(_LOCK_RUN, tenant, run_id)
    return None if row is None else _run(tenant, dict(row))


def _run(tenant: str, fields: dict[str, Any]) -> Run:
    try:
        fields["bounds"] = Bounds.model_validate(fields["bounds"])
    except ValidationError as error:
        message = "a stored run is malformed"
        raise Corrupt(message, code="run_damaged") from error
    return Run(tenant=tenant, **fields)
