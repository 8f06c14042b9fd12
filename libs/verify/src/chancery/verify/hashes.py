"""The checks that need nothing but hashing: receipt, signature, cut, contents, results."""

from __future__ import annotations

from collections.abc import Iterator

from chancery.attest.signing import InvalidKey, is_signed, key_id
from chancery.events.authority import CutTaken
from chancery.events.codec import UndecodableEvent, decode
from chancery.evidence.answer import Answer
from chancery.evidence.bundle import Bundle, ResultProof
from chancery.evidence.receipt import CutRecord, ResultReference, content_hashes, core_hash
from chancery.evidence.salts import ResultSalts, commitment
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import to_text
from chancery.verify.report import (
    Check,
    beyond_a_bundle,
    compared,
    mismatch,
    uncheckable,
    verified,
)


def receipt_checks(bundle: Bundle, trusted: bytes | None) -> Iterator[Check]:
    """Yield the checks of receipt hash and signature."""
    problems = [] if bundle.receipt.sha256 == bundle.receipt_sha256 else ["the receipt was altered"]
    yield compared("receipt_hash", problems, "the receipt has the stated hash")
    yield _signature(bundle)
    if trusted is None:
        told = f"signed by key {bundle.signature.key_id}; whether to trust it is yours to decide"
        yield beyond_a_bundle("signing_key", told)
    elif trusted.hex() != bundle.signature.public_key:
        yield mismatch("signing_key", "the bundle was signed with another key than the trusted one")
    else:
        yield verified("signing_key", f"the trusted key {key_id(trusted)}")


def cut_check(bundle: Bundle) -> Check:
    """Return the check of the cut message against the receipt."""
    record, payload = bundle.receipt.cut, bundle.cut_payload
    if record is None:
        problems = [] if payload is None else ["the receipt has no cut, the bundle carries one"]
        return compared("cut", problems, "this refusal tells nothing and needed no cut")
    if payload is None:
        return uncheckable("cut", "the bundle carries no cut message")
    data = bytes.fromhex(payload)
    if sha256_hex(data) != record.payload_sha256:
        return mismatch("cut", "the cut message is not the one in the receipt")
    try:
        event = decode(data)
    except UndecodableEvent as error:
        return mismatch("cut", f"the cut message does not decode: {error.detail}")
    if not isinstance(event.data, CutTaken) or event.tenant != bundle.receipt.core.tenant:
        return mismatch("cut", "the message is no cut of this tenant")
    problems = list(_cut_problems(bundle, record, event.data))
    return compared("cut", problems, "the cut names this receipt core, moment and read set")


def content_checks(bundle: Bundle) -> Iterator[Check]:
    """Yield the checks of the four content hashes, the fact ids and the counts."""
    core = bundle.receipt.core
    answer = Answer(
        text=bundle.text,
        statements=bundle.statements,
        citations=bundle.citations,
        cards=bundle.cards,
    )
    found = content_hashes(answer, bundle.salts)
    for name, stated, actual in (
        ("text", core.text_sha256, found.text_sha256),
        ("statements", core.statements_sha256, found.statements_sha256),
        ("citations", core.citations_sha256, found.citations_sha256),
        ("cards", core.cards_sha256, found.cards_sha256),
    ):
        problems = [] if stated == actual else [f"{name} or the salt was altered"]
        yield compared(name, problems, "the salted hash in the receipt")
    yield compared("counts", list(_count_problems(bundle)), "facts and counts of the receipt")


def result_checks(bundle: Bundle) -> Iterator[Check]:
    """Yield the checks of each result's query, preview and rows against their commitments."""
    references = bundle.receipt.core.results
    if not len(references) == len(bundle.salts.results) == len(bundle.results):
        stated = f"the receipt names {len(references)} results, the bundle carries others"
        yield mismatch("results", stated)
        return
    rows = zip(references, bundle.salts.results, bundle.results, strict=True)
    for number, (reference, salts, proof) in enumerate(rows):
        problems = list(_result_problems(reference, salts, proof))
        yield compared(f"results[{number}]", problems, "query, preview and rows of the receipt")


def _signature(bundle: Bundle) -> Check:
    carried = bundle.signature
    public_key = bytes.fromhex(carried.public_key)
    if key_id(public_key) != carried.key_id:
        return mismatch("signature", "the key id does not name the carried key")
    try:
        signed = is_signed(public_key, bundle.receipt_sha256, bytes.fromhex(carried.signature))
    except InvalidKey:
        signed = False
    problems = [] if signed else ["the signature is not one of this receipt hash"]
    return compared("signature", problems, f"Ed25519 by key {carried.key_id}")


def _cut_problems(bundle: Bundle, record: CutRecord, cut: CutTaken) -> Iterator[str]:
    receipt = bundle.receipt
    if cut.core_sha256 != core_hash(receipt.core, bundle.salts):
        yield "the cut names another receipt core, or the salt was altered"
    if (cut.run_id, cut.generation) != (receipt.core.run_id, receipt.core.generation):
        yield "the cut is of another run or generation"
    if cut.attempt != record.attempt:
        yield "the cut is of another attempt"
    if to_text(cut.decided_at) != to_text(receipt.decided_at):
        yield "the cut was decided at another moment"
    named = sorted((name.kind, name.id) for name in cut.read_set)
    if named != [(entry.kind, entry.id) for entry in receipt.read_set]:
        yield "the cut names another read set"
    if any(entry.sequence >= record.sequence for entry in receipt.read_set):
        yield "the read set holds an event that is not before the cut"


def _count_problems(bundle: Bundle) -> Iterator[str]:
    core = bundle.receipt.core
    stated = (core.statement_count, core.citation_count, core.card_count)
    if stated != (len(bundle.statements), len(bundle.citations), len(bundle.cards)):
        yield "the receipt counts other statements, citations or cards"
    if core.fact_ids != tuple(statement.id for statement in bundle.statements):
        yield "the receipt names other facts than the statements state"


def _result_problems(
    reference: ResultReference, salts: ResultSalts, proof: ResultProof
) -> Iterator[str]:
    if commitment(salts.query, proof.query_sha256) != reference.query_sha256:
        yield "the query or its salt was altered"
    if commitment(salts.preview, proof.preview_sha256) != reference.preview_sha256:
        yield "the preview or its salt was altered"
    if (proof.rows is None) != (salts.rows is None):
        yield "rows and their salt are carried together or not at all"
    elif proof.rows is None or salts.rows is None:
        return
    elif reference.rows_sha256 != commitment(salts.rows, proof.rows.sha256):
        yield "the rows or their salt were altered"
