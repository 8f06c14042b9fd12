"""The receipt covers every sealed byte by a salted hash, and a refusal has one too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from chancery.events.release import Outcome
from chancery.evidence.answer import Answer, QuoteFact, compose, encode_answer
from chancery.evidence.coverage import CoverageReport
from chancery.evidence.documents import (
    document_bytes,
    receipt_handle,
    refused_document,
    sealed_document,
    withheld_document,
)
from chancery.evidence.receipt import (
    ReadEntry,
    Receipt,
    content_hashes,
    core_hash,
    receipt_bytes,
)
from chancery.evidence.record import Malformed
from chancery.evidence.salts import commitment, derive_salts, question_salt
from chancery.evidence.texts import explanation, withheld_notice
from chancery.kernel.canonical import Json, canonical_bytes, sha256_hex
from tests.unit.verify import sealed

SALTS = derive_salts(sealed.SEED, 1)
ANSWER = sealed.sealed_answer()
RECEIPT = sealed.sealed_receipt(ANSWER, SALTS)


@pytest.mark.req("KO-12")
def test_the_receipt_records_what_was_decided_and_on_what() -> None:
    told = RECEIPT.to_json()
    core = RECEIPT.core

    assert {"core", "decided_at", "publication_sequence", "read_set", "cut"} <= set(told)
    assert (core.run_id, core.message, core.generation) == ("run-1", 1, 1)
    assert (core.policy_revision, core.policy_sha256) == ("0", sha256_hex(b"policy"))
    assert core.fact_ids == tuple(statement.id for statement in ANSWER.statements)
    assert {source.kind for source in core.sources} == {"source", "dataset"}
    assert (core.statement_count, core.citation_count, core.card_count) == (3, 3, 3)
    assert core.results[0].rows_sha256 is not None


@pytest.mark.req("KO-12")
def test_a_receipt_reads_back_from_its_bytes() -> None:
    assert Receipt.from_bytes(RECEIPT.to_bytes()) == RECEIPT
    assert RECEIPT.sha256 == sha256_hex(RECEIPT.to_bytes())
    with pytest.raises(Malformed):
        Receipt.from_bytes(RECEIPT.to_bytes() + b" ")


@pytest.mark.req("KO-12", "KO-24")
@pytest.mark.parametrize("field", ["text", "statements", "citations", "cards"])
def test_each_content_has_a_hash_of_its_own(field: str) -> None:
    changes: dict[str, object] = {
        "text": ANSWER.text + " ",
        "statements": ANSWER.statements[:2],
        "citations": ANSWER.citations[:2],
        "cards": ANSWER.cards[:2],
    }
    changed = ANSWER.model_copy(update={field: changes[field]})

    before = content_hashes(ANSWER, SALTS).to_json()
    after = content_hashes(changed, SALTS).to_json()

    assert {name for name in before if before[name] != after[name]} == {f"{field}_sha256"}
    assert before[f"{field}_sha256"] == getattr(RECEIPT.core, f"{field}_sha256")


def test_every_hash_of_guessable_content_is_salted() -> None:
    other = sealed.sealed_receipt(ANSWER, derive_salts(bytes(16), 1))
    plain = {
        sha256_hex(ANSWER.text.encode()),
        sealed.VALUE.query_sha256,
        sealed.ROWS.sha256,
        sha256_hex(sealed.QUESTION),
    }
    told = RECEIPT.to_bytes().decode()

    assert not [digest for digest in plain if digest in told]
    assert ANSWER.statements[0].text not in told
    for name in ("text_sha256", "statements_sha256", "citations_sha256", "cards_sha256"):
        assert getattr(other.core, name) != getattr(RECEIPT.core, name)
    assert other.core.results != RECEIPT.core.results


@given(seed=st.binary(min_size=16, max_size=16))
def test_no_two_objects_share_a_salt(seed: bytes) -> None:
    salts = derive_salts(seed, 3)
    each = [salts.core, salts.text, salts.statements, salts.citations, salts.cards]
    each += [salt for result in salts.results for salt in (result.query, result.preview)]
    each += [result.rows for result in salts.results if result.rows is not None]

    assert len({*each, question_salt(seed)}) == 15
    assert derive_salts(seed, 3) == salts


@pytest.mark.parametrize("size", [0, 15, 17, 32])
def test_a_seed_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        derive_salts(bytes(size), 0)


def test_the_hash_of_the_core_depends_on_its_salt() -> None:
    other = SALTS.model_copy(update={"core": "0" * 32})

    assert core_hash(RECEIPT.core, SALTS) != core_hash(RECEIPT.core, other)
    assert commitment("0" * 32, sha256_hex(b"")) != commitment("1" * 32, sha256_hex(b""))


@pytest.mark.parametrize(
    "change",
    [
        {"cut": None},
        {"read_set": RECEIPT.read_set[::-1]},
        {"read_set": (RECEIPT.read_set[0], RECEIPT.read_set[0])},
        {"publication_sequence": -1},
        {"core": RECEIPT.core.model_copy(update={"outcome": "unavailable"})},
        {"core": RECEIPT.core.model_copy(update={"fact_ids": ()})},
    ],
)
def test_a_receipt_that_does_not_hold_together_does_not_parse(change: dict[str, object]) -> None:
    data = RECEIPT.model_copy(update=change).to_bytes()

    with pytest.raises(Malformed):
        Receipt.from_bytes(data)


@pytest.mark.req("KO-12")
def test_what_is_put_together_from_encoded_parts_has_the_bytes_of_the_whole() -> None:
    encoded = encode_answer(ANSWER)

    assert receipt_bytes(RECEIPT, RECEIPT.core.to_bytes()) == RECEIPT.to_bytes()
    assert encoded.text == ANSWER.text.encode()
    for name in ("statements", "citations", "cards"):
        assert getattr(encoded, name) == canonical_bytes(ANSWER.to_json()[name])
    assert _documents(RECEIPT, ANSWER) == [
        canonical_bytes(sealed_document(RECEIPT, ANSWER)),
        canonical_bytes({**sealed_document(RECEIPT, ANSWER), "sequence": 7}),
    ]


@pytest.mark.req("KO-12")
@pytest.mark.parametrize("outcome", ["access_changing", "insufficient_evidence"])
def test_a_refusal_has_the_same_bytes_either_way(outcome: Outcome) -> None:
    answer = Answer(text=explanation(outcome, "ja"))
    salts = derive_salts(sealed.SEED, 0)
    receipt = sealed.refused_receipt(answer, salts, outcome, cut=outcome == "insufficient_evidence")

    assert _documents(receipt, answer) == [
        canonical_bytes(refused_document(receipt, answer)),
        canonical_bytes({**refused_document(receipt, answer), "sequence": 7}),
    ]


def _documents(receipt: Receipt, answer: Answer) -> list[bytes]:
    encoded = encode_answer(answer)
    return [
        document_bytes(receipt, encoded, receipt_sha256=receipt.sha256, sequence=sequence)
        for sequence in (None, 7)
    ]


def test_an_absent_aggregate_has_no_event() -> None:
    assert ReadEntry(kind="policy", id="ws", sequence=0).event_id is None
    with pytest.raises(ValidationError):
        ReadEntry(kind="policy", id="ws", sequence=3)
    with pytest.raises(ValidationError):
        ReadEntry(kind="policy", id="ws", sequence=0, event_id="event")


@pytest.mark.req("KO-9", "KO-12")
@pytest.mark.parametrize("outcome", ["access_changing", "scope_too_wide", "unavailable"])
def test_a_refusal_that_tells_nothing_needs_no_cut(outcome: Outcome) -> None:
    answer = Answer(text=explanation(outcome, "en"))

    receipt = sealed.refused_receipt(answer, derive_salts(sealed.SEED, 0), outcome, cut=False)

    assert receipt.cut_sequence == 0
    assert refused_document(receipt, answer)["coverage"] is None


@pytest.mark.req("CL-10")
def test_a_refusal_with_coverage_stands_on_a_cut() -> None:
    answer = Answer(text=explanation("insufficient_evidence", "en"))
    salts = derive_salts(sealed.SEED, 0)

    receipt = sealed.refused_receipt(answer, salts, "insufficient_evidence", cut=True)

    assert receipt.cut_sequence == sealed.CUT_SEQUENCE
    assert refused_document(receipt, answer) == {
        "run_id": "run-1",
        "generation": 1,
        "status": "refused",
        "outcome": "insufficient_evidence",
        "explanation": answer.text,
        "coverage": _coverage(),
        "open_gaps": [],
        "receipt": receipt_handle(receipt),
    }
    with pytest.raises(ValidationError):
        sealed.refused_receipt(answer, salts, "insufficient_evidence", cut=False)


@pytest.mark.req("CL-2", "CL-13")
def test_the_sealed_document_holds_exactly_its_fields() -> None:
    document = sealed_document(RECEIPT, ANSWER)

    assert set(document) == {
        *("run_id", "generation", "status", "coverage", "as_of", "checkpoint", "statements"),
        *("citations", "cards", "open_gaps", "text", "receipt"),
    }
    assert (document["as_of"], document["checkpoint"]) == ("2026-03-01T12:00:00.123456Z", 77)
    assert document["coverage"] == _coverage()
    assert document["open_gaps"] == []
    assert document["receipt"] == {
        "release_id": "release-1",
        "receipt_sha256": RECEIPT.sha256,
        "cut_sequence": 77,
    }
    assert canonical_bytes(document) == canonical_bytes(sealed_document(RECEIPT, ANSWER))


@pytest.mark.req("CL-13")
def test_a_withheld_document_tells_nothing_of_the_answer() -> None:
    document = withheld_document("run-1", 1, "de")

    assert document == {
        "run_id": "run-1",
        "generation": 1,
        "status": "withheld",
        "explanation": withheld_notice("de"),
    }


@pytest.mark.req("CL-3")
def test_a_quotation_that_looks_like_json_stays_a_string_in_the_document() -> None:
    forged = '"},{"id":"x'
    fact: QuoteFact = replace(sealed.DOCUMENTS[0].fact, text=forged)
    answer = compose((fact,), "en")

    statements = sealed_document(RECEIPT, answer)["statements"]

    assert isinstance(statements, list)
    first: Json = statements[0]
    assert isinstance(first, dict)
    assert (len(statements), first["text"]) == (1, forged)


def _coverage() -> dict[str, Json]:
    report = CoverageReport(
        state="complete", eligible=3, ready=3, pending=0, failed=0, unavailable=0
    )
    return report.to_json()
