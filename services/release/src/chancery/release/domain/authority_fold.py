"""The log to rows: each event folded into its aggregate, what cannot be folded freezes it.

A frozen aggregate keeps its last good state, its sequence still advances, and its later events wait
in quarantine; every decision that reads it denies.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from chancery.authority.evolve import evolve
from chancery.authority.states import (
    CorpusState,
    DatasetState,
    FileState,
    ItemState,
    SourceState,
    State,
)
from chancery.events.authority import CutTaken, RevisionPublished, SnapshotPublished
from chancery.events.authority_knowledge import VersionPublished
from chancery.events.codec import decode
from chancery.events.envelope import Event
from chancery.events.topology import FENCE_SUBJECT, cut_subject
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Corrupt
from chancery.kernel.ids import ID_PATTERN
from chancery.release.domain.marks import Mark, MovingMark

_CUT_TOKENS = 2
_ID = re.compile(ID_PATTERN)
_TOKEN = f"({ID_PATTERN.strip('^$')})"
_SUBJECT = re.compile(rf"authority\.{_TOKEN}\.{_TOKEN}\.{_TOKEN}")
UNREADABLE = "unreadable"
"""Type and id of an event that could not be read."""
NOT_STORABLE = "not_storable"
"""Why an event waits whose row the database refuses."""
FOLD_FAILED = "fold_failed"
"""Why an event waits that this build fails on."""
_PUBLICATIONS = frozenset((RevisionPublished, SnapshotPublished, VersionPublished))
UNKNOWN_TENANT = "_"
"""The tenant under which a message waits whose subject names none."""


class LogMessage(Protocol):
    """A message of a stream."""

    @property
    def sequence(self) -> int:
        """Return its position in the stream."""
        ...

    @property
    def subject(self) -> str:
        """Return its literal subject."""
        ...

    @property
    def payload(self) -> bytes:
        """Return its bytes."""
        ...


class AggregateKey(NamedTuple):
    """An aggregate of any tenant; ordered by tenant, kind, id."""

    tenant: str
    kind: str
    id: str


class AggregateRow(NamedTuple):
    """What the projection holds of an aggregate; a frozen one may have no state at all.

    Type, id and payload hash are of its last event, `published` is the position of its last
    publication.
    """

    sequence: int
    event_type: str
    event_id: str
    payload_sha256: str
    state: State | None
    frozen: bool = False
    published: int | None = None

    @property
    def workspace_id(self) -> str | None:
        """Return the workspace that the aggregate belongs to; of a file, its owner."""
        match self.state:
            case SourceState() | DatasetState() | ItemState() | CorpusState():
                return self.state.workspace_id
            case FileState():
                return self.state.owner
            case _:
                return None

    @property
    def serving(self) -> int | None:
        """Return the revision, snapshot or version that serves."""
        match self.state:
            case SourceState() | DatasetState() | ItemState() | FileState():
                return self.state.serving
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An event that waits for an operator or a newer build; `reason` is a stable code."""

    tenant: str
    sequence: int
    subject: str
    reason: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class SeenCut:
    """A cut with the digest that the log has there."""

    tenant: str
    sequence: int
    run_id: str
    generation: int
    attempt: int
    digest: bytes


@dataclass(slots=True)
class Folded:
    """What messages change, up to where it has come."""

    moving: MovingMark
    rows: dict[AggregateKey, AggregateRow] = field(default_factory=dict[AggregateKey, AggregateRow])
    quarantined: list[Quarantined] = field(default_factory=list[Quarantined])
    cuts: list[SeenCut] = field(default_factory=list[SeenCut])

    @classmethod
    def at(cls, mark: Mark) -> Folded:
        """Return what changes nothing yet."""
        return cls(MovingMark.at(mark))

    @property
    def mark(self) -> Mark:
        """Return the mark behind the messages."""
        return self.moving.mark


def touched(messages: Iterable[LogMessage]) -> set[AggregateKey]:
    """Return the aggregates that a batch of messages is about."""
    return {key for message in messages if (key := aggregate_of(message.subject)) is not None}


def aggregate_of(subject: str) -> AggregateKey | None:
    """Return the aggregate that an authority subject names, or None for any other subject."""
    found = _SUBJECT.fullmatch(subject)
    return None if found is None else AggregateKey._make(found.groups())


def is_id(token: str) -> bool:
    """Tell whether a token of a subject can be an id, so that every database takes it."""
    return _ID.fullmatch(token) is not None


def fold(
    mark: Mark,
    known: Mapping[AggregateKey, AggregateRow],
    messages: Iterable[LogMessage],
    *,
    refused: Collection[int] = (),
) -> Folded:
    """Return what `messages`, in log order, change; `known` holds the rows before them.

    `refused` are the sequences of events whose rows the database does not take.
    """
    folded = Folded.at(mark)
    fold_on(folded, known, messages, refused=refused)
    return folded


