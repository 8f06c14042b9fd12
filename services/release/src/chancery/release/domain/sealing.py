"""From a draft and what the cut gave to the rows of a release: receipt, documents, ciphertexts."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal, TypeAlias

from chancery.attest.sealing import KEY_BYTES, Place, ReleaseKey, seal_each
from chancery.attest.signing import SigningKey
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event
from chancery.events.release import ReleaseRefused, ReleaseSealed
from chancery.evidence.documents import document_bytes
from chancery.evidence.receipt import CutRecord, ReadEntry, Receipt, receipt_bytes
from chancery.kernel.canonical import exact_bytes, sha256_hex
from chancery.kernel.ids import derived_id
from chancery.release.domain.drafts import Draft
from chancery.release.domain.runs import LockedRun
from chancery.release.domain.snapshot import CutSnapshot
from chancery.release.domain.stages import SOURCE


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut as the log acknowledged it."""

    sequence: int
    attempt: int
    payload_sha256: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class Decided:
    """What the decision was read from; a refusal without a cut has no read set and no cut."""

    decided_at: datetime
    publication_sequence: int = 0
    read_set: tuple[ReadEntry, ...] = ()
    cut: CutRecord | None = None


@dataclass(frozen=True, slots=True)
class ContentRow:
    """An encrypted row; (kind, number) is unique in a release."""

    kind: str
    number: int
    ciphertext: bytes


@dataclass(frozen=True, slots=True)
class SealedRows:
    """The rows of one release, ready to be inserted; `frame_number` is of its event row."""

    draft: Draft
    decided: Decided
    receipt_bytes: bytes
    receipt_sha256: str
    public_key: bytes
    signature: bytes
    keys: ReleaseKey
    contents: tuple[ContentRow, ...]
    frame_number: int
    event: Event

    @property
    def kind(self) -> Literal["sealed", "refused"]:
        """Return whether the run was answered or refused."""
        return "sealed" if self.draft.outcome is None else "refused"

    @property
    def event_payload(self) -> bytes:
        """Return the bytes of the event for the bus."""
        return encode(self.event)


Sealing: TypeAlias = Literal["sealed", "void", "changing"]
"""Committed (now or before); the run or lease no longer counts; access moved or was denied."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A row moved after the cut, or the clock or the expiry forbids it: a new cut is needed."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The table set has not passed the cut."""


Judged: TypeAlias = SealedRows | Sealing | Moved | Behind
"""What a locked run and what was read at its cut come to: rows are inserted, all else is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealable:
    """A draft at the door of its transaction; without a cut nothing is read.

    `judge` is pure: from the locked run, the states at the cut and the database's clock.
    """

    draft: Draft
    cut: Cut | None
    judge: Callable[[LockedRun | None, CutSnapshot | None, datetime], Judged]


def sealed_rows(draft: Draft, decided: Decided, key: SigningKey, locked: LockedRun) -> SealedRows:
    """Return the rows of a release; `locked` is the run under its lock, so the numbers are right.

    Each call draws a fresh key: a transaction that was rolled back may have left ciphertext behind.
    """
    receipt = Receipt(
        core=draft.core,
        decided_at=decided.decided_at,
        publication_sequence=decided.publication_sequence,
        read_set=decided.read_set,
        cut=decided.cut,
    )
    keys = ReleaseKey(secrets.token_bytes(KEY_BYTES), draft.seed)
    receipt_data = receipt_bytes(receipt, draft.core_bytes)
    receipt_sha256 = sha256_hex(receipt_data)
    frame_number = locked.events + 1
    contents = _contents(draft, receipt, receipt_sha256, frame_number)
    ciphertexts = seal_each(
        keys, ((place_of(draft, kind, number), data) for kind, number, data in contents)
    )
    return SealedRows(
        draft=draft,
        decided=decided,
        receipt_bytes=receipt_data,
        receipt_sha256=receipt_sha256,
        public_key=key.public_key,
        signature=key.sign(receipt_sha256),
        keys=keys,
        contents=tuple(
            ContentRow(kind, number, ciphertext)
            for (kind, number, _), ciphertext in zip(contents, ciphertexts, strict=True)
        ),
        frame_number=frame_number,
        event=_event(draft, receipt, receipt_sha256),
    )


def place_of(draft: Draft, kind: str, number: int) -> Place:
    """Return where a content row of a draft stands."""
    return Place(draft.run.tenant, draft.release_id, kind, number)


def _contents(
    draft: Draft, receipt: Receipt, receipt_sha256: str, frame_number: int
) -> list[tuple[str, int, bytes]]:
    encoded = draft.encoded
    document = partial(document_bytes, receipt, encoded, receipt_sha256=receipt_sha256)
    return [
        ("text", 0, encoded.text),
        ("statements", 0, encoded.statements),
        ("citations", 0, encoded.citations),
        ("cards", 0, encoded.cards),
        ("executions", 0, exact_bytes([each.to_json() for each in draft.executions])),
        ("document", 0, document()),
        ("frame", frame_number, document(sequence=frame_number)),
    ]


def _event(draft: Draft, receipt: Receipt, receipt_sha256: str) -> Event:
    run = draft.run
    if draft.outcome is None:
        data = ReleaseSealed(
            run_id=run.run_id,
            generation=run.generation,
            release_id=draft.release_id,
            receipt_sha256=receipt_sha256,
            cut_sequence=receipt.cut_sequence,
        )
    else:
        data = ReleaseRefused(
            run_id=run.run_id,
            generation=run.generation,
            release_id=draft.release_id,
            outcome=draft.outcome,
            receipt_sha256=receipt_sha256,
            cut_sequence=receipt.cut_sequence,
        )
    envelope = Envelope(
        id=derived_id("release-event", draft.release_id),
        source=SOURCE,
        type=data.TYPE,
        subject=draft.release_id,
        time=receipt.decided_at,
        tenant=run.tenant,
        correlationid=run.run_id,
        traceparent=run.traceparent,
    )
    return Event(envelope=envelope, data=data)
