"""Seals what was proposed: steps 1 and 2 of the protocol, then the sealer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from chancery.authority.errors import ScopeTooWide
from chancery.authority.release import Pinned
from chancery.events.codec import encode
from chancery.events.envelope import Event
from chancery.events.run import RunAdmitted, RunGathered, RunProposed
from chancery.evidence.coverage import coverage
from chancery.evidence.scope import Scope
from chancery.kernel.errors import Corrupt, Rejected
from chancery.release.domain.drafts import Draft, Ground, draft_answer, draft_refusal, ground_of
from chancery.release.domain.fixed_names import SELECTORS
from chancery.release.domain.runs import Run
from chancery.release.domain.selection import (
    Selected,
    check_bounds,
    entries_used,
    gathered_pins,
    is_selection_error,
    select,
    with_selected,
)
from chancery.release.errors import InvalidSelection, OtherBuild
from chancery.release.handlers.ending import Ending, plain_refusal
from chancery.release.handlers.run_events import RunEvents, data_of, traced
from chancery.release.ports.position import Position
from chancery.release.ports.stores import EvidenceStore, RunStore
from chancery.runtime import telemetry
from chancery.runtime.delivery import Delivery
from chancery.runtime.logging import get_logger
from chancery.tabular.engine import engine_name

_log = get_logger("chancery.release")


@dataclass(frozen=True, slots=True)
class SealRun:
    """Handler of `proposed`."""

    runs: RunStore
    stages: RunEvents
    evidence: EvidenceStore
    ending: Ending
    index: Position

    async def __call__(self, event: Event, _: Delivery) -> None:
        """Seal the answer or the refusal; an ended run or a void lease changes nothing."""
        data = data_of(event, RunProposed)
        run = await self.runs.read(event.tenant, data.run_id)
        if run is None or not run.holds(data.generation, data.lease):
            return
        run = traced(await self.stages.with_gathered(run))
        with telemetry.span(telemetry.SEAL, ids={"run_id": run.run_id}):
            keep = self.runs.keep_proposed(run, data.generation, data.lease, encode(event))
            kept, (draft, ground) = await asyncio.gather(keep, self._prepare(run, data))
            if kept or await self._is_first(run, data):
                await self.ending.finish(draft, ground)

    async def _is_first(self, run: Run, data: RunProposed) -> bool:
        """Tell whether this is the proposal that the run holds: a repeat, not a second opinion."""
        found = await self.runs.read(run.tenant, run.run_id)
        return found is not None and found.proposal() == data

    async def _prepare(self, run: Run, data: RunProposed) -> tuple[Draft, Ground]:
        admitted, gathered = run.admission(), run.gathering()
        if admitted is None or gathered is None:
            message = "a run has a proposal but no admission"
            raise Corrupt(message, code="run_damaged")
        scope = await self.evidence.scope(run.tenant, run.run_id, admitted.scope_sha256)
        pins, is_sound = _pins(scope, gathered)
        if admitted.selected:
            pins = with_selected(pins, scope)
        searched = min(gathered.index_position, max(admitted.index_sequence, self.index.sequence))
        gathered = gathered.model_copy(update={"index_position": searched})
        selector = data.selector if data.selector in SELECTORS else None
        ground = _ground(run, admitted, scope, gathered, pins=pins, selector=selector)
        if selector is None:
            return _refusal(run, ground, "unknown_selector"), ground
        try:
            if not is_sound or not data.selections:
                return _refusal(run, ground), ground
            selected = await self._select(run, data, scope, gathered, pins=pins)
            return draft_answer(run, ground, selected), ground
        except ScopeTooWide:
            return plain_refusal(run, ground, "scope_too_wide"), ground
        except OtherBuild as error:
            # The evidence may well suffice; asked again when all run one build, it is answered.
            _log.warning("a proposal of another build", run_id=run.run_id, code=error.code)
            return plain_refusal(run, ground, "unavailable", error.code), ground
        except Rejected as error:
            if not is_selection_error(error):
                raise
            _log.info("selection refused", run_id=run.run_id, code=error.code)
            return _refusal(run, ground, error.code), ground

    async def _select(
        self,
        run: Run,
        data: RunProposed,
        scope: Scope,
        gathered: RunGathered,
        *,
        pins: tuple[Pinned, ...],
    ) -> Selected:
        # Step 1. What gathered and proposed say is compared, never believed.
        used = list(entries_used(scope, gathered, data.selections))
        check_bounds(run.bounds, used)
        loaded = await self.evidence.load(run.tenant, run.run_id, used)
        work = partial(
            select,
            run.tenant,
            used,
            loaded,
            gathered=pins,
            engine=engine_name(),
        )
        # Only the SQL gate is slow enough for a thread.
        return await asyncio.to_thread(work) if loaded.queries else work()


def _refusal(run: Run, ground: Ground, code: str | None = None) -> Draft:
    try:
        return draft_refusal(run, ground, "insufficient_evidence", code)
    except ScopeTooWide:
        return plain_refusal(run, ground, "scope_too_wide")


def _pins(scope: Scope, gathered: RunGathered) -> tuple[tuple[Pinned, ...], bool]:
    try:
        return gathered_pins(scope, gathered), True
    except InvalidSelection:
        return (), False


def _ground(
    run: Run,
    admitted: RunAdmitted,
    scope: Scope,
    gathered: RunGathered,
    *,
    pins: tuple[Pinned, ...],
    selector: str | None,
) -> Ground:
    report = coverage(
        scope.entries,
        index_position=gathered.index_position,
        unconfirmed=frozenset(gathered.unconfirmed),
    )
    return ground_of(
        run,
        admitted,
        coverage=report,
        index_position=gathered.index_position,
        pinned=pins,
        selector=selector,
    )
