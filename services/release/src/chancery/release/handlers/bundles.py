"""The bundle of a release: what is sealed, and the evidence it names, checked on the way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import TypeAdapter

from chancery.attest.signing import key_id
from chancery.authority.release import ReleaseRequest
from chancery.evidence.answer import Card, Statement
from chancery.evidence.bundle import Bundle, CitedPart, ResultProof, RowsRead, Signature
from chancery.evidence.citations import Citation, QuoteCitation
from chancery.evidence.knowledge import KnowledgeManifest
from chancery.evidence.manifest import Manifest
from chancery.evidence.receipt import Execution, Receipt
from chancery.evidence.salts import Salts, derive_salts
from chancery.kernel.canonical import parse_json, sha256_hex
from chancery.kernel.errors import Corrupt, Unavailable
from chancery.release.domain.documents import Document
from chancery.release.domain.releases import Release
from chancery.release.domain.selection import Pin
from chancery.release.errors import SealedRowDamaged
from chancery.release.ports.stores import CutLog, EvidenceStore, ReleaseStore

_STATEMENTS: Final = TypeAdapter(tuple[Statement, ...])
_CITATIONS: Final = TypeAdapter(tuple[Citation, ...])
_CARDS: Final = TypeAdapter(tuple[Card, ...])
_EXECUTIONS: Final = TypeAdapter(tuple[Execution, ...])
_Form = TypeVar("_Form", Manifest, KnowledgeManifest)
_KINDS: Final = ("text", "statements", "citations", "cards", "executions")


@dataclass(frozen=True, slots=True)
class Bundles:
    """Builds bundles; only after a disclosure was allowed."""

    cuts: CutLog
    releases: ReleaseStore
    evidence: EvidenceStore

    async def build(self, release: Release) -> Bundle:
        """Return the bundle of a release.

        Raises:
            Corrupt: a sealed row or its evidence does not verify.
            Unavailable: blobs, database or log are away.
        """
        receipt = release.parsed_receipt()
        contents = await self.releases.contents(release, *_KINDS)
        citations = _CITATIONS.validate_json(contents["citations"])
        executions = _EXECUTIONS.validate_json(contents["executions"])
        documents = await self._documents(release, receipt, citations)
        results = tuple([await self._result(release, each) for each in executions])
        return Bundle(
            receipt=receipt,
            receipt_sha256=release.receipt_sha256,
            signature=_signature(release),
            salts=_salts(release, results),
            text=contents["text"].decode(),
            statements=_STATEMENTS.validate_json(contents["statements"]),
            citations=citations,
            cards=_CARDS.validate_json(contents["cards"]),
            manifests=_of(Manifest, documents),
            item_manifests=_of(KnowledgeManifest, documents),
            parts=_parts(documents, citations),
            results=results,
            cut_payload=await self._cut_payload(receipt),
        )

    async def _documents(
        self, release: Release, receipt: Receipt, citations: Sequence[Citation]
    ) -> list[Document]:
        """Return the cited documents in the order in which the citations first use them."""
        used = {each.name: each for each in receipt.core.references}
        names = dict.fromkeys(
            each.document for each in citations if isinstance(each, QuoteCitation)
        )
        found: list[Document] = []
        for name in names:
            document = used[name]
            hashes = (document.extraction_sha256, document.manifest_sha256)
            pin = Pin(name[0], document.key, *hashes)
            found.append(await self.evidence.document(release.tenant, pin))
        return found

    async def _result(self, release: Release, execution: Execution) -> ResultProof:
        place = (release.tenant, release.run_id)
        sql = await self.evidence.run_blob(*place, execution.query_sha256)
        preview = await self.evidence.run_blob(*place, execution.preview_sha256)
        if sql is None or preview is None:
            message = "the recorded query of a sealed value is not in the blob store"
            raise Unavailable(message, code="evidence_missing")
        rows = None
        if execution.rows_sha256 is not None:
            data = await self.evidence.run_blob(*place, execution.rows_sha256)
            rows = None if data is None else authorised_rows(data, release.request, execution.key)
        parsed = parse_json(preview)
        return ResultProof.model_validate(
            {"sql": sql.decode(), "preview": parsed, "rows": rows}, strict=False
        )

    async def _cut_payload(self, receipt: Receipt) -> str | None:
        if receipt.cut is None:
            return None
        payload = await self.cuts.payload(receipt.cut.sequence)
        if payload is None or sha256_hex(payload) != receipt.cut.payload_sha256:
            message = "the log does not hold the cut that the receipt names"
            raise SealedRowDamaged(message, code="cut_missing")
        return payload.hex()


def authorised_rows(data: bytes, request: ReleaseRequest, key: str) -> RowsRead:
    """Return rows that a query read, of no other column than the decision was asked about.

    Raises:
        SealedRowDamaged: they hold something else; the release is not handed out with them.
        Malformed: they are no rows.
    """
    rows = RowsRead.from_bytes(data)
    columns = {name for pin in request.pinned if pin.key == key for name in pin.columns}
    if not {name for name, _ in rows.columns} <= columns:
        message = "the recorded rows of a sealed value hold columns that its query does not read"
        raise SealedRowDamaged(message, code="rows_not_authorised")
    return rows


def _signature(release: Release) -> Signature:
    return Signature(
        key_id=key_id(release.public_key),
        public_key=release.public_key.hex(),
        signature=release.signature.hex(),
    )


def _salts(release: Release, results: Sequence[ResultProof]) -> Salts:
    """Return the salts of what is carried; rows that are left out leave out theirs."""
    if release.keys is None:
        message = "the keys of this release were erased"
        raise SealedRowDamaged(message, code="content_erased")
    salts = derive_salts(release.keys.salt, len(results))
    kept = tuple(
        salt if result.rows is not None else salt.model_copy(update={"rows": None})
        for salt, result in zip(salts.results, results, strict=True)
    )
    return salts.model_copy(update={"results": kept})


def _of(form: type[_Form], documents: Sequence[Document]) -> tuple[_Form, ...]:
    manifests = (each.manifest for each in documents)
    return tuple(manifest for manifest in manifests if isinstance(manifest, form))


def _parts(documents: Sequence[Document], citations: Sequence[Citation]) -> tuple[CitedPart, ...]:
    wanted = dict.fromkeys(each.part for each in citations if isinstance(each, QuoteCitation))
    return tuple(_part(documents, part_id) for part_id in wanted)


def _part(documents: Sequence[Document], part_id: str) -> CitedPart:
    for document in documents:
        part = document.parts.part(part_id)
        if part is not None:
            text = part.slice(document.text)
            return CitedPart(part_id=part_id, start=part.start, text=text)
    message = "a cited part is in no pinned manifest"
    raise Corrupt(message, code="altered_text")
