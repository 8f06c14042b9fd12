"""The folds of items, corpora and files: what each event makes of them, what contradicts them."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.errors import BrokenRule
from chancery.authority.evolve import Folded, evolve, fold
from chancery.authority.states import (
    FileState,
    ItemState,
    State,
    from_json,
    kind_of,
    to_json,
)
from chancery.events import authority_knowledge as events
from chancery.events.authority_knowledge import VersionPublished, evidence_hash
from chancery.events.envelope import EventData
from chancery.kernel.canonical import canonical_bytes, parse_json
from chancery.kernel.errors import Corrupt
from tests.unit.authority.knowledge import (
    CORPUS_STATE,
    DATASET_ROOT,
    DECLARED_CORPUS,
    DRAFT,
    EVIDENCE,
    FILE_STATE,
    ITEM_STATE,
    PUBLISHED,
    SAVED,
    SOURCE_ROOT,
    UPLOADED,
    VERSION,
    states,
)
from tests.unit.authority.worlds import OTHER_SHA

SECOND = SAVED.model_copy(update={"draft_id": "draft-2", "content_sha256": OTHER_SHA})
NEXT = PUBLISHED.model_copy(
    update={
        "draft_id": "draft-2",
        "content_sha256": OTHER_SHA,
        "version": 2,
        "version_id": "version-2",
        "operation_id": "operation-2",
    }
)


def folded(kind: str, *data: EventData) -> State:
    """Return the state after the events."""
    last = reduce(lambda state, each: evolve(kind, state, each), data, None)
    assert last is not None
    return last


def item(*data: EventData) -> ItemState:
    """Return the item after the events."""
    state = folded("item", *data)
    assert isinstance(state, ItemState)
    return state


@pytest.mark.req("CR-2", "CR-3")
def test_the_first_draft_makes_the_item_and_publishing_makes_a_version_of_it() -> None:
    draft = item(SAVED)
    version = item(SAVED, PUBLISHED)

    assert (draft.drafts, draft.versions, draft.serving) == ({"draft-1": DRAFT}, (), None)
    assert (draft.grants, draft.described) == (("pat",), DRAFT)
    assert (version.drafts, version.versions, version.serving) == ({}, (VERSION,), 1)
    assert version.described == VERSION
    assert version.revisions[0].content_sha256 == VERSION.content_sha256


@pytest.mark.req("CR-2")
def test_a_newer_draft_does_not_replace_the_serving_version() -> None:
    later = item(SAVED, PUBLISHED, SECOND)

    assert (later.serving, later.described, list(later.drafts)) == (1, VERSION, ["draft-2"])
    assert item(SAVED, PUBLISHED, SECOND, NEXT).serving == 2
    assert item(SAVED, PUBLISHED, SECOND, NEXT).versions[0] == VERSION


def test_the_same_draft_again_replaces_it_and_the_newest_one_names_the_item() -> None:
    changed = SAVED.model_copy(update={"title": "Terms"})

    again = item(SAVED, SECOND, changed)

    assert again.drafts["draft-1"].title == "Terms"
    assert again.described == again.drafts["draft-1"]
    assert again.saved == 3


@pytest.mark.req("CR-6")
def test_a_withdrawn_item_serves_again_once_a_version_is_published() -> None:
    withdrawn = item(SAVED, PUBLISHED, events.ItemWithdrawn())

    assert (withdrawn.withdrawn, withdrawn.serving) == (True, None)
    assert item(SAVED, PUBLISHED, events.ItemWithdrawn(), SECOND).serving is None
    assert item(SAVED, PUBLISHED, events.ItemWithdrawn(), SECOND, NEXT).serving == 2


@pytest.mark.req("CR-2")
@pytest.mark.parametrize("field", ["native_workspace_id", "native_item_id"])
def test_a_version_under_other_native_ids_is_kept_and_not_admissible(field: str) -> None:
    foreign = item(SAVED, PUBLISHED.model_copy(update={field: "elsewhere"}))

    assert foreign.serving == 1
    assert not foreign.admissible(1)
    assert item(SAVED, PUBLISHED).admissible(1)
    assert not any(item(SAVED, PUBLISHED).admissible(number) for number in (-1, 0, 2))


def test_a_corpus_is_what_was_declared_last() -> None:
    sha256 = events.declaration_hash(
        corpus_id="Handbook",
        model="Version",
        scope="parent.parent",
        title="title",
        content=("body",),
        where="live(row)",
        binding="deployment.knowledge",
    )
    changed = {"model": "Version", "content": ("body",), "declaration_sha256": sha256}

    again = folded("corpus", DECLARED_CORPUS, DECLARED_CORPUS.model_copy(update=changed))

    assert folded("corpus", DECLARED_CORPUS) == CORPUS_STATE
    assert to_json(again) == {**to_json(CORPUS_STATE), **changed, "content": ["body"]}


def test_a_file_is_uploaded_and_deleted_for_good() -> None:
    deleted = folded("file", UPLOADED, events.FileDeleted())

    assert folded("file", UPLOADED) == FILE_STATE
    assert isinstance(deleted, FileState)
    assert (deleted.deleted, deleted.serving, FILE_STATE.serving) == (True, None, 1)
    assert len(FILE_STATE.revisions) == 1


def _changed(data: EventData, **fields: object) -> EventData:
    return data.model_copy(update=fields)


ONCE = _changed(SAVED, evidence=(SOURCE_ROOT,), evidence_sha256=evidence_hash((SOURCE_ROOT,)))
TWICE = (SOURCE_ROOT, SOURCE_ROOT)
BACKWARDS = EVIDENCE[::-1]
NEW_ROOT = (DATASET_ROOT,)
CONTRADICTIONS: list[tuple[str, tuple[EventData, ...], EventData]] = [
    ("item", (), PUBLISHED),
    ("item", (), events.ItemWithdrawn()),
    ("item", (), events.ItemGranted(grantee="ada")),
    ("item", (SAVED,), _changed(SAVED, workspace_id="other")),
    ("item", (SAVED,), _changed(SAVED, item_id="other")),
    ("item", (SAVED,), _changed(SAVED, declarer="eve")),
    ("item", (SAVED,), _changed(SAVED, visibility="workspace")),
    ("item", (SAVED,), _changed(SAVED, native_item_id="other")),
    ("item", (SAVED,), _changed(SAVED, native_workspace_id="other")),
    ("item", (SAVED,), _changed(SAVED, tags=("a", "a"))),
    ("item", (SAVED,), _changed(SAVED, evidence=NEW_ROOT)),
    ("item", (SAVED,), _changed(SAVED, evidence=TWICE, evidence_sha256=evidence_hash(TWICE))),
    ("item", (SAVED,), _changed(SAVED, evidence=BACKWARDS)),
    ("item", (SAVED,), _changed(PUBLISHED, version=2)),
    ("item", (SAVED,), _changed(PUBLISHED, draft_id="unknown")),
    ("item", (SAVED,), _changed(PUBLISHED, content_sha256=OTHER_SHA)),
    ("item", (SAVED,), _changed(PUBLISHED, size_bytes=1)),
    ("item", (SAVED,), _changed(PUBLISHED, title="Other")),
    ("item", (SAVED,), _changed(PUBLISHED, kind="other")),
    ("item", (SAVED,), _changed(PUBLISHED, domain="other")),
    ("item", (SAVED,), _changed(PUBLISHED, tags=("terms",))),
    ("item", (SAVED,), _changed(PUBLISHED, author="eve")),
    ("item", (ONCE,), PUBLISHED),
    ("item", (SAVED, PUBLISHED), PUBLISHED),
    ("item", (SAVED, PUBLISHED, SECOND), _changed(NEXT, version_id="version-1")),
    ("item", (SAVED, PUBLISHED, SECOND), _changed(NEXT, operation_id="operation-1")),
    ("item", (SAVED,), events.ItemWithdrawn()),
    ("item", (SAVED, PUBLISHED, events.ItemWithdrawn()), events.ItemWithdrawn()),
    ("item", (SAVED,), events.ItemGranted(grantee="pat")),
    ("item", (SAVED,), events.ItemGrantRevoked(grantee="ada")),
    ("corpus", (DECLARED_CORPUS,), _changed(DECLARED_CORPUS, workspace_id="other")),
    ("corpus", (DECLARED_CORPUS,), _changed(DECLARED_CORPUS, corpus_id="other")),
    ("corpus", (DECLARED_CORPUS,), _changed(DECLARED_CORPUS, declarer="eve")),
    ("corpus", (), _changed(DECLARED_CORPUS, where="dated(row)")),
    ("file", (), events.FileDeleted()),
    ("file", (UPLOADED,), UPLOADED),
    ("file", (UPLOADED, events.FileDeleted()), UPLOADED),
    ("file", (UPLOADED, events.FileDeleted()), events.FileDeleted()),
    ("file", (), SAVED),
]


@pytest.mark.req("EV-5", "CR-3")
@pytest.mark.parametrize(("kind", "before", "data"), CONTRADICTIONS)
def test_an_event_that_contradicts_its_aggregate_is_refused(
    kind: str, before: tuple[EventData, ...], data: EventData
) -> None:
    state = folded(kind, *before) if before else None

    with pytest.raises(BrokenRule):
        evolve(kind, state, data)


def test_grants_are_sorted_and_end() -> None:
    given = item(SAVED, events.ItemGranted(grantee="ada"))

    assert given.grants == ("ada", "pat")
    assert item(
        SAVED, events.ItemGranted(grantee="ada"), events.ItemGrantRevoked(grantee="pat")
    ).grants == ("ada",)


HISTORIES: dict[str, tuple[EventData, ...]] = {
    "item": (
        SAVED,
        PUBLISHED,
        events.ItemGranted(grantee="ada"),
        SECOND,
        events.ItemWithdrawn(),
        NEXT,
        events.ItemGrantRevoked(grantee="pat"),
    ),
    "corpus": (DECLARED_CORPUS, DECLARED_CORPUS),
    "file": (UPLOADED, events.FileDeleted()),
}


def test_the_histories_hold_every_event() -> None:
    told = {type(event) for history in HISTORIES.values() for event in history}

    assert told == set(events.MODELS)


@pytest.mark.req("EV-5", "EV-6")
@given(st.sampled_from(sorted(HISTORIES)), st.data())
def test_any_part_delivered_twice_equals_once(kind: str, data: st.DataObject) -> None:
    numbered = list(enumerate(HISTORIES[kind], start=1))
    stop = data.draw(st.integers(0, len(numbered)))
    start = data.draw(st.integers(0, stop))

    state = Folded()
    for sequence, event in (*numbered[:stop], *numbered[start:]):
        state = fold(kind, state, sequence, event)

    assert state == Folded(len(numbered), folded(kind, *HISTORIES[kind]))


@pytest.mark.req("EV-5")
@given(st.sampled_from(sorted(HISTORIES)), st.integers(1, 7))
def test_a_fold_that_was_stored_halfway_continues_to_the_same_state(kind: str, cut: int) -> None:
    history = HISTORIES[kind]
    half = history[: min(cut, len(history))]
    written = canonical_bytes(to_json(folded(kind, *half)))
    stored = from_json(kind, parse_json(written))

    resumed = reduce(lambda state, data: evolve(kind, state, data), history[len(half) :], stored)

    assert resumed == folded(kind, *history)


@pytest.mark.req("EV-5")
@given(states)
def test_json_form_is_an_exact_inverse(state: State) -> None:
    written = canonical_bytes(to_json(state))

    again = from_json(kind_of(state), parse_json(written))

    assert again == state
    assert canonical_bytes(to_json(again)) == written


@pytest.mark.req("EV-5")
@pytest.mark.parametrize("state", [ITEM_STATE, CORPUS_STATE, FILE_STATE], ids=kind_of)
def test_an_unknown_or_missing_field_of_a_stored_state_is_refused(state: State) -> None:
    stored = dict(to_json(state))
    required = "owner" if kind_of(state) == "file" else "workspace_id"
    missing = {key: value for key, value in stored.items() if key != required}

    for wrong in ({**stored, "added_later": 1}, missing):
        with pytest.raises(Corrupt) as refused:
            from_json(kind_of(state), wrong)
        assert refused.value.code == "malformed_state"


def test_a_version_says_what_its_draft_said() -> None:
    shared = set(events.DraftSaved.model_fields) & set(VersionPublished.model_fields)

    assert {"title", "kind", "domain", "tags", "author", "content_sha256", "evidence"} < shared
    assert all(getattr(PUBLISHED, name) == getattr(SAVED, name) for name in shared)
