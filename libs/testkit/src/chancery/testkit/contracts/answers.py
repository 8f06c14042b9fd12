"""The documents of `GET answer` as models; chancery.evidence.documents writes them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chancery.events.envelope import Id, Moment, Position, Sha256
from chancery.events.release import Outcome
from chancery.evidence.answer import STATEMENTS_MAX, Card, Statement
from chancery.evidence.citations import Citation
from chancery.evidence.coverage import CoverageReport
from chancery.evidence.record import Record


class ReceiptHandle(Record):
    """Where the receipt is found: its release, its hash and the position of its cut."""

    release_id: Id
    receipt_sha256: Sha256
    cut_sequence: Position


class _Ended(Record):
    run_id: Id
    generation: int = Field(ge=1)


class _WithCoverage(_Ended):
    coverage: CoverageReport | None
    open_gaps: tuple[Id, ...]
    receipt: ReceiptHandle


class SealedAnswer(_WithCoverage):
    """A sealed answer; `as_of` and `checkpoint` are those of its cut."""

    status: Literal["sealed"]
    as_of: Moment
    checkpoint: Position
    statements: tuple[Statement, ...] = Field(min_length=1, max_length=STATEMENTS_MAX)
    citations: tuple[Citation, ...] = Field(min_length=1, max_length=STATEMENTS_MAX)
    cards: tuple[Card, ...] = Field(max_length=STATEMENTS_MAX)
    text: str = Field(min_length=1)


class RefusedAnswer(_WithCoverage):
    """A run that ended without an answer; the explanation is the fixed text of its outcome."""

    status: Literal["refused"]
    reset_context: Id | None = None
    outcome: Outcome
    explanation: str = Field(min_length=1)


class WithheldAnswer(_Ended):
    """What stands in the place of an answer that may not be shown: nothing of it."""

    status: Literal["withheld"]
    explanation: str = Field(min_length=1)
