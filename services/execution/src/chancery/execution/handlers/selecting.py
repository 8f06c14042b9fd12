"""From gathered to proposed: select, execute what was selected, propose ids and offsets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.run import (
    ActivityRecorded,
    ProposedQuote,
    ProposedValue,
    RunAdmitted,
    RunGathered,
    RunProposed,
)
from chancery.events.topology import run_subject
from chancery.evidence.bundle import RowsRead
from chancery.execution.handlers.material import Case, PinnedTable, Reading
from chancery.execution.ports import (
    RunLog,
    Selected,
    SelectedMeasure,
    SelectedQuote,
    Selector,
    Sql,
    Statistics,
)
from chancery.kernel.clock import Clock
from chancery.kernel.errors import Rejected, Unavailable
from chancery.kernel.ids import derived_id
from chancery.runtime.delivery import Delivery
from chancery.runtime.logging import get_logger
from chancery.runtime.telemetry import current_traceparent
from chancery.store.blobs import Blobs
from chancery.tabular.engine import engine_name
from chancery.tabular.jobs import RowTable
from chancery.tabular.preview import Preview

Proposal = ProposedQuote | ProposedValue

TRANSIENT_CODES = frozenset({"sql_timeout", "sql_resources"})
"""Refusals that say more about the machine than about the statement."""

_log = get_logger("chancery.execution")


@dataclass(frozen=True, slots=True)
class Selecting:
    """Handles `run.gathered`; running it twice proposes the same."""

    log: RunLog
    blobs: Blobs
    reading: Reading
    selector: Selector
    sql: Sql
    clock: Clock

    async def __call__(self, event: Event, delivery: Delivery) -> None:
        """Propose a selection for a gathered run; a void lease is left alone.

        Raises:
            Corrupt: when the event is no gathering, or a blob does not have its form.
        """
        del delivery
        gathered = event.data
        assert isinstance(gathered, RunGathered)
        admitted = await self.log.admitted(event.tenant, gathered.run_id)
        if (admitted.generation, admitted.lease) != (gathered.generation, gathered.lease):
            return
        case = await self.reading.case(event.tenant, admitted)
        selected, activity = await self._select(case, gathered)
        # Nothing waits for what is only told.
        await asyncio.gather(
            self._record(event, "activity", activity, detail="select"),
            self._propose(event, case, gathered, selected),
        )

    async def _propose(
        self, event: Event, case: Case, gathered: RunGathered, selected: Sequence[Selected]
    ) -> None:
        proposals = [await self._proposal(event, case, item) for item in selected]
        proposed = RunProposed(
            run_id=gathered.run_id,
            generation=gathered.generation,
            lease=gathered.lease,
            selector=self.selector.name,
            selections=tuple(item for item in proposals if item is not None),
        )
        await self._record(event, "proposed", proposed)

    async def _select(
        self, case: Case, gathered: RunGathered
    ) -> tuple[Sequence[Selected], ActivityRecorded]:
        began = time.monotonic()
        measures = await self.reading.measures(case, gathered)
        question = replace(case.question, statistics=_statistics(gathered))
        async with self.reading.passages(case, gathered) as passages:
            selected = await self.selector.select(question, passages, measures)
        activity = _activity(
            gathered, "select", self.selector.name, count=len(selected), began=began
        )
        return selected, activity

    async def _proposal(self, event: Event, case: Case, selected: Selected) -> Proposal | None:
        if isinstance(selected, SelectedQuote):
            start, end = selected.span
            return ProposedQuote(
                key=selected.key,
                revision=selected.revision,
                part_id=selected.part_id,
                start=start,
                end=end,
            )
        return await self._value(event, case, selected)

    async def _value(
        self, event: Event, case: Case, selected: SelectedMeasure
    ) -> ProposedValue | None:
        """Execute the measure; one that the caller's columns do not carry is left out."""
        offered = selected.measure
        entry = case.scope.entry("dataset", offered.key)
        assert entry is not None
        assert entry.extraction_sha256 is not None
        assert entry.manifest_sha256 is not None
        began = time.monotonic()
        pinned = PinnedTable(entry, entry.extraction_sha256, entry.manifest_sha256)
        try:
            async with self.reading.tables(case.tenant, [pinned]) as (table,):
                preview, rows = await self.sql.query_with_rows(offered.card.sql, table)
        except Rejected as error:
            if error.code in TRANSIENT_CODES:
                # An answer that quietly lost its value would look complete: try the run again.
                raise Unavailable(error.detail, code=error.code) from error
            _log.info("a measure was left out", run_id=case.admitted.run_id, code=error.code)
            return None
        query_sha256, preview_sha256, rows_sha256 = await self._keep(case, preview, rows)
        activity = _activity(case.admitted, "query", "duckdb", count=len(preview.rows), began=began)
        measured = f"query {offered.key} {offered.card.name}"
        await self._record(event, "activity", activity, detail=measured)
        return ProposedValue(
            key=offered.key,
            snapshot=offered.snapshot,
            query_sha256=query_sha256,
            preview_sha256=preview_sha256,
            rows_sha256=rows_sha256,
            engine=engine_name(),
            row=0,
            column=0,
        )

    async def _keep(
        self, case: Case, preview: Preview, rows: RowTable | None
    ) -> tuple[str, str, str | None]:
        """Store what proves the value among the run's blobs; return the hashes."""
        kept = [preview.sql.encode(), preview.canonical()]
        if rows is not None:
            columns = tuple((each.name, each.duckdb_type) for each in rows.schema.columns)
            read = RowsRead(table=rows.schema.name, columns=columns, rows=rows.rows)
            kept.append(read.to_bytes())
        place = (case.tenant, case.admitted.run_id)
        # The disk writes several in the time of one.
        hashes = await asyncio.gather(*(self.blobs.put_run(*place, data) for data in kept))
        return hashes[0], hashes[1], hashes[2] if rows is not None else None

    async def _record(self, cause: Event, name: str, data: EventData, *, detail: str = "") -> None:
        place = cause.envelope.subject
        envelope = Envelope(
            id=derived_id(name, cause.tenant, cause.id, detail),
            source="/chancery/execution",
            type=data.TYPE,
            subject=place,
            time=self.clock.now(),
            tenant=cause.tenant,
            actor=cause.envelope.actor,
            causationid=cause.id,
            correlationid=cause.envelope.correlationid,
            traceparent=current_traceparent(),
        )
        subject = run_subject(cause.tenant, place, name)
        await self.log.record(subject, Event(envelope=envelope, data=data))


def _statistics(gathered: RunGathered) -> Statistics | None:
    """Return what retrieval counted; an index of an older build counted nothing."""
    if gathered.passages_total == 0:
        return None
    return Statistics(gathered.term_counts, gathered.passages_total)


def _activity(
    lease: RunGathered | RunAdmitted,
    stage: Literal["select", "query"],
    tool: str,
    *,
    count: int,
    began: float,
) -> ActivityRecorded:
    return ActivityRecorded(
        run_id=lease.run_id,
        generation=lease.generation,
        lease=lease.lease,
        stage=stage,
        tool=tool,
        count=count,
        duration_ms=round((time.monotonic() - began) * 1000),
    )
