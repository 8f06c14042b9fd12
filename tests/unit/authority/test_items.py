"""Commands on items, corpora and files: what they change, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.corpora import decide_declare_corpus
from chancery.authority.files import decide_delete_file, decide_upload_file
from chancery.authority.items import (
    DRAFTS_MAX,
    Commit,
    check_drafting,
    decide_publish_draft,
    decide_save_draft,
    published_as,
)
from chancery.authority.names import AggregateRef, Change
from chancery.authority.roots import Roots, as_seen, named, resolve_evidence
from chancery.authority.states import ItemState, ResourceState
from chancery.events import commands
from chancery.events.authority_knowledge import (
    CorpusDeclared,
    DraftSaved,
    FileDeleted,
    FileUploaded,
    VersionPublished,
    evidence_hash,
)
from chancery.kernel.errors import Conflict, NotFound, Rejected
from tests.unit.authority.bodies import OPEN
from tests.unit.authority.knowledge import (
    COMMIT,
    CORPUS,
    CORPUS_STATE,
    DECLARE,
    EVIDENCE,
    FILE,
    FILE_STATE,
    ITEM,
    ITEM_DRAFTED,
    ITEM_STATE,
    NAMES,
    NEW_DRAFT,
    OPEN_ITEM,
    OPEN_ROOTS,
    PUBLISH,
    SAVE,
    UPLOAD,
    VERSION,
)
from tests.unit.authority.worlds import (
    ASKER,
    DATASET,
    DATASET_STATE,
    NOW,
    OTHER_SHA,
    SHA,
    SOURCE,
    SOURCE_STATE,
    WORKSPACE,
    actor,
)

PAT = actor("publisher")
CORA = actor("curator", principal_id="cora")
DELETE = commands.DeleteFile(file_id="file-1")


def saved(item: ItemState | None, command: commands.SaveDraft) -> tuple[Change, ...]:
    """Decide on a draft of somebody who reads the item and the evidence."""
    return decide_save_draft(PAT, OPEN, item, command, roots=OPEN_ROOTS)


def published(
    item: ItemState, command: commands.PublishDraft = PUBLISH, roots: Roots = OPEN_ROOTS
) -> tuple[Change, ...]:
    """Decide on a publication of somebody who reads the item."""
    return decide_publish_draft(PAT, OPEN, item, command, roots=roots, commit=COMMIT)


@pytest.mark.req("CR-2", "CR-3")
def test_the_first_draft_says_what_the_item_keeps() -> None:
    native = {"native_workspace_id": "wiki", "visibility": "restricted"}
    bare = saved(None, SAVE)
    (full,) = saved(None, SAVE.model_copy(update=native))

    assert [change.ref for change in bare] == [ITEM]
    first = bare[0].data
    assert isinstance(first, DraftSaved)
    assert (first.visibility, first.declarer, first.author) == ("workspace", "pat", "pat")
    assert (first.native_workspace_id, first.native_item_id) == ("ws", "glossary")
    assert (first.evidence, first.evidence_sha256) == (EVIDENCE, evidence_hash(EVIDENCE))
    assert isinstance(full.data, DraftSaved)
    assert (full.data.native_workspace_id, full.data.visibility) == ("wiki", "restricted")


def test_a_later_draft_keeps_what_the_item_has() -> None:
    (change,) = decide_save_draft(
        CORA, OPEN, replace(ITEM_STATE, visibility="workspace"), SAVE, roots=OPEN_ROOTS
    )

    assert isinstance(change.data, DraftSaved)
    assert (change.data.declarer, change.data.author) == ("pat", "cora")
    assert (change.data.native_workspace_id, change.data.native_item_id) == ("wiki", "page-7")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"visibility": "workspace"}, "visibility"),
        ({"native_workspace_id": "ws"}, "native_workspace_id"),
        ({"native_item_id": "glossary"}, "native_item_id"),
    ],
)
def test_what_an_item_keeps_is_not_said_again_differently(
    wrong: dict[str, object], field: str
) -> None:
    with pytest.raises(Rejected) as refused:
        saved(ITEM_STATE, SAVE.model_copy(update=wrong))

    assert (refused.value.code, refused.value.field) == ("item_keeps", field)


def test_the_draft_that_stands_already_changes_nothing() -> None:
    (change,) = saved(ITEM_STATE, SAVE)
    assert isinstance(change.data, DraftSaved)
    standing = replace(
        NEW_DRAFT,
        author="pat",
        tags=change.data.tags,
        size_bytes=change.data.size_bytes,
    )
    item = replace(ITEM_STATE, drafts={"draft-2": standing}, saved=2)

    assert saved(item, SAVE) == ()
    for other in ({"title": "Other"}, {"tags": ()}, {"content_sha256": SHA}, {"evidence": ()}):
        assert len(saved(item, SAVE.model_copy(update=other))) == 1


def test_an_item_has_a_bounded_number_of_drafts() -> None:
    drafts = {f"d{number}": NEW_DRAFT for number in range(DRAFTS_MAX)}
    full = replace(ITEM_STATE, drafts=drafts)

    with pytest.raises(Rejected) as refused:
        saved(full, SAVE)
    assert refused.value.code == "too_many_drafts"
    assert len(saved(full, SAVE.model_copy(update={"draft_id": "d1"}))) == 1
    assert len(saved(replace(full, drafts=dict(list(drafts.items())[1:])), SAVE)) == 1


@pytest.mark.req("CR-2", "CR-3")
def test_a_version_is_exactly_its_draft_under_a_commit_of_its_own() -> None:
    (change,) = published(ITEM_DRAFTED)

    assert isinstance(change.data, VersionPublished)
    assert (change.ref, change.data.version) == (ITEM, 2)
    assert (change.data.operation_id, change.data.committed_at) == ("operation-2", NOW)
    assert change.data.version_id == change.data.native_version_id
    assert change.data.author == NEW_DRAFT.author
    assert change.data.content_sha256 == NEW_DRAFT.content_sha256
    assert (change.data.native_workspace_id, change.data.native_item_id) == ("wiki", "page-7")
    (other,) = decide_publish_draft(
        PAT, OPEN, ITEM_DRAFTED, PUBLISH, roots=OPEN_ROOTS, commit=Commit("operation-3", NOW)
    )
    assert isinstance(other.data, VersionPublished)
    assert other.data.version_id != change.data.version_id


@pytest.mark.req("CR-3")
@given(st.sampled_from(("content_sha256", "evidence")), st.integers(0, 1))
def test_only_the_exact_content_on_the_exact_evidence_is_published(field: str, left: int) -> None:
    value: object = SHA if field == "content_sha256" else NAMES[left : left + 1]

    with pytest.raises(Conflict) as refused:
        published(ITEM_DRAFTED, PUBLISH.model_copy(update={field: value}))

    assert (refused.value.code, refused.value.field) == ("draft_changed", field)
    assert len(published(ITEM_DRAFTED)) == 1


@pytest.mark.req("CR-27")
def test_a_withdrawn_item_serves_again_only_when_that_is_asked_for() -> None:
    withdrawn = replace(ITEM_DRAFTED, withdrawn=True)

    with pytest.raises(Conflict) as refused:
        published(withdrawn)
    (change,) = published(withdrawn, PUBLISH.model_copy(update={"restore": True}))

    assert (refused.value.code, refused.value.field) == ("withdrawn", "restore")
    assert refused.value.detail.startswith("the item is withdrawn")
    assert isinstance(change.data, VersionPublished)
    assert change.data.version == 2
    assert len(saved(withdrawn, SAVE)) == 1  # A draft serves nobody.


def test_a_published_draft_is_known_only_while_its_version_serves() -> None:
    again = commands.PublishDraft(
        workspace_id="ws",
        item_id="glossary",
        draft_id="draft-1",
        content_sha256=VERSION.content_sha256,
        evidence=NAMES,
    )

    assert published(ITEM_STATE, again) == ()
    assert published_as(ITEM_STATE, again) == 1
    for item, command in (
        (replace(ITEM_STATE, withdrawn=True), again),
        (ITEM_STATE, again.model_copy(update={"content_sha256": SHA})),
        (ITEM_STATE, again.model_copy(update={"evidence": ()})),
        (ITEM_STATE, PUBLISH),
        (replace(ITEM_STATE, versions=(VERSION, replace(VERSION, draft_id="d"))), again),
    ):
        with pytest.raises(NotFound) as refused:
            published(item, command)
        assert refused.value.field == "draft_id"
        assert published_as(item, command) is None


HIDDEN: list[tuple[AggregateRef, ResourceState | None, int]] = [
    (SOURCE, None, 0),
    (SOURCE, replace(SOURCE_STATE, visibility="private", declarer="eve"), 0),
    (SOURCE, replace(SOURCE_STATE, grants=("ada",)), 0),
    (DATASET, None, 1),
    (DATASET, replace(DATASET_STATE, grants=()), 1),
]
UNUSABLE: list[tuple[AggregateRef, ResourceState | None, int]] = [
    (SOURCE, replace(SOURCE_STATE, visibility="workspace", withdrawn=True), 0),
    (SOURCE, replace(SOURCE_STATE, visibility="workspace", revisions=()), 0),
    (DATASET, replace(DATASET_STATE, visibility="workspace", withdrawn=True), 1),
]


@pytest.mark.req("CR-4", "KO-9")
@pytest.mark.parametrize(("ref", "state", "place"), HIDDEN + UNUSABLE)
def test_evidence_that_cannot_be_used_is_refused_in_one_way(
    ref: AggregateRef, state: ResourceState | None, place: int
) -> None:
    with pytest.raises(NotFound) as refused:
        decide_save_draft(PAT, OPEN, ITEM_STATE, SAVE, roots={**OPEN_ROOTS, ref: state})

    assert refused.value.field == f"evidence.{place}"
    assert refused.value.detail == "there is no such revision for this caller"


@pytest.mark.req("CR-4", "KO-9")
@pytest.mark.parametrize(("ref", "state", "place"), HIDDEN + UNUSABLE)
def test_a_draft_is_not_published_on_evidence_that_cannot_be_used(
    ref: AggregateRef, state: ResourceState | None, place: int
) -> None:
    with pytest.raises(NotFound) as refused:
        published(ITEM_DRAFTED, roots={**OPEN_ROOTS, ref: state})

    is_hidden = (ref, state, place) in HIDDEN
    assert refused.value.field == ("draft_id" if is_hidden else f"evidence.{place}")
    assert len(published(ITEM_DRAFTED)) == 1


@pytest.mark.req("CR-3")
@given(st.permutations(NAMES))
def test_resolved_evidence_does_not_depend_on_the_order_it_was_named_in(
    names: list[commands.EvidenceName],
) -> None:
    assert resolve_evidence(PAT, "ws", names, OPEN_ROOTS) == EVIDENCE
    assert named(names) == named(EVIDENCE)


def test_an_older_revision_of_a_source_may_be_evidence() -> None:
    (root,) = resolve_evidence(PAT, "ws", NAMES[:1], OPEN_ROOTS)

    assert (root.revision, root.content_sha256) == (1, SHA)
    with pytest.raises(NotFound):
        resolve_evidence(PAT, "ws", (NAMES[0].model_copy(update={"revision": 3}),), OPEN_ROOTS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tags": ("a", "a")},
        {"evidence": (NAMES[0], NAMES[0].model_copy(update={"revision": 2}))},
        {"size_bytes": 256 * 1024 + 1},
        {"size_bytes": 0},
        {"kind": "two words"},
        {"tags": tuple(f"t{number}" for number in range(21))},
    ],
)
def test_a_draft_outside_its_bounds_is_no_command(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        commands.SaveDraft.model_validate({**SAVE.model_dump(), **wrong})
    assert commands.SaveDraft.model_validate({**SAVE.model_dump(), "size_bytes": 256 * 1024})


@pytest.mark.req("CL-5")
def test_a_corpus_is_declared_again_only_when_it_says_something_else() -> None:
    other = actor("publisher", principal_id="olga")
    changed = DECLARE.model_copy(update={"where": "dated(row)"})

    (first,) = decide_declare_corpus(PAT, OPEN, None, DECLARE)
    (again,) = decide_declare_corpus(other, OPEN, CORPUS_STATE, changed)

    assert decide_declare_corpus(other, OPEN, CORPUS_STATE, DECLARE) == ()
    assert (first.ref, again.ref) == (CORPUS, CORPUS)
    assert isinstance(first.data, CorpusDeclared)
    assert isinstance(again.data, CorpusDeclared)
    assert first.data.declaration_sha256 == CORPUS_STATE.declaration_sha256
    assert (again.data.declarer, again.data.where) == ("pat", "dated(row)")
    assert again.data.declaration_sha256 != first.data.declaration_sha256


@pytest.mark.req("KO-9")
def test_a_file_is_its_uploaders_and_nobody_else_learns_of_it() -> None:
    ada, eve = actor(None, principal_id=ASKER), actor("admin", principal_id="eve")

    (uploaded,) = decide_upload_file(ada, None, UPLOAD)
    (deleted,) = decide_delete_file(ada, FILE_STATE, DELETE)

    assert isinstance(uploaded.data, FileUploaded)
    assert (uploaded.ref, uploaded.data.owner) == (FILE, ASKER)
    assert isinstance(deleted.data, FileDeleted)
    assert decide_upload_file(ada, FILE_STATE, UPLOAD) == ()
    assert decide_delete_file(ada, replace(FILE_STATE, deleted=True), DELETE) == ()
    refusals: set[tuple[str, str, str | None]] = set()
    for decide in (
        lambda: decide_upload_file(eve, FILE_STATE, UPLOAD),
        lambda: decide_delete_file(eve, FILE_STATE, DELETE),
        lambda: decide_delete_file(eve, None, DELETE),
    ):
        with pytest.raises(NotFound) as refused:
            decide()
        refusals.add((refused.value.code, refused.value.detail, refused.value.field))
    assert len(refusals) == 1


@pytest.mark.parametrize(
    "wrong", [{"title": "Other"}, {"content_sha256": OTHER_SHA}, {"media_type": "text/html"}]
)
def test_a_file_id_names_one_file_for_good(wrong: dict[str, object]) -> None:
    ada = actor(None, principal_id=ASKER)

    for file, command in (
        (FILE_STATE, UPLOAD.model_copy(update=wrong)),
        (replace(FILE_STATE, deleted=True), UPLOAD),
    ):
        with pytest.raises(Conflict) as refused:
            decide_upload_file(ada, file, command)
        assert refused.value.code == "file_exists"


UNSEEN: list[tuple[AggregateRef, ResourceState | None]] = [
    (SOURCE, None),
    (SOURCE, replace(SOURCE_STATE, visibility="private", declarer="eve")),
    (DATASET, replace(DATASET_STATE, visibility="restricted", grants=())),
]


@pytest.mark.req("CR-27", "KO-9")
@pytest.mark.parametrize(("ref", "state"), UNSEEN)
@pytest.mark.parametrize("item", [OPEN_ITEM, replace(OPEN_ITEM, versions=())])
def test_an_item_on_unseen_evidence_is_somebody_elses_private_one(
    ref: AggregateRef, state: ResourceState | None, item: ItemState
) -> None:
    seen = as_seen(PAT, item, OPEN_ROOTS)
    unseen = as_seen(PAT, item, {**OPEN_ROOTS, ref: state})

    assert seen == item
    assert unseen.visibility == "private"
    with pytest.raises(NotFound) as refused:
        check_drafting(PAT, OPEN, unseen, WORKSPACE)
    assert refused.value.field is None


@pytest.mark.req("CR-27")
def test_an_item_on_withdrawn_evidence_can_be_put_on_other_evidence() -> None:
    roots = {**OPEN_ROOTS, SOURCE: replace(SOURCE_STATE, withdrawn=True)}

    assert as_seen(PAT, OPEN_ITEM, roots) == OPEN_ITEM
