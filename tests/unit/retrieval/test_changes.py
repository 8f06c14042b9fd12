"""What a stretch of INDEX amounts to, and from where it is read after a restart."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.envelope import EventData
from chancery.events.index import (
    RevisionExcluded,
    RevisionExtracted,
    RevisionFailed,
    RevisionPending,
    RevisionReady,
    RevisionUnavailable,
)
from chancery.retrieval.domain.changes import Change, IndexEvent, changes_by_tenant, needed
from chancery.retrieval.domain.entries import Pin, RevisionRef
from chancery.retrieval.domain.mark import Mark, Start, start_from
from tests.unit.retrieval.world import NOW

_COMMON = {
    "workspace_id": "w",
    "kind": "source",
    "content_sha256": "1" * 64,
    "authority_sequence": 1,
    "reason": "code",
    "extraction_sha256": "2" * 64,
    "manifest_sha256": "3" * 64,
    "extractor": "text/1",
    "length": 1,
}
_TYPES: tuple[type[EventData], ...] = (
    RevisionPending,
    RevisionExtracted,
    RevisionReady,
    RevisionFailed,
    RevisionExcluded,
    RevisionUnavailable,
)
_EVENTS = st.lists(
    st.tuples(st.sampled_from(_TYPES), st.sampled_from("ab"), st.integers(1, 2)), max_size=20
).map(
    lambda rows: [
        IndexEvent(place, "acme", kind.model_validate({**_COMMON, "key": key, "revision": number}))
        for place, (kind, key, number) in enumerate(rows, start=1)
    ]
)


def _pins(stretches: list[list[IndexEvent]]) -> dict[RevisionRef, Pin]:
    held: dict[RevisionRef, Pin] = {}
    changes = (each for stretch in stretches for each in changes_by_tenant(stretch).values())
    for ref, change in (pair for each in changes for pair in each.by_revision.items()):
        held.pop(ref, None)
        if change.pin is not None:
            held[ref] = change.pin
    return held


@pytest.mark.req("EV-6")
@given(events=_EVENTS, cut=st.integers(0, 20))
def test_how_the_stream_is_cut_into_stretches_changes_nothing(
    events: list[IndexEvent], cut: int
) -> None:
    whole = _pins([events])

    assert _pins([[one] for one in events]) == whole
    assert _pins([events[:cut], events[cut:]]) == whole
    assert _pins([events[:cut], events]) == whole


@pytest.mark.req("CL-4", "EV-6")
@given(order=st.permutations(range(6)), twice=st.booleans())
def test_the_word_that_rests_on_the_newest_log_stays(order: list[int], twice: bool) -> None:
    events = [
        IndexEvent(
            place,
            "acme",
            (RevisionReady if number % 2 == 0 else RevisionExcluded).model_validate(
                {**_COMMON, "key": "a", "revision": 1, "authority_sequence": number + 1}
            ),
        )
        for place, number in enumerate([*order, *(order if twice else ())], start=1)
    ]

    assert _pins([events]) == {}
    without_last = [each for each in events if each.data.model_dump()["authority_sequence"] < 6]
    assert len(_pins([without_last])) == 1


def test_a_pending_revision_that_is_unknown_needs_no_word() -> None:
    ref = RevisionRef("source", "a", 1)
    pending = Change(1, ref, None, 5, is_pending=True)
    excluded = Change(1, ref, None, 5)

    assert needed([pending, excluded], {}) == [excluded]
    assert needed([pending, excluded], {ref.number: 5}) == [pending, excluded]
    assert needed([pending, excluded], {ref.number: 6}) == []


@given(events=_EVENTS)
def test_only_a_revision_whose_last_word_is_ready_is_searchable(events: list[IndexEvent]) -> None:
    said: dict[RevisionRef, bool] = {}
    for event in events:
        fields = event.data.model_dump()
        if not isinstance(event.data, RevisionExtracted):
            ref = RevisionRef("source", fields["key"], fields["revision"])
            said[ref] = isinstance(event.data, RevisionReady)

    assert set(_pins([events])) == {ref for ref, ready in said.items() if ready}


_MARK = Mark(NOW, 40, {"acme": 30})


@pytest.mark.parametrize(
    ("mark", "later", "last", "positions", "start"),
    [
        (_MARK, 0, 50, {"acme": 30}, Start(40)),
        (_MARK, 0, 50, {"acme": 45, "new": 44}, Start(40)),
        (_MARK, 0, 50, {}, Start(0)),
        (_MARK, 0, 50, {"acme": 29}, Start(0)),
        (None, 0, 50, {}, Start(0)),
        (None, 0, 50, {"acme": 30}, Start(0, fresh=True)),
        (_MARK, 1, 50, {"acme": 30}, Start(0, fresh=True)),
        (_MARK, 0, 39, {"acme": 30}, Start(0, fresh=True)),
        (_MARK, 0, 44, {"acme": 45}, Start(0, fresh=True)),
    ],
)
def test_where_reading_starts_follows_from_mark_stream_and_indexes(
    mark: Mark | None, later: int, last: int, positions: dict[str, int], start: Start
) -> None:
    created = NOW + timedelta(seconds=later)

    found = start_from(mark, stream_created=created, last=last, positions=positions)

    assert found == start
