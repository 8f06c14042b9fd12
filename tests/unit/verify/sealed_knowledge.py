"""A sealed answer of a source, a curated item and a private file, asked of a corpus."""

from __future__ import annotations

from datetime import UTC, datetime

from chancery.evidence.answer import Answer, QuoteFact, compose
from chancery.evidence.bundle import Bundle, CitedDocument
from chancery.evidence.citations import DocumentKind
from chancery.evidence.knowledge import (
    RootReference,
    VersionPin,
    VersionWords,
    build_view,
    roots_sha256,
)
from chancery.evidence.manifest import Manifest, build_manifest
from chancery.evidence.receipt import build_core
from chancery.evidence.references import CorpusReference, FileReference, ItemReference
from chancery.evidence.salts import derive_salts
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import resource_key
from tests.unit.verify import sealed

SOURCE = sealed.DOCUMENTS[1]
BODY = "Filling. " * 700 + "Refunds are paid within 14 days.\n"
NOTE = "Ask Mara before you refund more than 500 euro.\n"
ROOT = RootReference(
    kind="source",
    key=SOURCE.manifest.key,
    id=SOURCE.source_id,
    revision=3,
    content_sha256=SOURCE.manifest.content_sha256,
)
PIN = VersionPin(
    item_key=resource_key("ws", "item", "refunds"),
    item_id="refunds",
    workspace_id="ws",
    native_item_id="refunds",
    native_workspace_id="ws",
    version=2,
    version_id="version-2",
    native_version_id="version-2",
    operation_id="operation-9",
    content_sha256=sha256_hex(BODY.encode()),
    evidence_sha256=roots_sha256((ROOT,)),
    roots=(ROOT,),
)
VIEW = build_view(
    PIN,
    VersionWords(
        title="Refunds",
        kind="procedure",
        domain="finance",
        tags=("refund",),
        author="ada",
        committed_at=datetime(2026, 3, 1, tzinfo=UTC),
    ),
    BODY,
    extractor="text/1",
)
FILE = build_manifest(
    "file-1", 1, content_sha256=sha256_hex(NOTE.encode()), extractor="text/1", text=NOTE
)


def _fact(kind: DocumentKind, manifest: Manifest, text: str, quote: str) -> QuoteFact:
    start = text.index(quote)
    end = start + len(quote)
    part = next(each for each in manifest.parts if each.start <= start and end <= each.end)
    return QuoteFact(
        tenant=sealed.TENANT,
        kind=kind,
        key=manifest.key,
        document_id="refunds" if kind == "item" else "file-1",
        title="Refunds" if kind == "item" else "note.txt",
        revision=manifest.revision,
        part_id=part.part_id,
        ordinal=part.ordinal,
        start=start,
        end=end,
        text=quote,
        version_id=PIN.version_id if kind == "item" else None,
    )


def answer() -> Answer:
    """Return the answer: one quotation each of a source, an item and a file."""
    item = _fact("item", VIEW.as_text(), BODY, "Refunds are paid within 14 days.")
    return compose((SOURCE.fact, item, _fact("file", FILE, NOTE, NOTE.strip())), "en")


def bundle() -> Bundle:
    """Return the bundle of the answer."""
    salts = derive_salts(sealed.SEED, 0)
    references = (
        FileReference(
            id="file-1",
            revision=1,
            content_sha256=FILE.content_sha256,
            extraction_sha256=FILE.extraction_sha256,
            manifest_sha256=FILE.sha256,
        ),
        ItemReference(pin=PIN, extraction_sha256=VIEW.body_sha256, manifest_sha256=VIEW.sha256),
        SOURCE.reference,
    )
    corpus = CorpusReference(
        id="Handbook",
        key=resource_key("ws", "corpus", "Handbook"),
        declaration_sha256=sha256_hex(b"declaration"),
    )
    core = build_core(sealed.run_record(), answer(), salts, references=references, corpus=corpus)
    documents = [
        CitedDocument(FILE, NOTE),
        CitedDocument(VIEW, BODY),
        CitedDocument(SOURCE.manifest, SOURCE.text),
    ]
    return sealed.bundle_of(sealed.receipt_of(core, salts), salts, answer(), documents=documents)
