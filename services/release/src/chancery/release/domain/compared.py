"""What an examination compares each column of the sealed record, and of its run, to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NAME: Final = "the receipt; it finds the row"
_OPENS: Final = "what it opens, which has the hashes of the receipt"

COMPARED: Final[Mapping[str, Mapping[str, str]]] = {
    "release": {
        "tenant": _NAME,
        "release_id": _NAME,
        "run_id": _NAME,
        "generation": _NAME,
        "reset_context": "what follows from the receipt",
        "kind": "the status of the receipt",
        "outcome": "the receipt",
        "workspace_id": "the receipt",
        "principal": "the receipt",
        "cut_sequence": "the cut of the receipt, and the log",
        "decided_at": "the receipt",
        "language": "the receipt",
        "request": "asker, policy, corpus, read set and references of the receipt",
        "citations": "the count of the receipt, and of the rows",
        "cards": "the count of the receipt, and of the rows",
        "sealed_at": "the moment of the decision, and of the end of the run",
    },
    "release_read": dict.fromkeys(
        ("tenant", "release_id", "kind", "id", "sequence"), "the read set of the receipt"
    ),
    "citation": {
        **dict.fromkeys(("tenant", "release_id"), _NAME),
        **dict.fromkeys(("n", "citation_id", "kind"), "the facts and values of the receipt"),
        **dict.fromkeys(
            ("aggregate_kind", "aggregate_id", "revision"),
            "the citation's content and the references of the receipt; erased, the latter alone",
        ),
    },
    "card": {
        **dict.fromkeys(("tenant", "release_id"), _NAME),
        **dict.fromkeys(("n", "card_id", "citation_id"), "the facts of the receipt"),
    },
    "receipt": {
        **dict.fromkeys(("tenant", "release_id"), _NAME),
        "receipt_sha256": "the bytes of the receipt, and the event on the log",
        "body": "the hash that was signed",
        "public_key": "the signature",
        "signature": "the hash, under the public key",
    },
    "content": {
        **dict.fromkeys(("tenant", "release_id", "kind", "n"), "the place that it was sealed for"),
        "ciphertext": "its key, and the hashes or fields of the receipt",
    },
    "run_event": {
        **dict.fromkeys(("tenant", "run_id", "release_id"), "the release that it tells of"),
        "number": "the frame of the release, and the rows of the run, which have no gap",
        "generation": "the release",
        "event": "the kind of the release",
        "body": "null beside a release; of other rows the end of a generation alone is compared",
    },
    "release_key": {
        **dict.fromkeys(("tenant", "release_id"), _NAME),
        "key": _OPENS,
        "seed": "the salted hashes of the receipt",
    },
    "run": {
        **dict.fromkeys(("tenant", "run_id"), _NAME),
        **dict.fromkeys(
            ("workspace_id", "conversation_id", "message", "principal", "mode"), "the receipt"
        ),
        "credential_id": "the receipt of the generation",
        "state": "the kind of the release",
        "generation": "the releases of the run",
        "lease": "the admission",
        "deadline": "the admission",
        "bounds": "the admission",
        "question_sha256": "the commitment in the receipt; the admission",
        "policy_sha256": "the receipt of an answer",
        "admitted": "the receipt, the run and the event on the log",
        "gathered": "the receipt, the request and the event on the log",
        "proposed": "the facts of the receipt and the event on the log",
        "detail": "null for an answer",
        "events": "the event rows of the run",
        "ended_at": "the moment of the seal",
    },
}
"""Table to column to what the column is compared to."""

NOT_COMPARED: Final[Mapping[tuple[str, str], str]] = {
    ("release", "sealed_xid"): "it means something inside its transaction only",
    ("run", "traceparent"): "it says where a trace is to be found, and nothing of the answer",
}
"""What nothing else tells, and what it would tell."""
