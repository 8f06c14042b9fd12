"""What a stretch of the INDEX stream changes in the search index: the last word on a revision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from chancery.events.envelope import EventData
from chancery.events.index import (
    RevisionExcluded,
    RevisionExtracted,
    RevisionFailed,
    RevisionPending,
    RevisionReady,
    RevisionUnavailable,
)
from chancery.retrieval.domain.entries import Pin, RevisionRef


@dataclass(frozen=True, slots=True)
class IndexEvent:
    """An event of the INDEX stream at its place."""

    sequence: int
    tenant: str
    data: EventData


@dataclass(frozen=True, slots=True)
class Change:
    """The revision is to be found under `pin` from here on, or (None) not at all."""

    sequence: int
    ref: RevisionRef
    pin: Pin | None


@dataclass(frozen=True, slots=True)
class TenantChanges:
    """The changes of one tenant's index, by revision; at most one each."""

    by_revision: dict[RevisionRef, Change] = field(default_factory=dict[RevisionRef, Change])


def change_of(event: IndexEvent) -> Change | None:
    """Return what `event` changes; an extraction alone changes nothing, ready names it again.

    A revision that is pending again (its measures were declared anew) is not searched meanwhile.
    """
    data = event.data
    match data:
        case RevisionReady():
            ref = RevisionRef(data.kind, data.key, data.revision)
            pin = Pin(ref, data.extraction_sha256, data.manifest_sha256)
            return Change(event.sequence, ref, pin)
        case RevisionPending() | RevisionExcluded() | RevisionFailed() | RevisionUnavailable():
            ref = RevisionRef(data.kind, data.key, data.revision)
            return Change(event.sequence, ref, None)
        case RevisionExtracted():
            return None
        case _:
            return None


def changes_by_tenant(events: Iterable[IndexEvent]) -> dict[str, TenantChanges]:
    """Return the changes that `events` (in order) amount to; a later word replaces an earlier."""
    found: dict[str, TenantChanges] = {}
    for event in events:
        change = change_of(event)
        if change is not None:
            changes = found.setdefault(event.tenant, TenantChanges())
            changes.by_revision.pop(change.ref, None)
            changes.by_revision[change.ref] = change
    return found
