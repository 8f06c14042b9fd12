"""The receipt of a release: what was decided, on what, and the hash of every sealed byte.

Two hashes, one inside the other's reach. The *core* is everything known before the cut; its salted
hash stands in the cut message on the log, so the cut names this answer without telling it. The
*receipt* adds what only the cut gives: its position, the moment, the read set, the digest. The hash
of the receipt cannot stand in the receipt, nor can the signature over that hash: both travel beside
it, and `release.sealed` repeats the hash on the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, Self, TypeAlias, TypeVar

from pydantic import Field, model_validator

from chancery.events.authority import AggregateKind, Language, Mode
from chancery.events.envelope import Id, Many, Moment, Position, Sha256
from chancery.events.release import Outcome
from chancery.evidence.answer import STATEMENTS_MAX, Answer, EncodedAnswer, encode_answer
from chancery.evidence.coverage import CoverageReport
from chancery.evidence.record import Record
from chancery.evidence.references import (
    CorpusReference,
    FileReference,
    ItemReference,
    Reference,
    SnapshotPin,
    SourceReference,
)
from chancery.evidence.salts import Salts, commitment
from chancery.evidence.texts import TEMPLATE_VERSION
from chancery.kernel.canonical import Encoded, exact_bytes, salted_hash, sha256_hex

READ_SET_MAX: Final = 900
SOURCES_MAX: Final = 1000

_WITHOUT_CUT: Final[tuple[Outcome, ...]] = ("access_changing", "scope_too_wide", "unavailable")
"""Outcomes that tell nothing about the evidence and need no cut."""


class RunRecord(Record):
    """What was asked, by whom, under which policy, and what the search rested on.

    `question_sha256` is a commitment to the question's blob; `selector` is null when the run ended
    before one was asked; `barrier` is the AUTHORITY position of admission, `index_position` how far
    the search had come.
    """

    tenant: Id
    run_id: Id
    release_id: Id
    generation: int = Field(ge=1)
    workspace_id: Id
    conversation_id: Id
    message: int = Field(ge=1)
    principal: Id
    credential_id: Id
    mode: Mode
    policy_revision: str = Field(min_length=1, max_length=200)
    policy_sha256: Sha256
    language: Language
    selector: str | None = Field(default=None, min_length=1, max_length=100)
    barrier: Position
    index_position: Position
    coverage: CoverageReport | None
    question_sha256: Sha256


class ResultReference(Record):
    """One executed query; the three hashes are commitments (see `salts.commitment`).

    `rows_sha256` is null when the rows read were more than a bundle carries.
    """

    key: Id
    snapshot: int = Field(ge=1)
    engine: str = Field(min_length=1, max_length=100)
    query_sha256: Sha256
    preview_sha256: Sha256
    rows_sha256: Sha256 | None


class ValueReference(Record):
    """Which cell of which result (0-based each) a value statement states."""

    fact_id: Id
    result: int = Field(ge=0, lt=STATEMENTS_MAX)
    row: int = Field(ge=0)
    column: int = Field(ge=0)


class Execution(Record):
    """What was executed, by the plain hashes of its blobs; it is never part of a receipt.

    `pin` is of the snapshot, for which the receipt has commitments; a release that is older than
    those has none.
    """

    key: Id
    snapshot: int = Field(ge=1)
    engine: str = Field(min_length=1, max_length=100)
    query_sha256: Sha256
    preview_sha256: Sha256
    rows_sha256: Sha256 | None = None
    pin: SnapshotPin | None = Field(default=None, exclude_if=lambda pin: pin is None)


class ReceiptCore(RunRecord):
    """Everything that is known before the cut; its salted hash is what the cut names.

    `sources` names documents and datasets, never an item or a file. A receipt without items, files
    or corpus leaves those fields out. The four content hashes are salted, each with its own salt,
    over the UTF-8 of the text and the canonical JSON of the three lists.
    """

    format: Literal["chancery.receipt-core/1"] = "chancery.receipt-core/1"
    status: Literal["sealed", "refused"]
    outcome: Outcome | None
    template_version: str = Field(min_length=1, max_length=20)
    fact_ids: Many[Id] = Field(max_length=STATEMENTS_MAX)
    sources: Many[SourceReference] = Field(max_length=SOURCES_MAX)
    items: Many[ItemReference] = Field(
        default=(), max_length=SOURCES_MAX, exclude_if=lambda items: not items
    )
    files: Many[FileReference] = Field(
        default=(), max_length=SOURCES_MAX, exclude_if=lambda files: not files
    )
    corpus: CorpusReference | None = Field(default=None, exclude_if=lambda each: each is None)
    results: Many[ResultReference] = Field(max_length=STATEMENTS_MAX)
    values: Many[ValueReference] = Field(max_length=STATEMENTS_MAX)
    statement_count: int = Field(ge=0, le=STATEMENTS_MAX)
    citation_count: int = Field(ge=0, le=STATEMENTS_MAX)
    card_count: int = Field(ge=0, le=STATEMENTS_MAX)
    text_sha256: Sha256
    statements_sha256: Sha256
    citations_sha256: Sha256
    cards_sha256: Sha256

    @property
    def references(self) -> tuple[Reference, ...]:
        """Return every document and dataset that the answer uses, of whatever kind."""
        return (*self.sources, *self.items, *self.files)

    @model_validator(mode="after")
    def _status_has_its_shape(self) -> Self:
        if (self.status == "refused") != (self.outcome is not None):
            message = "a refusal has an outcome, a sealed answer has none"
            raise ValueError(message)
        if (self.status == "sealed") != (len(self.fact_ids) > 0):
            message = "a sealed answer has facts, a refusal has none"
            raise ValueError(message)
        return self


class ReadEntry(Record):
    """One aggregate of the read set at the cut: its last event in redacted form.

    `sequence` 0 says that the aggregate had no event; then the other three are null.
    """

    kind: AggregateKind
    id: Id
    sequence: Position
    type: str | None = Field(default=None, max_length=200)
    event_id: Id | None = None
    payload_sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _event_stands_with_its_position(self) -> Self:
        event = (self.type, self.event_id, self.payload_sha256)
        if any((part is None) != (self.sequence == 0) for part in event):
            message = "type, event_id and payload_sha256 stand exactly when there is an event"
            raise ValueError(message)
        return self


class CutRecord(Record):
    """The cut that the decision was read at.

    `payload_sha256` is over the bytes of the cut message; `authority_digest` is the rolling digest
    of the log at `sequence`; `effective_expiry` is null when no end of the access is known.
    """

    sequence: int = Field(ge=1)
    attempt: int = Field(ge=1)
    payload_sha256: Sha256
    authority_digest: Sha256
    effective_expiry: Moment | None


class Receipt(Record):
    """The whole receipt; its SHA-256 is signed, and repeated by `release.sealed` on the log.

    `publication_sequence` is the newest publication on AUTHORITY at or before the cut that release
    knows in the workspace. `cut` is null only for a refusal that tells nothing about the evidence.
    """

    format: Literal["chancery.receipt/1"] = "chancery.receipt/1"
    core: ReceiptCore
    decided_at: Moment
    publication_sequence: Position
    read_set: Many[ReadEntry] = Field(max_length=READ_SET_MAX)
    cut: CutRecord | None

    @model_validator(mode="after")
    def _decision_stands_on_a_cut(self) -> Self:
        if self.cut is None and self.core.outcome not in _WITHOUT_CUT:
            message = "this receipt needs a cut"
            raise ValueError(message)
        if self.cut is None and self.read_set:
            message = "a receipt without a cut has no read set"
            raise ValueError(message)
        names = [(entry.kind, entry.id) for entry in self.read_set]
        if names != sorted(set(names)):
            message = "the read set must be sorted by kind and id, each once"
            raise ValueError(message)
        return self

    @property
    def sha256(self) -> str:
        """Return the receipt hash: over the canonical bytes of the receipt, unsalted.

        It cannot be guessed: the receipt holds salted hashes.
        """
        return sha256_hex(self.to_bytes())

    @property
    def cut_sequence(self) -> int:
        """Return the position of the cut, 0 for a refusal that needed none."""
        return self.cut.sequence if self.cut is not None else 0


class ContentHashes(Record):
    """The salted hashes of what the caller is shown."""

    text_sha256: Sha256
    statements_sha256: Sha256
    citations_sha256: Sha256
    cards_sha256: Sha256


_Form = TypeVar("_Form", SourceReference, ItemReference, FileReference)
ValueCells: TypeAlias = Sequence[ValueReference]


def build_core(
    run: RunRecord,
    answer: Answer,
    salts: Salts,
    *,
    outcome: Outcome | None = None,
    references: Sequence[Reference] = (),
    corpus: CorpusReference | None = None,
    executions: Sequence[Execution] = (),
    values: ValueCells = (),
    encoded: EncodedAnswer | None = None,
) -> ReceiptCore:
    """Return the core of a sealed answer, or with `outcome` of a refusal.

    `references` are what the answer uses, in any order; `values` say which cell of which of the
    `executions` each value statement states, in the order of the statements. Who has `encoded` the
    answer hands that over.
    """
    hashes = hashes_of(encode_answer(answer) if encoded is None else encoded, salts)
    return ReceiptCore.model_validate(
        {
            **dict(run),
            **dict(hashes),
            "status": "sealed" if outcome is None else "refused",
            "outcome": outcome,
            "template_version": TEMPLATE_VERSION,
            "fact_ids": tuple(statement.id for statement in answer.statements),
            "sources": _of(SourceReference, references),
            "items": _of(ItemReference, references),
            "files": _of(FileReference, references),
            "corpus": corpus,
            "results": result_references(executions, salts),
            "values": tuple(values),
            "statement_count": len(answer.statements),
            "citation_count": len(answer.citations),
            "card_count": len(answer.cards),
        }
    )


def content_hashes(answer: Answer, salts: Salts) -> ContentHashes:
    """Return the four salted content hashes of `answer`."""
    return hashes_of(encode_answer(answer), salts)


def hashes_of(encoded: EncodedAnswer, salts: Salts) -> ContentHashes:
    """Return the four salted content hashes of an answer that is encoded already."""
    return ContentHashes(
        text_sha256=salted_hash(salts.text, encoded.text),
        statements_sha256=salted_hash(salts.statements, encoded.statements),
        citations_sha256=salted_hash(salts.citations, encoded.citations),
        cards_sha256=salted_hash(salts.cards, encoded.cards),
    )


def receipt_bytes(receipt: Receipt, core: bytes) -> bytes:
    """Return the canonical bytes of a receipt whose core has the canonical bytes `core`."""
    rest = receipt.model_dump(mode="json", exclude={"core"})
    return exact_bytes({**rest, "core": Encoded(core)})


def result_references(executions: Sequence[Execution], salts: Salts) -> tuple[ResultReference, ...]:
    """Return the executed queries as the receipt names them: by commitments.

    Raises:
        ValueError: when `salts` are not for exactly these executions.
    """
    return tuple(
        ResultReference(
            key=execution.key,
            snapshot=execution.snapshot,
            engine=execution.engine,
            query_sha256=commitment(salt.query, execution.query_sha256),
            preview_sha256=commitment(salt.preview, execution.preview_sha256),
            rows_sha256=(
                commitment(salt.rows, execution.rows_sha256)
                if execution.rows_sha256 is not None and salt.rows is not None
                else None
            ),
        )
        for execution, salt in zip(executions, salts.results, strict=True)
    )


def core_hash(core: ReceiptCore, salts: Salts) -> str:
    """Return the salted hash of the core, the `core_sha256` of the cut."""
    return salted_hash(salts.core, core.to_bytes())


def _of(form: type[_Form], references: Sequence[Reference]) -> tuple[_Form, ...]:
    found = [each for each in references if isinstance(each, form)]
    return tuple(sorted(found, key=lambda each: each.name))
