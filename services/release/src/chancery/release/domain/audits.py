"""The audit of a run: recorded facts and hashes, each on its own, none rebuilt from today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chancery.authority.names import AggregateRef
from chancery.authority.release import Pinned
from chancery.authority.states import DatasetState, SourceState
from chancery.evidence.receipt import Receipt, ResultReference, SourceReference
from chancery.kernel.canonical import Json
from chancery.release.domain.runs import Run
from chancery.release.domain.snapshot import Snapshot

LIMITS: tuple[str, ...] = (
    "A sealed answer proves where its statements come from, not that they are true or current.",
    "It does not prove that the quoted evidence entails an answer to the question.",
    "Nothing here protects from the owner of the database beyond the published log.",
    "Bytes that a caller has received cannot be recalled.",
)
"""What a sealed answer does not promise (the audit says so itself)."""


def open_audit(run: Run) -> Mapping[str, Json]:
    """Return the audit of a run for which no release was recorded."""
    return {
        "run_id": run.run_id,
        "generation": run.generation,
        "status": "open",
        "sources": [],
        "native_reads": [],
        "rlm_tools": [],
        "retrieved": [],
        "limits": list(LIMITS),
    }


def audit_document(
    run: Run,
    receipt: Receipt,
    pinned: Sequence[Pinned],
    snapshot: Snapshot,
    *,
    signature: str,
) -> Mapping[str, Json]:
    """Return the audit of a released run; `retrieved` stands apart from the used `sources`."""
    core = receipt.core
    return {
        "run_id": run.run_id,
        "generation": core.generation,
        "status": core.status,
        "outcome": core.outcome,
        "sources": [_source(each, snapshot) for each in core.sources],
        "native_reads": [_read(each, core.sources) for each in core.results],
        "rlm_tools": [],
        "retrieved": [_retrieved(each, snapshot) for each in _gathered(run, pinned)],
        "output_release": {
            "receipt": receipt.to_json(),
            "receipt_sha256": receipt.sha256,
            "signature": signature,
        },
        "limits": list(LIMITS),
    }


def _source(reference: SourceReference, snapshot: Snapshot) -> Json:
    serving = _serving(AggregateRef(reference.kind, reference.key), snapshot)
    now: Json = {"serving_revision": serving, "available": serving == reference.revision}
    return {**reference.to_json(), "now": now}


def _read(result: ResultReference, sources: Sequence[SourceReference]) -> Json:
    dataset = next((each.id for each in sources if each.key == result.key), None)
    return {**result.to_json(), "dataset_id": dataset}


def _gathered(run: Run, pinned: Sequence[Pinned]) -> list[Pinned]:
    """Return the pins that retrieval found something in; a selected one may be pinned without."""
    gathered = run.gathering()
    if gathered is None:
        return []
    names = {("source", each.key) for each in gathered.passages}
    names |= {("dataset", each.key) for each in gathered.measures}
    return [pin for pin in pinned if (pin.kind, pin.key) in names]


def _retrieved(pin: Pinned, snapshot: Snapshot) -> Json:
    state = snapshot.states.get(pin.ref)
    name = None
    if isinstance(state, SourceState):
        name = state.source_id
    elif isinstance(state, DatasetState):
        name = state.dataset_id
    return {"kind": pin.kind, "id": name, "key": pin.key, "revision": pin.revision}


def _serving(ref: AggregateRef, snapshot: Snapshot) -> int | None:
    state = snapshot.states.get(ref)
    return state.serving if isinstance(state, SourceState | DatasetState) else None