def fold_on(
    folded: Folded,
    known: Mapping[AggregateKey, AggregateRow],
    messages: Iterable[LogMessage],
    *,
    refused: Collection[int] = (),
) -> None:
    """Add what further `messages` change; `known` holds the rows that were not changed so far."""
    moving, rows = folded.moving, folded.rows
    for message in messages:
        if message.subject == FENCE_SUBJECT:
            moving.skip(message.sequence)
            continue
        payload_sha256 = moving.cover(message.sequence, message.payload)
        key = aggregate_of(message.subject)
        row = None if key is None else rows.get(key) or known.get(key)
        if message.sequence in refused:
            _refuse(folded, key, row, message)
        elif key is None:
            _take_cut(folded, message)
        else:
            _take_event(folded, key, row, message, payload_sha256)


def drain(key: AggregateKey, row: AggregateRow, queue: Iterable[LogMessage]) -> AggregateRow | None:
    """Return a frozen aggregate after everything that waited for it, in order.

    None when this build cannot fold the whole queue: then it stays as it is.
    """
    folded = Folded.at(Mark())
    current = None if row.state is None else row._replace(frozen=False)
    for message in queue:
        _take_event(folded, key, current, message, sha256_hex(message.payload))
        current = folded.rows[key]
        if current.frozen:
            return None
    return current


def _take_event(
    folded: Folded,
    key: AggregateKey,
    row: AggregateRow | None,
    message: LogMessage,
    payload_sha256: str,
) -> None:
    if row is not None and row.frozen:
        _freeze(folded, key, row, message, "aggregate_frozen")
        return
    try:
        event = _event_of(key, message.payload)
        state = evolve(key.kind, None if row is None else row.state, event.data)
    except Corrupt as error:
        _freeze(folded, key, row, message, error.code)
        return
    except Exception:  # noqa: BLE001 - one event must not stop the projection of every tenant
        _freeze(folded, key, row, message, FOLD_FAILED)
        return
    published = None if row is None else row.published
    folded.rows[key] = AggregateRow(
        sequence=message.sequence,
        event_type=event.envelope.type,
        event_id=event.envelope.id,
        payload_sha256=payload_sha256,
        state=state,
        published=message.sequence if type(event.data) in _PUBLICATIONS else published,
    )


def _refuse(
    folded: Folded, key: AggregateKey | None, row: AggregateRow | None, message: LogMessage
) -> None:
    if key is None:
        _quarantine(folded, UNKNOWN_TENANT, message, NOT_STORABLE)
    else:
        _freeze(folded, key, row, message, NOT_STORABLE)


def _freeze(
    folded: Folded, key: AggregateKey, row: AggregateRow | None, message: LogMessage, reason: str
) -> None:
    folded.rows[key] = AggregateRow(
        sequence=message.sequence,
        event_type=UNREADABLE,
        event_id=UNREADABLE,
        payload_sha256=sha256_hex(message.payload),
        state=None if row is None else row.state,
        frozen=True,
        published=None if row is None else row.published,
    )
    _quarantine(folded, key.tenant, message, reason)


def _event_of(key: AggregateKey, payload: bytes) -> Event:
    event = decode(payload)
    envelope = event.envelope
    if envelope.tenant != key.tenant or envelope.subject != key.id:
        message = "the event names another tenant or aggregate than its subject"
        raise Corrupt(message, code="foreign_subject")
    if envelope.type.split(".", 2)[1] != key.kind:
        message = "the event is of another kind than its subject"
        raise Corrupt(message, code="foreign_subject")
    return event


def _take_cut(folded: Folded, message: LogMessage) -> None:
    tokens = message.subject.split(".")
    is_named = len(tokens) == _CUT_TOKENS and is_id(tokens[1])
    tenant = tokens[1] if is_named else UNKNOWN_TENANT
    try:
        event = decode(message.payload)
    except Corrupt as error:
        _quarantine(folded, tenant, message, error.code)
        return
    cut = event.data
    if not isinstance(cut, CutTaken) or message.subject != cut_subject(event.tenant):
        _quarantine(folded, tenant, message, "foreign_subject")
        return
    folded.cuts.append(
        SeenCut(
            tenant,
            message.sequence,
            cut.run_id,
            cut.generation,
            cut.attempt,
            folded.moving.digest,
        )
    )


def _quarantine(folded: Folded, tenant: str, message: LogMessage, reason: str) -> None:
    folded.quarantined.append(quarantined(tenant, message, reason))


def quarantined(tenant: str, message: LogMessage, reason: str) -> Quarantined:
    """Return a message as it waits: with a subject that every database takes."""
    subject = message.subject.encode("ascii", "backslashreplace").decode().replace("\0", "\\x00")
    return Quarantined(tenant, message.sequence, subject, reason, message.payload)
