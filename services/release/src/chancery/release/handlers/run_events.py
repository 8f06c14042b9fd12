"""What arrives from the other stages of a run, except the two that decide: stored and told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from chancery.bus.connection import Connection as Bus
from chancery.bus.load import last_message
from chancery.events.codec import decode, encode
from chancery.events.envelope import Event, EventData
from chancery.events.run import ActivityRecorded, RunCancelled, RunGathered
from chancery.events.topology import RUNS, run_subject
from chancery.kernel.errors import Unavailable
from chancery.release.domain.fixed_names import is_tellable
from chancery.release.domain.runs import Run
from chancery.release.errors import RunVoid
from chancery.release.handlers.ending import Ending
from chancery.release.handlers.sealer import nudge
from chancery.release.ports.stores import RunStore
from chancery.runtime import telemetry
from chancery.runtime.delivery import Delivery

_D = TypeVar("_D", bound=EventData)


@dataclass(frozen=True, slots=True)
class RunEvents:
    """Handlers of `gathered`, `activity` and `cancelled`."""

    bus: Bus
    runs: RunStore
    ending: Ending

    async def gathered(self, event: Event, _: Delivery) -> None:
        """Store what was gathered, as the read set will hold it."""
        data = data_of(event, RunGathered)
        if await self._keep(event.tenant, data, encode(event)):
            await nudge(self.bus, event.tenant, data.run_id)

    async def activity(self, event: Event, _: Delivery) -> None:
        """Tell the caller that a stage did something."""
        data = data_of(event, ActivityRecorded)
        if not is_tellable(data):
            message = "an activity is not one of the fixed ones"
            raise RunVoid(message, code="activity_unknown")
        told = await self.runs.record_activity(
            event.tenant,
            data.run_id,
            generation=data.generation,
            lease=data.lease,
            body={
                "stage": data.stage,
                "tool": data.tool,
                "count": data.count,
                "duration_ms": data.duration_ms,
                "event_id": event.id,
            },
            event_id=event.id,
        )
        if told:
            await nudge(self.bus, event.tenant, data.run_id)

    async def cancelled(self, event: Event, delivery: Delivery) -> None:
        """End a generation that its caller gave up: refused as unavailable, later stages are void.

        A cancellation that comes again when the run is in a later generation changes nothing.
        """
        data = data_of(event, RunCancelled)
        run = await self.runs.read(event.tenant, data.run_id)
        if run is None or not run.is_open:
            return
        if event.envelope.actor != run.principal:
            message = "only the one who asked may cancel a run"
            raise RunVoid(message)
        if await self._is_meant(run, data, delivery):
            await self.ending.give_up(run, "unavailable", "cancelled")

    async def _is_meant(self, run: Run, data: RunCancelled, delivery: Delivery) -> bool:
        """Tell whether a cancellation is of the run's generation, by what it says or its place."""
        if data.generation is not None:
            return data.generation == run.generation
        subject = run_subject(run.tenant, run.run_id, "requested")
        requested = await last_message(self.bus, RUNS, subject)
        return requested is None or requested.sequence < delivery.sequence

    async def with_gathered(self, run: Run) -> Run:
        """Return the run with what was gathered, from the stream when it is still on its way.

        Raises:
            Unavailable: it is not there; try again.
        """
        if run.gathered is not None:
            return run
        subject = run_subject(run.tenant, run.run_id, "gathered")
        stored = await last_message(self.bus, RUNS, subject)
        event = None if stored is None else decode(stored.payload)
        data = None if event is None else event.data
        if (
            event is None
            or not isinstance(data, RunGathered)
            or not run.holds(data.generation, data.lease)
        ):
            message = "what the run gathered has not arrived"
            raise Unavailable(message, code="gathered_missing")
        await self._keep(run.tenant, data, encode(event))
        found = await self.runs.read(run.tenant, run.run_id)
        if found is None or found.gathered is None:
            message = "what the run gathered could not be stored"
            raise Unavailable(message, code="gathered_missing")
        return found

    async def _keep(self, tenant: str, data: RunGathered, payload: bytes) -> bool:
        return await self.runs.keep_gathered(
            tenant, data.run_id, generation=data.generation, lease=data.lease, payload=payload
        )


def data_of(event: Event, kind: type[_D]) -> _D:
    """Return the event's data; another kind on this subject is a forgery or a bug.

    Raises:
        RunVoid: it is of another kind.
    """
    if not isinstance(event.data, kind):
        message = "an event of another kind arrived on a run's subject"
        raise RunVoid(message, code="foreign_subject")
    return event.data


def traced(run: Run) -> Run:
    """Return the run with the running span as the cause of what it publishes."""
    return replace(run, traceparent=telemetry.current_traceparent() or run.traceparent)
