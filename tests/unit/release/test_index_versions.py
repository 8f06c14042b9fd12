"""A log of the index that holds events of both versions folds to the same entries."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events import index, index_v1
from chancery.events.topology import index_subject
from chancery.kernel.canonical import canonical_bytes
from chancery.release.domain.index_fold import FoldedIndex, decode_index, fold_index
from chancery.release.domain.marks import Mark
from tests.unit.release.test_folds import TENANT, Line, encoded

_OLD = {new.TYPE: old.TYPE for old, new in zip(index_v1.MODELS, index.MODELS, strict=True)}
SHA, OTHER = "a" * 64, "b" * 64
_OF = {
    "workspace_id": "w",
    "kind": "source",
    "key": "k",
    "revision": 1,
    "content_sha256": SHA,
}


def _pending(position: int) -> index.RevisionPending:
    return index.RevisionPending.model_validate({**_OF, "authority_sequence": position})


EXTRACTED = index.RevisionExtracted.model_validate(
    {
        **_OF,
        "authority_sequence": 1,
        "extraction_sha256": OTHER,
        "manifest_sha256": SHA,
        "extractor": "text/1",
        "length": 3,
    }
)
READY = index.RevisionReady.model_validate(
    {**_OF, "authority_sequence": 1, "extraction_sha256": OTHER, "manifest_sha256": SHA}
)
FAILED = index.RevisionFailed.model_validate(
    {**_OF, "authority_sequence": 2, "reason": "encrypted"}
)
EXCLUDED = index.RevisionExcluded.model_validate(
    {**_OF, "authority_sequence": 3, "reason": "withdrawn"}
)
UNAVAILABLE = index.RevisionUnavailable.model_validate(
    {**_OF, "authority_sequence": 3, "reason": "blob_gone"}
)
HISTORY = (_pending(1), EXTRACTED, READY, FAILED, _pending(2), READY, EXCLUDED, UNAVAILABLE)


def _line(sequence: int, data: index.EventData, *, is_old: bool) -> Line:
    payload = encoded(data, "k")
    if is_old:
        event = json.loads(payload)
        payload = canonical_bytes({**event, "type": _OLD[data.TYPE]})
    return Line(sequence, index_subject(TENANT, "source", "k"), payload)


def _folded(old: list[bool]) -> FoldedIndex:
    lines = [
        _line(number, data, is_old=is_old)
        for number, (data, is_old) in enumerate(zip(HISTORY, old, strict=True), start=1)
    ]
    return fold_index(Mark(), {}, decode_index(lines))


@pytest.mark.req("EV-4")
@given(st.lists(st.booleans(), min_size=len(HISTORY), max_size=len(HISTORY)))
def test_mixed_versions_fold_to_the_same_entries(old: list[bool]) -> None:
    newest = _folded([False] * len(HISTORY))
    mixed = _folded(old)

    assert mixed.entries == newest.entries
    assert len(mixed.entries) == 1
    assert mixed.quarantined == []
    assert (mixed.mark == newest.mark) == (not any(old))


def test_what_version_1_could_not_say_is_kept_aside() -> None:
    item = FAILED.model_copy(update={"kind": "item"})
    subject = index_subject(TENANT, "item", "k")
    old = json.loads(encoded(item, "k"))
    payload = canonical_bytes({**old, "type": _OLD[item.TYPE]})

    refused = fold_index(Mark(), {}, decode_index([Line(1, subject, payload)]))
    taken = fold_index(Mark(), {}, decode_index([Line(1, subject, encoded(item, "k"))]))

    assert [each.reason for each in refused.quarantined] == ["invalid_event"]
    assert refused.entries == {}
    assert [key.kind for key in taken.entries] == ["item"]
