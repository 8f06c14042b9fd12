"""The documents that a caller receives, field by field; the gateway passes their bytes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chancery.events.authority import Language
from chancery.evidence.answer import Answer
from chancery.evidence.receipt import Receipt, ReceiptCore
from chancery.evidence.record import Record
from chancery.evidence.texts import withheld_notice
from chancery.kernel.canonical import Json
from chancery.kernel.clock import to_text
from chancery.kernel.ids import derived_id


def sealed_document(
    receipt: Receipt, answer: Answer, *, receipt_sha256: str | None = None
) -> Mapping[str, Json]:
    """Return the sealed answer; every field is in the receipt or is hashed by it.

    `receipt` is a handle, not the receipt: the receipt is read with the audit or the bundle. Who
    has just made its hash hands it over.
    """
    core = receipt.core
    return {
        "run_id": core.run_id,
        "generation": core.generation,
        "status": "sealed",
        "coverage": _coverage(receipt),
        "as_of": to_text(receipt.decided_at),
        "checkpoint": receipt.cut_sequence,
        "statements": _listed(answer.statements),
        "citations": _listed(answer.citations),
        "cards": _listed(answer.cards),
        "open_gaps": [],
        "text": answer.text,
        "receipt": receipt_handle(receipt, receipt_sha256),
    }


def refused_document(
    receipt: Receipt, answer: Answer, *, receipt_sha256: str | None = None
) -> Mapping[str, Json]:
    """Return the refusal; its explanation is the fixed text of the outcome.

    Outcomes that tell nothing about the evidence carry a null coverage. A refusal for which no
    selector was asked names its reset context beside the generation.
    """
    reset_context = reset_context_of(receipt.core)
    return {
        "run_id": receipt.core.run_id,
        "generation": receipt.core.generation,
        **({} if reset_context is None else {"reset_context": reset_context}),
        "status": "refused",
        "outcome": receipt.core.outcome,
        "explanation": answer.text,
        "coverage": _coverage(receipt),
        "open_gaps": [],
        "receipt": receipt_handle(receipt, receipt_sha256),
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


def receipt_handle(receipt: Receipt, receipt_sha256: str | None = None) -> Mapping[str, Json]:
    """Return the handle of a receipt: its release, its hash and its place in the log."""
    return {
        "release_id": receipt.core.release_id,
        "receipt_sha256": receipt.sha256 if receipt_sha256 is None else receipt_sha256,
        "cut_sequence": receipt.cut_sequence,
    }


def _coverage(receipt: Receipt) -> Mapping[str, Json] | None:
    report = receipt.core.coverage
    return None if report is None else report.to_json()


def _listed(records: Sequence[Record]) -> list[Json]:
    return [record.to_json() for record in records]
