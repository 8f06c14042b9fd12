"""The bundle: everything of one release that can be checked without a server, and nothing else.

Every field is covered by a hash that ends in the signed receipt hash:

==================  ==========================================================================
field               covered by
==================  ==========================================================================
receipt             ``receipt_sha256``, which ``signature`` signs
signature           the receipt hash under ``public_key``; ``key_id`` is derived from the key
salts               the salted hash that each one makes
text .. cards       ``core.text_sha256`` .. ``core.cards_sha256``, each with its own salt
manifests           ``manifest_sha256`` of ``core.sources[]`` and ``core.files[]``
item_manifests      ``core.items[].manifest_sha256``
parts               the ``sha256`` of the part in its manifest; places by the manifest
results             ``core.results[]``: commitments to the hashes of query, preview and rows
cut_payload         ``receipt.cut.payload_sha256``; it repeats the salted hash of the core
==================  ==========================================================================

The read set's events in redacted form are ``receipt.read_set`` itself. The manifest of a dataset is
left out: it names columns that the caller may not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from pydantic import Field, JsonValue, model_validator

from chancery.events.envelope import Id, Many, Sha256
from chancery.evidence.answer import (
    STATEMENTS_MAX,
    Answer,
    Card,
    Statement,
)
from chancery.evidence.citations import Citation, QuoteCitation
from chancery.evidence.knowledge import KnowledgeManifest, text_manifest
from chancery.evidence.manifest import Manifest
from chancery.evidence.receipt import Receipt
from chancery.evidence.record import Record
from chancery.evidence.salts import Salts
from chancery.kernel.canonical import canonical_bytes, sha256_hex

ROWS_BYTES_MAX: Final = 4 * 1024 * 1024
"""More rows than this are left out, and the value then cannot be checked offline."""


class Signature(Record):
    """An Ed25519 signature of the receipt hash (see chancery.attest.signing), all in hex."""

    algorithm: Literal["ed25519"] = "ed25519"
    key_id: str = Field(pattern=r"^[0-9a-f]{32}$")
    public_key: str = Field(pattern=r"^[0-9a-f]{64}$")
    signature: str = Field(pattern=r"^[0-9a-f]{128}$")


class CitedPart(Record):
    """A part that a citation names; `start` is its place in the canonical text."""

    part_id: Id
    start: int = Field(ge=0)
    text: str = Field(min_length=1)


class RowsRead(Record):
    """The authorised rows of the columns that a query reads, as canonical texts (null for NULL).

    `columns` are name and DuckDB type; `table` is the dataset id. Its canonical bytes are the run's
    blob that `ProposedValue.rows_sha256` names.
    """

    table: Id
    columns: Many[tuple[str, str]]
    rows: Many[Many[str | None]] = Field(repr=False)

    @model_validator(mode="after")
    def _rows_have_the_columns(self) -> Self:
        if any(len(row) != len(self.columns) for row in self.rows):
            message = "each row has one value per column"
            raise ValueError(message)
        return self

    @property
    def sha256(self) -> str:
        """Return the hash of the canonical bytes."""
        return sha256_hex(self.to_bytes())


class ResultProof(Record):
    """One executed query: its canonical SQL, the recorded preview, and the rows it read."""

    sql: str = Field(min_length=1, max_length=8192)
    preview: dict[str, JsonValue]
    rows: RowsRead | None

    def to_bytes(self) -> bytes:
        """Return the canonical bytes; the preview is free JSON."""
        return canonical_bytes(self.to_json())

    @property
    def query_sha256(self) -> str:
        """Return the hash of the canonical SQL."""
        return sha256_hex(self.sql.encode())

    @property
    def preview_sha256(self) -> str:
        """Return the hash of the preview's canonical JSON."""
        return sha256_hex(canonical_bytes(self.preview))


