"""An admitted run: search what release admitted, and say by id and offset what was found."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from chancery.events.envelope import Envelope, Event
from chancery.events.run import RunAdmitted, RunGathered
from chancery.evidence.scope import Scope
from chancery.kernel.clock import Clock
from chancery.kernel.errors import Corrupt
from chancery.kernel.ids import derived_id
from chancery.retrieval.domain.gathering import (
    HITS_MAX,
    counted_terms,
    gather_measures,
    gather_passages,
    hidden_measures,
    pins_of,
    searched_kinds,
)
from chancery.retrieval.errors import IndexBroken
from chancery.retrieval.handlers.following import FRESHNESS_WAIT_S, Following
from chancery.retrieval.ports import RunLog
from chancery.runtime.telemetry import current_traceparent
from chancery.store.blobs import Blobs

SOURCE = "/chancery/retrieval"
"""The CloudEvents source of our events."""

QUESTION_BYTES_MAX = 64 * 1024
SCOPE_BYTES_MAX = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Gathering:
    """Answers `admitted` with `gathered`; a second delivery says the same once."""

    following: Following
    runs: RunLog
    blobs: Blobs
    clock: Clock

    async def handle(self, event: Event, *, attempt: int) -> None:
        """Gather for the run of `event`, unless an earlier attempt did.

        Raises:
            Rejected, Corrupt: question or scope are missing or altered.
            Unavailable: try again.
        """
        data = event.data
        if not isinstance(data, RunAdmitted):
            message = "only admitted runs are gathered for"
            raise Corrupt(message, code="unexpected_event")
        envelope = self._envelope(event, data)
        if attempt > 1 and await self.runs.has(data.run_id, envelope):
            return
        question, scope = await self._inputs(event.tenant, data)
        position = await self.following.reached(
            event.tenant, data.index_sequence, within_s=FRESHNESS_WAIT_S
        )
        gathered = await asyncio.to_thread(
            self._search, event.tenant, data, question, scope, position=position
        )
        await self.runs.append(data.run_id, Event(envelope=envelope, data=gathered))

    async def _inputs(self, tenant: str, data: RunAdmitted) -> tuple[str, Scope]:
        run_id = data.run_id
        question, scope = await asyncio.gather(
            self.blobs.get_run(tenant, run_id, data.question_sha256, limit=QUESTION_BYTES_MAX),
            self.blobs.get_run(tenant, run_id, data.scope_sha256, limit=SCOPE_BYTES_MAX),
        )
        try:
            return question.decode(), Scope.from_bytes(scope)
        except UnicodeDecodeError as error:
            message = "the question is not UTF-8"
            raise Corrupt(message, code="invalid_utf8") from error

    def _search(
        self, tenant: str, data: RunAdmitted, question: str, scope: Scope, *, position: int
    ) -> RunGathered:
        pins = {pin.number: pin for pin in pins_of(scope)}
        documents = {number: pin for number, pin in pins.items() if pin.ref.kind != "dataset"}
        datasets = {number: pin for number, pin in pins.items() if pin.ref.kind == "dataset"}
        hidden = hidden_measures(scope)
        keys = {pin.ref.key: number for number, pin in datasets.items()}
        out = [(keys[key], name) for key, name in sorted(hidden) if key in keys]
        searched = self.following.index.within(tenant, pins, out)
        try:
            hits = {
                kind: searched.search(question, kind=kind, limit=HITS_MAX)
                for kind in searched_kinds(data.mode)
            }
            counts, total = searched.statistics(counted_terms(question))
        except IndexBroken:
            self.following.report_broken(tenant)
            raise
        return RunGathered(
            run_id=data.run_id,
            generation=data.generation,
            lease=data.lease,
            passages=gather_passages(hits.get("passage", ()), documents, data.bounds.max_sources),
            measures=gather_measures(hits.get("measure", ()), datasets, hidden),
            term_counts=counts,
            passages_total=total,
            index_position=position,
            unconfirmed=tuple(sorted(pins[number].ref.key for number in searched.unconfirmed)),
        )

    def _envelope(self, event: Event, data: RunAdmitted) -> Envelope:
        return Envelope(
            id=derived_id("gathered", event.tenant, data.run_id, str(data.generation), data.lease),
            source=SOURCE,
            type=RunGathered.TYPE,
            subject=data.run_id,
            time=self.clock.now(),
            tenant=event.tenant,
            actor=event.envelope.actor,
            causationid=event.id,
            correlationid=event.envelope.correlationid,
            traceparent=current_traceparent() or event.envelope.traceparent,
        )
