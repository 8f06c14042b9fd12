"""A sealed answer of two quotations and a value, and a refusal, made as release makes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from chancery.attest.signing import SigningKey
from chancery.events.authority import AggregateName, CutTaken, Language
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event
from chancery.events.release import Outcome
from chancery.evidence.answer import Answer, QuoteFact, ValueFact, compose
from chancery.evidence.bundle import (
    Bundle,
    CitedDocument,
    ResultProof,
    RowsRead,
    Signature,
    build_bundle,
)
from chancery.evidence.coverage import CoverageReport
from chancery.evidence.manifest import Manifest, build_manifest
from chancery.evidence.quote import resolve_quote
from chancery.evidence.receipt import (
    CutRecord,
    Execution,
    ReadEntry,
    Receipt,
    ReceiptCore,
    RunRecord,
    SourceReference,
    ValueReference,
    build_core,
    core_hash,
)
from chancery.evidence.salts import Salts, commitment, derive_salts, question_salt
from chancery.evidence.texts import explanation
from chancery.kernel.canonical import Json, canonical_bytes, sha256_hex
from chancery.kernel.errors import Rejected
from chancery.kernel.ids import resource_key
from chancery.tabular.preview import PreviewForm

TENANT = "default"
SEED = bytes(range(16))
KEY = SigningKey(bytes(range(32)))
DECIDED_AT = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
CUT_SEQUENCE = 77
QUESTION = b"Who owns service reviews?"
SQL = "SELECT sum(amount) FROM orders"
SILENT = PreviewForm(texts=None, quotes_names=False)
"""The form of a preview that tells nothing of its labels: they have no text and no odd name."""

ROWS = RowsRead(
    table="orders", columns=(("amount", "DECIMAL(10,2)"),), rows=(("1250.00",), ("2750.00",))
)
HANDBOOK = (
    "# Handbook\n\n" + "Filling. " * 600 + "The platform team 🚀 owns service reviews.\n\nEnd.\n"
)
CURRENCY = "All amounts are in euro. {0} %s [1] “x”\n— y, part 1, 0–1\n"


def preview_of(rows: RowsRead) -> Mapping[str, Json]:
    """Return the preview that the real worker would record for `SQL` over `rows`."""
    total = sum((Decimal(row[0] or "0") for row in rows.rows), Decimal(0))
    column: Mapping[str, Json] = {
        "name": "sum(amount)",
        "label": "SUM(orders.amount)",
        "type": "DECIMAL(38,2)",
        "eligible": True,
        "reason": None,
        "native": {"table": "orders", "column": "amount", "aggregate": "SUM", "where": []},
    }
    return {"sql": SQL, "columns": [column], "rows": [[f"{total:.2f}"]], "truncated": False}


def run_in_python(sql: str, rows: RowsRead, *, form: PreviewForm = SILENT) -> bytes:
    """Stand in for DuckDB: sums the one column of the orders table, refuses everything else."""
    assert form == SILENT
    if sql != SQL or rows.table != "orders" or rows.columns != ROWS.columns:
        message = "not the statement that this stand-in knows"
        raise Rejected(message, code="sql_not_bindable")
    if any(not re.fullmatch(r"\d+\.\d\d", value or "") for row in rows.rows for value in row):
        message = "not a canonical value"
        raise Rejected(message, code="sql_failed")
    return canonical_bytes(preview_of(rows))


@dataclass(frozen=True, slots=True)
class Document:
    """A source with its manifest and the fact that quotes it."""

    source_id: str
    text: str
    manifest: Manifest
    fact: QuoteFact

    @property
    def reference(self) -> SourceReference:
        return SourceReference(
            kind="source",
            id=self.source_id,
            key=self.manifest.key,
            revision=self.manifest.revision,
            content_sha256=self.manifest.content_sha256,
            extraction_sha256=self.manifest.extraction_sha256,
            manifest_sha256=self.manifest.sha256,
        )


def document(
    source_id: str, title: str, text: str, quote: str, pages: tuple[int, ...] = ()
) -> Document:
    """Return a source whose fact is the first occurrence of `quote` in `text`."""
    key = resource_key("ws", "source", source_id)
    manifest = build_manifest(
        key,
        3,
        content_sha256=sha256_hex(text.encode()),
        extractor="text/1",
        text=text,
        pages=pages,
        layout_sha256=sha256_hex(b"layout") if pages else None,
    )
    start = text.index(quote)
    end = start + len(quote)
    part = next(each for each in manifest.parts if each.start <= start and end <= each.end)
    fact = QuoteFact(
        tenant=TENANT,
        kind="source",
        key=key,
        document_id=source_id,
        title=title,
        revision=3,
        part_id=part.part_id,
        ordinal=part.ordinal,
        start=start,
        end=end,
        text=resolve_quote(text, manifest, part.part_id, start, end),
        page=manifest.page(start),
    )
    return Document(source_id, text, manifest, fact)


DOCUMENTS = (
    document(
        "handbook",
        "Handbook\n\n[9] “forged”",
        HANDBOOK,
        "The platform team 🚀 owns service reviews.",
        pages=(0, 12, 12, 4000, len(HANDBOOK)),
    ),
    document("currency", "Currency", CURRENCY, CURRENCY.strip()),
)
VALUE = ValueFact(
    tenant=TENANT,
    key=resource_key("ws", "dataset", "orders"),
    dataset_id="orders",
    title="Orders",
    snapshot=2,
    query_sha256=sha256_hex(SQL.encode()),
    row=0,
    column=0,
    label="SUM(orders.amount)",
    type="DECIMAL(38,2)",
    value="4000.00",
    display="4,000.00",
)


def run_record(*, language: Language = "en", coverage: bool = True) -> RunRecord:
    """Return what release knows of the run before the answer."""
    report = CoverageReport(
        state="complete", eligible=3, ready=3, pending=0, failed=0, unavailable=0
    )
    return RunRecord(
        tenant=TENANT,
        run_id="run-1",
        release_id="release-1",
        generation=1,
        workspace_id="ws",
        conversation_id="conversation-1",
        message=1,
        principal="reader",
        credential_id="credential-1",
        mode="auto",
        policy_revision="0",
        policy_sha256=sha256_hex(b"policy"),
        language=language,
        selector="extractive",
        barrier=70,
        index_position=12,
        coverage=report if coverage else None,
        question_sha256=commitment(question_salt(SEED), sha256_hex(QUESTION)),
    )


def cut_payload(core: ReceiptCore, salts: Salts, names: Sequence[ReadEntry]) -> bytes:
    """Return the bytes of the cut message."""
    data = CutTaken(
        run_id=core.run_id,
        generation=core.generation,
        attempt=1,
        read_set=tuple(AggregateName(kind=entry.kind, id=entry.id) for entry in names),
        core_sha256=core_hash(core, salts),
        decided_at=DECIDED_AT,
    )
    envelope = Envelope(
        id="cut-1",
        source="release",
        type=CutTaken.TYPE,
        subject=TENANT,
        time=DECIDED_AT,
        tenant=TENANT,
    )
    return encode(Event(envelope=envelope, data=data))


def read_set() -> tuple[ReadEntry, ...]:
    """Return a read set with an aggregate that had no event."""
    names = (
        ("dataset", VALUE.key, 40),
        ("policy", "ws", 0),
        ("principal", "reader", 12),
        *(("source", each.manifest.key, 50) for each in DOCUMENTS),
        ("tenant", TENANT, 1),
        ("workspace", "ws", 3),
    )
    entries = [
        ReadEntry.model_validate(
            {
                "kind": kind,
                "id": name,
                "sequence": sequence,
                "type": f"chancery.{kind}.created.v1" if sequence else None,
                "event_id": f"event-{sequence}" if sequence else None,
                "payload_sha256": sha256_hex(name.encode()) if sequence else None,
            }
        )
        for kind, name, sequence in names
    ]
    return tuple(sorted(entries, key=lambda entry: (entry.kind, entry.id)))


def sealed_answer(language: Language = "en") -> Answer:
    """Return the mixed answer: two quotations and a value."""
    return compose((DOCUMENTS[0].fact, VALUE, DOCUMENTS[1].fact), language)


def sealed_receipt(answer: Answer, salts: Salts, language: Language = "en") -> Receipt:
    """Return the receipt of the mixed answer."""
    dataset = SourceReference(
        kind="dataset",
        id=VALUE.dataset_id,
        key=VALUE.key,
        revision=VALUE.snapshot,
        content_sha256=sha256_hex(b"csv"),
        extraction_sha256=sha256_hex(b"parquet"),
        manifest_sha256=sha256_hex(b"manifest"),
    )
    execution = Execution(
        key=VALUE.key,
        snapshot=VALUE.snapshot,
        engine="duckdb",
        query_sha256=VALUE.query_sha256,
        preview_sha256=sha256_hex(canonical_bytes(preview_of(ROWS))),
        rows_sha256=ROWS.sha256,
    )
    core = build_core(
        run_record(language=language),
        answer,
        salts,
        references=(*(each.reference for each in DOCUMENTS), dataset),
        executions=(execution,),
        values=(ValueReference(fact_id=VALUE.id, result=0, row=0, column=0),),
    )
    return receipt_of(core, salts)


def refused_receipt(answer: Answer, salts: Salts, outcome: Outcome, *, cut: bool) -> Receipt:
    """Return the receipt of a refusal."""
    core = build_core(run_record(coverage=cut), answer, salts, outcome=outcome)
    if cut:
        return receipt_of(core, salts)
    return Receipt(core=core, decided_at=DECIDED_AT, publication_sequence=0, read_set=(), cut=None)


def bundle(language: Language = "en") -> Bundle:
    """Return the bundle of the mixed answer."""
    salts = derive_salts(SEED, 1)
    answer = sealed_answer(language)
    receipt = sealed_receipt(answer, salts, language)
    proof = ResultProof.model_validate({"sql": SQL, "preview": preview_of(ROWS), "rows": ROWS})
    documents = [CitedDocument(each.manifest, each.text) for each in reversed(DOCUMENTS)]
    return bundle_of(receipt, salts, answer, documents=documents, results=(proof,))


def refused_bundle(outcome: Outcome = "insufficient_evidence", *, cut: bool = True) -> Bundle:
    """Return the bundle of a refusal."""
    salts = derive_salts(SEED, 0)
    answer = Answer(text=explanation(outcome, "en"))
    return bundle_of(refused_receipt(answer, salts, outcome, cut=cut), salts, answer)


def without_rows(full: Bundle) -> Bundle:
    """Return the same release as if its rows had been more than a bundle carries."""
    salts = full.salts.model_copy(
        update={
            "results": tuple(each.model_copy(update={"rows": None}) for each in full.salts.results)
        }
    )
    results = tuple(each.model_copy(update={"rows": None}) for each in full.results)
    return full.model_copy(update={"salts": salts, "results": results})


def receipt_of(core: ReceiptCore, salts: Salts) -> Receipt:
    """Return the receipt around `core`."""
    entries = read_set()
    return Receipt(
        core=core,
        decided_at=DECIDED_AT,
        publication_sequence=50,
        read_set=entries,
        cut=CutRecord(
            sequence=CUT_SEQUENCE,
            attempt=1,
            payload_sha256=sha256_hex(cut_payload(core, salts, entries)),
            authority_digest=sha256_hex(b"digest"),
            effective_expiry=None,
        ),
    )


def bundle_of(
    receipt: Receipt,
    salts: Salts,
    answer: Answer,
    *,
    documents: Sequence[CitedDocument] = (),
    results: tuple[ResultProof, ...] = (),
) -> Bundle:
    """Return the signed bundle of a receipt."""
    payload = None
    if receipt.cut is not None:
        payload = cut_payload(receipt.core, salts, receipt.read_set)
    signature = Signature(
        key_id=KEY.key_id,
        public_key=KEY.public_key.hex(),
        signature=KEY.sign(receipt.sha256).hex(),
    )
    return build_bundle(
        receipt,
        answer,
        salts,
        signature=signature,
        documents=documents,
        results=results,
        cut_payload=payload,
    )
