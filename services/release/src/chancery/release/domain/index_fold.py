"""The INDEX stream to entries: one per exact revision, with the extraction that it is pinned to.

The first extraction per (revision, extractor) wins for ever. A revision is ready only with a pinned
extraction; an event that rests on an older position of the authority log than the entry changes no
state, so that a late result never revives what was withdrawn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from chancery.events.codec import decode
from chancery.events.envelope import Event
from chancery.events.index import (
    RevisionExcluded,
    RevisionExtracted,
    RevisionFailed,
    RevisionPending,
    RevisionReady,
    RevisionUnavailable,
)
from chancery.events.queries import IndexState
from chancery.events.topology import index_subject
from chancery.kernel.errors import Corrupt
from chancery.release.domain.authority_fold import (
    NOT_STORABLE,
    UNKNOWN_TENANT,
    LogMessage,
    Quarantined,
    is_id,
    quarantined,
)
from chancery.release.domain.marks import Mark

IndexData = (
    RevisionPending
    | RevisionExtracted
    | RevisionReady
    | RevisionFailed
    | RevisionExcluded
    | RevisionUnavailable
)


@dataclass(frozen=True, slots=True, order=True)
class RevisionKey:
    """One exact revision or snapshot."""

    tenant: str
    kind: str
    key: str
    revision: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """The canonical form that one extractor made of a revision, and where the log says so."""

    extractor: str
    extraction_sha256: str
    manifest_sha256: str
    length: int
    sequence: int


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index says of a revision; `ready` names the pinned extraction while it is ready."""

    workspace_id: str
    content_sha256: str
    state: IndexState
    sequence: int
    authority_sequence: int
    reason: str | None = None
    ready: Extraction | None = None
    extractions: tuple[Extraction, ...] = ()
    field: str | None = None
    attempt: int | None = None


@dataclass(slots=True)
class FoldedIndex:
    """What a batch of messages changes."""

    mark: Mark
    entries: dict[RevisionKey, IndexEntry] = field(default_factory=dict[RevisionKey, IndexEntry])
    quarantined: list[Quarantined] = field(default_factory=list[Quarantined])


def decode_index(
    messages: Iterable[LogMessage],
) -> list[tuple[LogMessage, RevisionKey | None, IndexData | str]]:
    """Return each message with its revision and data, or with the code of why it has none."""
    return [_decode(message) for message in messages]


def fold_index(
    mark: Mark,
    known: Mapping[RevisionKey, IndexEntry],
    decoded: Iterable[tuple[LogMessage, RevisionKey | None, IndexData | str]],
    *,
    refused: Collection[int] = (),
) -> FoldedIndex:
    """Return what decoded messages, in log order, change; `known` holds the entries before them.

    `refused` are the sequences of events whose rows the database does not take.
    """
    folded = FoldedIndex(mark)
    for message, key, found in decoded:
        folded.mark = folded.mark.cover(message.sequence, message.payload)
        data = NOT_STORABLE if message.sequence in refused else found
        if key is None or isinstance(data, str):
            reason = data if isinstance(data, str) else "foreign_subject"
            folded.quarantined.append(quarantined(_tenant_of(message.subject), message, reason))
            continue
        before = folded.entries.get(key, known.get(key))
        folded.entries[key] = evolve_entry(before, data, message.sequence)
    return folded


def evolve_entry(before: IndexEntry | None, data: IndexData, sequence: int) -> IndexEntry:
    """Return the entry after one event."""
    entry = before or IndexEntry(
        workspace_id=data.workspace_id,
        content_sha256=data.content_sha256,
        state="pending",
        sequence=sequence,
        authority_sequence=data.authority_sequence,
    )
    if data.content_sha256 != entry.content_sha256:
        return entry
    if isinstance(data, RevisionExtracted):
        return replace(entry, extractions=_pin(entry.extractions, data, sequence))
    if before is not None and data.authority_sequence < before.authority_sequence:
        return entry
    moved = replace(entry, sequence=sequence, authority_sequence=data.authority_sequence)
    return _with_state(moved, data)


def _with_state(before: IndexEntry, data: IndexData) -> IndexEntry:
    entry = replace(before, field=None, attempt=None)
    match data:
        case RevisionPending():
            told = replace(entry, reason=data.reason, attempt=data.attempt)
            return replace(told, state="pending", ready=None)
        case RevisionReady():
            return _make_ready(entry, data)
        case RevisionFailed():
            told = replace(entry, reason=data.reason, field=data.field, attempt=data.attempt)
            return replace(told, state="failed", ready=None)
        case RevisionExcluded():
            return replace(entry, state="excluded", reason=data.reason, ready=None)
        case RevisionUnavailable():
            return replace(entry, state="unavailable", reason=data.reason, ready=None)
        case RevisionExtracted():
            return entry


def _make_ready(entry: IndexEntry, data: RevisionReady) -> IndexEntry:
    pinned = next(
        (
            each
            for each in entry.extractions
            if each.extraction_sha256 == data.extraction_sha256
            and each.manifest_sha256 == data.manifest_sha256
        ),
        None,
    )
    if pinned is None:
        return replace(entry, state="unavailable", reason="extraction_not_pinned", ready=None)
    return replace(entry, state="ready", reason=None, ready=pinned)


def _pin(
    extractions: tuple[Extraction, ...], data: RevisionExtracted, sequence: int
) -> tuple[Extraction, ...]:
    if any(each.extractor == data.extractor for each in extractions):
        return extractions
    first = Extraction(
        data.extractor, data.extraction_sha256, data.manifest_sha256, data.length, sequence
    )
    return (*extractions, first)


def _decode(message: LogMessage) -> tuple[LogMessage, RevisionKey | None, IndexData | str]:
    try:
        event = decode(message.payload)
    except Corrupt as error:
        return message, None, error.code
    data = event.data
    if not isinstance(data, IndexData):
        return message, None, "foreign_subject"
    key = _key_of(event, data, message.subject)
    return message, key, data


def _key_of(event: Event, data: IndexData, subject: str) -> RevisionKey | None:
    if subject != index_subject(event.tenant, data.kind, data.key):
        return None
    return RevisionKey(event.tenant, data.kind, data.key, data.revision)


def _tenant_of(subject: str) -> str:
    tokens = subject.split(".")
    return tokens[1] if len(tokens) > 1 and is_id(tokens[1]) else UNKNOWN_TENANT
