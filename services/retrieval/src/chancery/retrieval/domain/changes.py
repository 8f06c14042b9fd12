"""What a stretch of the INDEX stream changes in the search index: the last word on a revision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """The revision is to be found under `pin` from here on, or (None) not at all.

    `authority_sequence` is the place in the authority log that this was concluded from. A pending
    revision that the index does not know needs no word at all.
    """

    sequence: int
    ref: RevisionRef
    pin: Pin | None
    authority_sequence: int
    is_pending: bool = False


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
            return Change(event.sequence, ref, pin, data.authority_sequence)
        case RevisionPending() | RevisionExcluded() | RevisionFailed() | RevisionUnavailable():
            ref = RevisionRef(data.kind, data.key, data.revision)
            is_pending = isinstance(data, RevisionPending)
            return Change(event.sequence, ref, None, data.authority_sequence, is_pending)
        case RevisionExtracted():
            return None
        case _:
            return None


def changes_by_tenant(events: Iterable[IndexEvent]) -> dict[str, TenantChanges]:
    """Return the changes that `events` (in order) amount to; a later word replaces an earlier.

    A word that rests on an older place of the authority log is late, and replaces nothing.
    """
    found: dict[str, TenantChanges] = {}
    for event in events:
        change = change_of(event)
        if change is not None:
            changes = found.setdefault(event.tenant, TenantChanges()).by_revision
            if not is_late(change, changes.get(change.ref)):
                changes.pop(change.ref, None)
                changes[change.ref] = change
    return found


def needed(changes: Iterable[Change], known: Mapping[int, int]) -> list[Change]:
    """Return the changes to make in an index; `known` is as of when it has each revision's word.

    What is late is left out: a result must not bring back what was withdrawn since.
    """
    return [
        one
        for one in changes
        if is_new(one, known) and not (one.is_pending and one.ref.number not in known)
    ]


def is_new(change: Change, known: Mapping[int, int]) -> bool:
    """Tell whether nothing that was said later of the revision is known."""
    return change.authority_sequence >= known.get(change.ref.number, 0)


def is_late(change: Change, before: Change | None) -> bool:
    """Tell whether more was known of the authority log when `before` was said."""
    return before is not None and change.authority_sequence < before.authority_sequence
