"""The documents that a caller receives, field by field; the gateway passes their bytes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chancery.events.authority import Language
from chancery.evidence.answer import Answer, EncodedAnswer
from chancery.evidence.receipt import Receipt, ReceiptCore
from chancery.evidence.record import Record
from chancery.evidence.texts import withheld_notice
from chancery.kernel.canonical import Encoded, Json, exact_bytes
from chancery.kernel.clock import to_text
from chancery.kernel.ids import derived_id


def sealed_document(receipt: Receipt, answer: Answer) -> Mapping[str, Json]:
    """Return the sealed answer; every field is in the receipt or is hashed by it.

    `receipt` is a handle, not the receipt: the receipt is read with the audit or the bundle.
    """
    return {
        **_sealed_head(receipt, receipt.sha256),
        "statements": _listed(answer.statements),
        "citations": _listed(answer.citations),
        "cards": _listed(answer.cards),
        "text": answer.text,
    }


def refused_document(receipt: Receipt, answer: Answer) -> Mapping[str, Json]:
    """Return the refusal; its explanation is the fixed text of the outcome.

    Outcomes that tell nothing about the evidence carry a null coverage. A refusal for which no
    selector was asked names its reset context beside the generation.
    """
    return {**_refused_head(receipt, receipt.sha256), "explanation": answer.text}


def document_bytes(
    receipt: Receipt, encoded: EncodedAnswer, *, receipt_sha256: str, sequence: int | None = None
) -> bytes:
    """Return the canonical bytes of the sealed or refused document, from what is encoded already.

    With `sequence`, the number of its event row, they are those of its frame.
    """
    fields: dict[str, Json | Encoded] = {}
    if receipt.core.outcome is None:
        fields |= _sealed_head(receipt, receipt_sha256)
        fields["statements"] = Encoded(encoded.statements)
        fields["citations"] = Encoded(encoded.citations)
        fields["cards"] = Encoded(encoded.cards)
        fields["text"] = encoded.text.decode()
    else:
        fields |= _refused_head(receipt, receipt_sha256)
        fields["explanation"] = encoded.text.decode()
    if sequence is not None:
        fields["sequence"] = sequence
    return exact_bytes(fields)


def _sealed_head(receipt: Receipt, receipt_sha256: str) -> Mapping[str, Json]:
    core = receipt.core
    return {
        "run_id": core.run_id,
        "generation": core.generation,
        "status": "sealed",
        "coverage": _coverage(receipt),
        "as_of": to_text(receipt.decided_at),
        "checkpoint": receipt.cut_sequence,
        "open_gaps": [],
        "receipt": _handle(receipt, receipt_sha256),
    }


def _refused_head(receipt: Receipt, receipt_sha256: str) -> Mapping[str, Json]:
    reset_context = reset_context_of(receipt.core)
    return {
        "run_id": receipt.core.run_id,
        "generation": receipt.core.generation,
        **({} if reset_context is None else {"reset_context": reset_context}),
        "status": "refused",
        "outcome": receipt.core.outcome,
        "coverage": _coverage(receipt),
        "open_gaps": [],
        "receipt": _handle(receipt, receipt_sha256),
    }


def reset_context_of(core: ReceiptCore) -> str | None:
    """Return the reset context of a refusal without a model generation; a retry has another one."""
    if core.status != "refused" or core.selector is not None:
        return None
    return derived_id("reset-context", core.tenant, core.run_id, str(core.generation))


def withheld_document(run_id: str, generation: int, language: Language) -> Mapping[str, Json]:
    """Return what stands in the place of an answer that may not be shown: nothing of it."""
    return {
        "run_id": run_id,
        "generation": generation,
        "status": "withheld",
        "explanation": withheld_notice(language),
    }


def receipt_handle(receipt: Receipt) -> Mapping[str, Json]:
    """Return the handle of a receipt: its release, its hash and its place in the log."""
    return _handle(receipt, receipt.sha256)


def _handle(receipt: Receipt, receipt_sha256: str) -> Mapping[str, Json]:
    return {
        "release_id": receipt.core.release_id,
        "receipt_sha256": receipt_sha256,
        "cut_sequence": receipt.cut_sequence,
    }


def _coverage(receipt: Receipt) -> Mapping[str, Json] | None:
    report = receipt.core.coverage
    return None if report is None else report.to_json()


def _listed(records: Sequence[Record]) -> list[Json]:
    return [record.to_json() for record in records]
