"""The audit of a run: recorded facts and hashes, each on its own, none rebuilt from today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chancery.authority.names import AggregateRef
from chancery.authority.release import Pinned
from chancery.authority.states import DatasetState, FileState, ItemState, SourceState
from chancery.events.authority import AggregateKind
from chancery.evidence.receipt import Receipt, ResultReference
from chancery.evidence.references import Reference, SourceReference
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
        "items": [],
        "files": [],
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
        "sources": [_used("source", each, snapshot) for each in core.sources],
        "items": [_used("item", each, snapshot) for each in core.items],
        "files": [_used("file", each, snapshot) for each in core.files],
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


def _used(kind: AggregateKind, reference: Reference, snapshot: Snapshot) -> Json:
    """Return the recorded reference, and beside it whether that revision serves now."""
    named = reference.kind if isinstance(reference, SourceReference) else kind
    serving = _serving(AggregateRef(named, reference.key), snapshot)
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
    keys = {each.key for each in gathered.passages} | {each.key for each in gathered.measures}
    return [pin for pin in pinned if pin.key in keys]


def _retrieved(pin: Pinned, snapshot: Snapshot) -> Json:
    return {
        "kind": pin.kind,
        "id": _name(pin, snapshot),
        "key": pin.key,
        "revision": pin.revision,
    }


def _name(pin: Pinned, snapshot: Snapshot) -> str | None:
    match snapshot.states.get(pin.ref):
        case SourceState() as source:
            return source.source_id
        case DatasetState() as dataset:
            return dataset.dataset_id
        case ItemState() as item:
            return item.item_id
        case FileState():
            return pin.key
        case _:
            return None


def _serving(ref: AggregateRef, snapshot: Snapshot) -> int | None:
    state = snapshot.states.get(ref)
    if isinstance(state, SourceState | DatasetState | ItemState | FileState):
        return state.serving
    return None
