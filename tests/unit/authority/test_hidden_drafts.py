"""Drafts on evidence that the actor does not see: commands tell at most that an id is taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from chancery.authority.items import (
    DRAFTS_MAX,
    counted_roots,
    decide_publish_draft,
    decide_save_draft,
    draft_roots,
)
from chancery.authority.names import Change, source_ref
from chancery.authority.rights import Actor
from chancery.authority.roots import Roots
from chancery.authority.states import Draft, ItemState
from chancery.events import commands
from chancery.events.authority_knowledge import DraftSaved, EvidenceRoot, VersionPublished
from chancery.kernel.errors import ChanceryError, Conflict, NotFound, Rejected
from tests.unit.authority.bodies import OPEN
from tests.unit.authority.knowledge import (
    COMMIT,
    NEW_DRAFT,
    OPEN_ITEM,
    OPEN_ROOTS,
    PUBLISH,
    SAVE,
)
from tests.unit.authority.worlds import OTHER_SHA, SHA, SOURCE_STATE, WORKSPACE, actor

BO, CORA = actor("publisher", principal_id="bo"), actor("curator", principal_id="cora")
SECRET = source_ref(WORKSPACE, "secret")
ON_SECRET = EvidenceRoot(kind="source", key=SECRET.id, id="secret", revision=1, content_sha256=SHA)
NAMED = (commands.EvidenceName(kind="source", id="secret", revision=1),)
HIDDEN = replace(NEW_DRAFT, author="pat", evidence=(ON_SECRET,))
ITEM = replace(OPEN_ITEM, drafts={"draft-2": HIDDEN})
GONE = replace(OPEN_ITEM, drafts={})
CLOSED: Roots = {**OPEN_ROOTS, SECRET: replace(SOURCE_STATE, grants=("pat",))}
SHOWN: Roots = {**OPEN_ROOTS, SECRET: replace(SOURCE_STATE, grants=("bo", "cora", "pat"))}
EXACT = PUBLISH.model_copy(update={"evidence": NAMED})


def told(item: ItemState, command: commands.PublishDraft, roots: Roots) -> object:
    """Return everything that a publisher is told, or the version."""
    try:
        changes = decide_publish_draft(BO, OPEN, item, command, roots=roots, commit=COMMIT)
    except ChanceryError as error:
        return type(error), error.code, error.field, error.detail
    return [type(change.data) for change in changes]


def saved(item: ItemState, who: Actor, roots: Roots, **fields: object) -> tuple[Change, ...]:
    return decide_save_draft(who, OPEN, item, SAVE.model_copy(update=fields), roots=roots)


def drafts(count: int, each: Draft) -> Mapping[str, Draft]:
    return {f"d{number}": each for number in range(count)}


@pytest.mark.req("CR-4", "KO-9")
@pytest.mark.parametrize("evidence", [(), PUBLISH.evidence, NAMED])
@pytest.mark.parametrize("sha256", [SHA, OTHER_SHA])
def test_guessing_at_a_hidden_draft_is_answered_as_if_there_were_none(
    sha256: str, evidence: tuple[commands.EvidenceName, ...]
) -> None:
    guess = PUBLISH.model_copy(update={"content_sha256": sha256, "evidence": evidence})

    refused = told(ITEM, guess, CLOSED)

    assert refused == told(GONE, guess, CLOSED)
    assert refused == (NotFound, "not_found", "draft_id", "there is no such draft for this caller")
    is_right = (sha256, evidence) == (HIDDEN.content_sha256, NAMED)
    assert (told(ITEM, guess, SHOWN) == [VersionPublished]) == is_right


def test_who_sees_the_draft_is_told_what_is_another_of_it() -> None:
    assert told(ITEM, EXACT, SHOWN) == [VersionPublished]
    with pytest.raises(Conflict) as refused:
        decide_publish_draft(BO, OPEN, ITEM, PUBLISH, roots=SHOWN, commit=COMMIT)
    assert (refused.value.code, refused.value.field) == ("draft_changed", "evidence")


@pytest.mark.req("CR-4", "KO-9")
@pytest.mark.parametrize("fields", [{}, {"content_sha256": SHA}, {"evidence": ()}])
def test_a_draft_is_not_replaced_by_who_does_not_see_it(fields: dict[str, object]) -> None:
    with pytest.raises(NotFound) as refused:
        saved(ITEM, CORA, CLOSED, **fields)

    assert refused.value.field == "draft_id"
    (change,) = saved(ITEM, CORA, SHOWN, **fields)
    assert isinstance(change.data, DraftSaved)
    assert len(saved(ITEM, CORA, CLOSED, **fields, draft_id="another")) == 1


def test_an_author_replaces_a_draft_whose_evidence_they_do_not_see_any_more() -> None:
    lost: Roots = {**OPEN_ROOTS, SECRET: replace(SOURCE_STATE, grants=())}
    pat = actor("curator", principal_id="pat")

    assert len(saved(ITEM, pat, lost)) == 1
    with pytest.raises(NotFound):
        saved(ITEM, CORA, lost)


@pytest.mark.req("KO-9")
def test_hidden_drafts_do_not_count_for_who_does_not_see_them() -> None:
    seen = replace(NEW_DRAFT, author="eve")
    most = {**drafts(DRAFTS_MAX - 1, seen), "hidden-1": HIDDEN, "hidden-2": HIDDEN}

    assert len(saved(replace(OPEN_ITEM, drafts=most), CORA, CLOSED)) == 1
    for full, roots in (({**most, "one": seen}, CLOSED), (most, SHOWN)):
        with pytest.raises(Rejected) as refused:
            saved(replace(OPEN_ITEM, drafts=full), CORA, roots)
        assert refused.value.code == "too_many_drafts"


def test_an_author_has_a_bounded_number_of_drafts_whatever_they_see() -> None:
    own = replace(HIDDEN, author="cora")

    with pytest.raises(Rejected) as refused:
        saved(replace(OPEN_ITEM, drafts=drafts(DRAFTS_MAX, own)), CORA, CLOSED)
    assert refused.value.code == "too_many_drafts"
    assert len(saved(replace(OPEN_ITEM, drafts=drafts(DRAFTS_MAX - 1, own)), CORA, CLOSED)) == 1


def test_the_evidence_of_every_draft_is_read_only_where_they_are_counted() -> None:
    few = replace(ITEM, drafts={"draft-2": HIDDEN, "open": NEW_DRAFT})
    full = replace(ITEM, drafts={**drafts(DRAFTS_MAX - 1, NEW_DRAFT), "draft-2": HIDDEN})

    assert draft_roots(few, "draft-2") == counted_roots(few, "draft-2") == (SECRET,)
    assert draft_roots(few, "none") == counted_roots(few, "none") == ()
    assert counted_roots(full, "draft-2") == (SECRET,)
    assert set(counted_roots(full, "none")) == {*draft_roots(full, "d1"), SECRET}