class Bundle(Record):
    """One release with its proof; `text` of a refusal is the explanation.

    `manifests` and `parts` stand in the order in which the citations first use them. Rows that are
    left out leave out their salt too.
    """

    format: Literal["chancery.bundle/1"] = "chancery.bundle/1"
    receipt: Receipt
    receipt_sha256: Sha256
    signature: Signature
    salts: Salts
    text: str = Field(min_length=1)
    statements: Many[Statement] = Field(max_length=STATEMENTS_MAX)
    citations: Many[Citation] = Field(max_length=STATEMENTS_MAX)
    cards: Many[Card] = Field(max_length=STATEMENTS_MAX)
    manifests: Many[Manifest] = Field(max_length=STATEMENTS_MAX)
    item_manifests: Many[KnowledgeManifest] = Field(
        default=(), max_length=STATEMENTS_MAX, exclude_if=lambda manifests: not manifests
    )
    parts: Many[CitedPart] = Field(max_length=STATEMENTS_MAX)
    results: Many[ResultProof] = Field(max_length=STATEMENTS_MAX)
    cut_payload: str | None = Field(pattern=r"^([0-9a-f]{2})+$")

    def to_bytes(self) -> bytes:
        """Return the canonical bytes; the previews are free JSON."""
        return canonical_bytes(self.to_json())


@dataclass(frozen=True, slots=True)
class CitedDocument:
    """A cited revision with its whole canonical text, of which the cited parts are taken."""

    manifest: Manifest | KnowledgeManifest
    text: str = field(repr=False)

    @property
    def parts(self) -> Manifest:
        """Return the manifest as that of a text, whatever it is of."""
        return text_manifest(self.manifest)


def build_bundle(
    receipt: Receipt,
    answer: Answer,
    salts: Salts,
    *,
    signature: Signature,
    documents: Sequence[CitedDocument] = (),
    results: Sequence[ResultProof] = (),
    cut_payload: bytes | None = None,
) -> Bundle:
    """Return the bundle of a release: the cited parts only, rows up to 4 MiB, else none of them.

    `documents` may be more than the cited ones and in any order; one that is missing leaves its
    quotations uncheckable. `results` stand in the order of `receipt.core.results`.
    """
    known = {(each.parts.key, each.parts.revision): each for each in documents}
    cited = _cited(receipt, answer, known)
    manifests = list({id(each): each.manifest for each, _ in cited}.values())
    carried = tuple(_bounded(result) for result in results)
    return Bundle(
        receipt=receipt,
        receipt_sha256=receipt.sha256,
        signature=signature,
        salts=_salts_of(salts, carried),
        text=answer.text,
        statements=answer.statements,
        citations=answer.citations,
        cards=answer.cards,
        manifests=tuple(each for each in manifests if isinstance(each, Manifest)),
        item_manifests=tuple(each for each in manifests if isinstance(each, KnowledgeManifest)),
        parts=tuple({part.part_id: part for _, part in cited}.values()),
        results=carried,
        cut_payload=None if cut_payload is None else cut_payload.hex(),
    )


def _cited(
    receipt: Receipt, answer: Answer, known: Mapping[tuple[str, int], CitedDocument]
) -> list[tuple[CitedDocument, CitedPart]]:
    keys = {each.name: (each.key, each.revision) for each in receipt.core.references}
    found: list[tuple[CitedDocument, CitedPart]] = []
    for citation in answer.citations:
        if not isinstance(citation, QuoteCitation):
            continue
        document = known.get(keys.get(citation.document, ("", 0)))
        part = None if document is None else document.parts.part(citation.part)
        if document is not None and part is not None:
            text = part.slice(document.text)
            found.append((document, CitedPart(part_id=part.part_id, start=part.start, text=text)))
    return found


def _bounded(result: ResultProof) -> ResultProof:
    if result.rows is None or len(result.rows.to_bytes()) <= ROWS_BYTES_MAX:
        return result
    return result.model_copy(update={"rows": None})


def _salts_of(salts: Salts, results: Sequence[ResultProof]) -> Salts:
    kept = tuple(
        salt if result.rows is not None else salt.model_copy(update={"rows": None})
        for salt, result in zip(salts.results, results, strict=True)
    )
    return salts.model_copy(update={"results": kept})
