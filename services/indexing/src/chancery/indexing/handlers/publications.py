"""What an event of a source or dataset means for its index state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chancery.events import authority, authority_knowledge
from chancery.events.authority import RevisionPublished, SnapshotPublished, SourceDeclared
from chancery.events.authority_knowledge import VersionPublished
from chancery.events.envelope import Event, EventData
from chancery.extract.refusals import TakesLong
from chancery.indexing.domain.history import TRIGGERS, History, ResourceRef, publication_of
from chancery.indexing.domain.standing import Extracted, Outcome, Revision
from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.handlers.briefly import Briefly, Who
from chancery.indexing.handlers.extraction import Extraction
from chancery.indexing.handlers.grouping import Announcements
from chancery.indexing.handlers.progress import Asking, Cause, Progress
from chancery.indexing.handlers.slowly import Slowly
from chancery.kernel.errors import Conflict
from chancery.runtime.telemetry import current_traceparent

PASSED_OVER = frozenset(
    model.TYPE
    for model in (*authority.MODELS, *authority_knowledge.MODELS)
    if model is SourceDeclared or model not in TRIGGERS
)
"""Types of events that change no index state; a source's revisions come by themselves."""

ROUNDS_MAX = 4
"""How often new work may turn up (a declaration that changes meanwhile) within one delivery."""


@dataclass(frozen=True, slots=True)
class Publications:
    """Announces and extracts; the event is only the occasion, the log is what is believed."""

    announcements: Announcements
    extraction: Extraction
    slowly: Slowly
    briefly: Briefly = field(default_factory=Briefly)

    async def handle(self, ref: ResourceRef, event: Event) -> None:
        """Bring the index state of `ref` up to its log; a second delivery changes nothing.

        Raises:
            Conflict, Unavailable: try again later.
            Corrupt: the resource's history cannot be read; nothing is said of it.
        """
        if event.data.TYPE in PASSED_OVER:
            return
        found = await self._found_at_once(ref, event.data)
        for _ in range(ROUNDS_MAX):
            progress = await self.announcements.announce(Asking(ref, _cause(event), found))
            waiting = _own_work(event.data, progress)
            if not waiting:
                return
            found = await self._extracted(ref, progress.history, waiting, _publisher(ref, event))
            if not found:
                return
        message = f"{ref.kind} {ref.key!r} changes faster than it can be extracted"
        raise Conflict(message, code="changing_too_fast")

    async def _extracted(
        self, ref: ResourceRef, history: History, waiting: Sequence[Revision], who: Who
    ) -> Mapping[int, Outcome]:
        """Return what came of those that take no longer than others should wait."""
        found: dict[int, Outcome] = {}
        for one in waiting:
            number = one.publication.revision
            try:
                found[number] = await self._read(ref, history, one, who)
            except TakesLong:
                await self.slowly.record(SlowRevision(ref, number))
        return found

    async def _read(self, ref: ResourceRef, history: History, one: Revision, who: Who) -> Outcome:
        if not self.extraction.is_parsed(ref, one.publication):
            return await self.extraction.run(ref, history, one, is_brief=True)
        async with self.briefly.turn(who):
            return await self.extraction.run(ref, history, one, is_brief=True)

    async def _found_at_once(self, ref: ResourceRef, data: EventData) -> Mapping[int, Outcome]:
        """Return the canonical form of a text that was published, before anything is said of it.

        Silence means pending, so a text that takes a millisecond needs no event that says so. A
        failure is left to the usual way: what was extracted before must not give way to it.
        """
        published = publication_of(0, data)
        if published is None or not self.extraction.is_quick(ref, published):
            return {}
        outcome = await self.extraction.run(ref, History(), Revision(published))
        if not isinstance(outcome.result, Extracted):
            return {}
        # Only what the log says was published has this form, whatever the event says.
        made = replace(outcome, made_of=published)
        return {published.revision: made}


def _own_work(data: EventData, progress: Progress) -> tuple[Revision, ...]:
    """Return what this delivery extracts: a publication its own revision, others all there is."""
    match data:
        case RevisionPublished():
            own = data.revision
        case SnapshotPublished():
            own = data.snapshot
        case VersionPublished():
            own = data.version
        case _:
            return progress.unextracted
    return tuple(one for one in progress.unextracted if one.publication.revision == own)


def _publisher(ref: ResourceRef, event: Event) -> Who:
    """Return who published what the delivery extracts; who restores a source has not made it."""
    is_publication = publication_of(0, event.data) is not None
    return ref.tenant, event.envelope.actor if is_publication else None


def _cause(event: Event) -> Cause:
    envelope = event.envelope
    traceparent = current_traceparent() or envelope.traceparent
    return Cause(envelope.id, envelope.correlationid, traceparent)
