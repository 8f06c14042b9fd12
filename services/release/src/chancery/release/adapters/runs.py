"""Runs in PostgreSQL: each move of a run is one statement that happens once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from datetime import timedelta
from itertools import starmap
from typing import Any, Final, TypeAlias

import asyncpg
from pydantic import ValidationError

from chancery.events.run import Bounds
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Corrupt
from chancery.release.adapters.batches import Batches
from chancery.release.domain.runs import (
    EventRecord,
    Generation,
    LockedRun,
    Overdue,
    Retry,
    Run,
    Told,
)
from chancery.release.errors import RunStillOpen
from chancery.store.pool import Connection, Pool, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_RUNS = _QUERIES["read_runs"]
_LOCK_RUNS = _QUERIES["lock_runs"]
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
_Name: TypeAlias = tuple[str, str]
"""Tenant and run id."""

RUN_FIELDS: Final = tuple(each.name for each in fields_of(Run))
_EVENT_COLUMNS = ("numbers", "generations", "kinds", "bodies", "ciphertexts")


@dataclass(frozen=True, slots=True)
class _Proposed:
    run: Run
    generation: int
    lease: str
    payload: bytes


@dataclass(slots=True)
class Runs:
    """The runs of all tenants; every call names the tenant.

    What many stages do at the same time is asked of the database together.
    """

    pool: Pool
    _reading: Batches[_Name, asyncpg.Record | None] = field(init=False)
    _proposing: Batches[_Proposed, bool] = field(init=False)

    def __post_init__(self) -> None:
        """Share what is asked at the same time."""
        self._reading = Batches(self._read)
        self._proposing = Batches(self._keep_proposed)

    async def read(self, tenant: str, run_id: str) -> Run | None:
        """Return a run, or None."""
        row = await self._reading.ask((tenant, run_id))
        return None if row is None else run_of(dict(row))

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
        return await self._proposing.ask(_Proposed(run, generation, lease, payload))

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
        return Told(
            run_of({"tenant": tenant, **fields}),
            tuple(starmap(EventRecord, zip(*columns, strict=True))),
        )

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

    async def _read(self, names: Sequence[_Name]) -> Sequence[asyncpg.Record | None]:
        found = await _fetch(self.pool, _READ_RUNS, names)
        return [found.get(name) for name in names]

    async def _keep_proposed(self, asked: Sequence[_Proposed]) -> Sequence[bool]:
        # Locks are taken in one order, as sealing takes them.
        ordered = sorted(asked, key=lambda each: (each.run.tenant, each.run.run_id))
        with translate_errors():
            rows = await self.pool.fetch(
                _KEEP_PROPOSED,
                [each.run.tenant for each in ordered],
                [each.run.run_id for each in ordered],
                [each.generation for each in ordered],
                [each.lease for each in ordered],
                [each.payload for each in ordered],
            )
        # Of two proposals for one run at the same time one was kept.
        kept = {(row["tenant"], row["run_id"]): row["proposed"] for row in rows}
        return [kept.get((each.run.tenant, each.run.run_id)) == each.payload for each in asked]


async def lock_runs(connection: Connection, runs: Sequence[Run]) -> list[LockedRun | None]:
    """Return what runs are now and hold them until the transaction ends."""
    names = [(run.tenant, run.run_id) for run in runs]
    found = await _fetch(connection, _LOCK_RUNS, sorted(set(names)))
    return [_locked(found.get(name)) for name in names]


def _locked(row: asyncpg.Record | None) -> LockedRun | None:
    if row is None:
        return None
    return LockedRun(row["state"], row["generation"], row["lease"], row["events"], row["is_open"])


async def _fetch(
    connection: Pool | Connection, query: str, names: Sequence[_Name]
) -> Mapping[_Name, asyncpg.Record]:
    with translate_errors():
        rows = await connection.fetch(
            query, [tenant for tenant, _ in names], [run_id for _, run_id in names]
        )
    return {(row["tenant"], row["run_id"]): row for row in rows}


def run_of(fields: dict[str, Any]) -> Run:
    """Return the run of a row that has its fields and no others."""
    try:
        fields["bounds"] = Bounds.model_validate(fields["bounds"])
    except ValidationError as error:
        message = "a stored run is malformed"
        raise Corrupt(message, code="run_damaged") from error
    return Run(**fields)
