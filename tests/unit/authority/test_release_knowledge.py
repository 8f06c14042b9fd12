"""Releasing what rests on curated items, private files and corpora."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.access import may_read_file
from chancery.authority.errors import ScopeTooWide
from chancery.authority.names import AggregateRef, policy_ref, principal_ref, tenant_ref
from chancery.authority.release import (
    Allow,
    Deny,
    Pinned,
    Reason,
    ReleaseRequest,
    Root,
    decide_disclosure,
    decide_release,
    disclosure_set,
    read_set,
)
from chancery.authority.states import Revision, State, TenantState
from tests.unit.authority import test_release
from tests.unit.authority.knowledge import (
    CORPUS,
    CORPUS_PIN,
    CORPUS_STATE,
    EVIDENCE,
    FILE,
    FILE_PIN,
    FILE_STATE,
    ITEM,
    ITEM_PIN,
    ITEM_STATE,
    ROOTS,
    VERSION,
)
from tests.unit.authority.worlds import (
    ASKER,
    DATASET,
    DATASET_STATE,
    EXPIRY,
    NOW,
    OTHER_SHA,
    PRINCIPAL,
    REQUEST,
    SHA,
    SOURCE,
    SOURCE_STATE,
    WORKSPACE,
    world,
)

NOBODY: frozenset[AggregateRef] = frozenset()
MIXED = replace(REQUEST, pinned=(*REQUEST.pinned, ITEM_PIN, FILE_PIN), corpus=CORPUS_PIN)
ONLY_ITEM = replace(REQUEST, pinned=(ITEM_PIN,))
NEXT = replace(VERSION, version_id="version-2")


def known(
    changed: Mapping[AggregateRef, State | None] | None = None,
) -> dict[AggregateRef, State | None]:
    """Return the states that allow `MIXED`, with some of them changed."""
    return {
        **world(),
        ITEM: ITEM_STATE,
        FILE: FILE_STATE,
        CORPUS: CORPUS_STATE,
        **(changed or {}),
    }


def decided(
    request: ReleaseRequest, changed: Mapping[AggregateRef, State | None] | None = None
) -> tuple[object, object]:
    """Return the decision to seal and the one to disclose, with some states changed."""
    states = known(changed)
    sealed = decide_release(states, NOBODY, request, NOW)
    return sealed, decide_disclosure(states, NOBODY, request, NOW)


Change = tuple[AggregateRef, State | None, Reason]
EVERYWHERE: list[Change] = [
    (ITEM, None, "not_readable"),
    (ITEM, SOURCE_STATE, "not_readable"),
    (ITEM, replace(ITEM_STATE, grants=("pat",)), "not_readable"),
    (ITEM, replace(ITEM_STATE, visibility="private"), "not_readable"),
    (ITEM, replace(ITEM_STATE, workspace_id="elsewhere"), "not_readable"),
    (ITEM, replace(ITEM_STATE, native_item_id="elsewhere"), "not_readable"),
    (ITEM, replace(ITEM_STATE, native_workspace_id="elsewhere"), "not_readable"),
    (ITEM, replace(ITEM_STATE, versions=()), "not_readable"),
    (ITEM, replace(ITEM_STATE, withdrawn=True), "withdrawn"),
    (ITEM, replace(ITEM_STATE, versions=(VERSION, NEXT)), "superseded"),
    (
        ITEM,
        replace(ITEM_STATE, versions=(replace(VERSION, evidence=EVIDENCE[:1]),)),
        "not_readable",
    ),
    (FILE, None, "not_readable"),
    (FILE, ITEM_STATE, "not_readable"),
    (FILE, replace(FILE_STATE, owner="eve"), "not_readable"),
    (FILE, replace(FILE_STATE, owner="eve", deleted=True), "not_readable"),
    (FILE, replace(FILE_STATE, deleted=True), "withdrawn"),
]
ROOT_CHANGES: list[Change] = [
    (SOURCE, None, "not_readable"),
    (SOURCE, DATASET_STATE, "not_readable"),
    (SOURCE, replace(SOURCE_STATE, grants=("pat",)), "not_readable"),
    (SOURCE, replace(SOURCE_STATE, visibility="private"), "not_readable"),
    (SOURCE, replace(SOURCE_STATE, workspace_id="elsewhere"), "not_readable"),
    (SOURCE, replace(SOURCE_STATE, revisions=()), "not_readable"),
    (
        SOURCE,
        replace(SOURCE_STATE, revisions=(Revision(OTHER_SHA, "text/plain", 1),)),
        "not_readable",
    ),
    (SOURCE, replace(SOURCE_STATE, withdrawn=True), "withdrawn"),
    (DATASET, replace(DATASET_STATE, grants=("pat",)), "not_readable"),
    (DATASET, replace(DATASET_STATE, withdrawn=True), "withdrawn"),
    (principal_ref(ASKER), replace(PRINCIPAL, groups=()), "not_readable"),
]


@pytest.mark.req("CR-4", "CR-10", "CR-14")
def test_the_whole_mixed_set_of_rights_allows_until_the_credential_ends() -> None:
    assert decided(MIXED) == (Allow(EXPIRY), Allow(EXPIRY))
    assert decided(ONLY_ITEM) == (Allow(EXPIRY), Allow(EXPIRY))


@pytest.mark.req("CR-2", "CR-4", "CR-6", "CR-14", "CR-27", "CL-13")
@pytest.mark.parametrize(("ref", "state", "reason"), EVERYWHERE)
def test_any_single_change_of_an_item_or_a_file_denies(
    ref: AggregateRef, state: State | None, reason: Reason
) -> None:
    assert decided(MIXED, {ref: state}) == (Deny(reason), Deny(reason))


@pytest.mark.req("CR-4", "CR-6")
@pytest.mark.parametrize(("ref", "state", "reason"), ROOT_CHANGES)
def test_a_lost_evidence_root_denies_the_item_alone(
    ref: AggregateRef, state: State | None, reason: Reason
) -> None:
    assert decided(ONLY_ITEM, {ref: state}) == (Deny(reason), Deny(reason))


@pytest.mark.req("CR-4")
def test_a_newer_revision_of_a_root_does_not_matter_to_the_item() -> None:
    newest = (*SOURCE_STATE.revisions, Revision(OTHER_SHA, "text/plain", 5))

    assert decided(ONLY_ITEM, {SOURCE: replace(SOURCE_STATE, revisions=newest)}) == (
        Allow(EXPIRY),
        Allow(EXPIRY),
    )


@pytest.mark.req("CR-4", "CR-6")
@pytest.mark.parametrize(
    "roots",
    [
        (),
        ROOTS[:1],
        (*ROOTS, Root("source", SOURCE.id, 2, OTHER_SHA)),
        (ROOTS[0], replace(ROOTS[1], revision=2)),
        (ROOTS[0], replace(ROOTS[1], content_sha256=OTHER_SHA)),
    ],
)
def test_a_pin_with_other_roots_than_the_version_denies(roots: tuple[Root, ...]) -> None:
    request = replace(REQUEST, pinned=(replace(ITEM_PIN, roots=roots),))

    assert decided(request) == (Deny("not_readable"), Deny("not_readable"))


@pytest.mark.parametrize(
    ("pin", "reason"),
    [
        (replace(ITEM_PIN, revision=2), "not_readable"),
        (replace(ITEM_PIN, revision=0), "not_readable"),
        (replace(FILE_PIN, revision=2), "superseded"),
        (replace(FILE_PIN, key=ITEM.id), "not_readable"),
        (replace(ITEM_PIN, key=SOURCE.id), "not_readable"),
    ],
)
@pytest.mark.req("CR-10")
def test_a_pin_of_what_is_not_there_denies(pin: Pinned, reason: Reason) -> None:
    missing: dict[AggregateRef, State | None] = {pin.ref: None}
    changed = missing if pin.ref not in known() else {}

    assert decided(replace(REQUEST, pinned=(pin,)), changed) == (Deny(reason), Deny(reason))


@pytest.mark.req("CL-5")
@pytest.mark.parametrize(
    "state",
    [
        None,
        ITEM_STATE,
        replace(CORPUS_STATE, workspace_id="elsewhere"),
        replace(CORPUS_STATE, declaration_sha256=SHA),
    ],
)
def test_another_corpus_denies_the_seal_but_not_a_later_disclosure(state: State | None) -> None:
    assert decided(MIXED, {CORPUS: state}) == (Deny("corpus"), Allow(EXPIRY))


@pytest.mark.req("CR-5")
def test_the_read_set_holds_each_root_once_and_the_corpus() -> None:
    refs = read_set(MIXED)

    assert list(refs) == sorted(known())
    assert set(refs) - set(disclosure_set(MIXED)) == {CORPUS, policy_ref(WORKSPACE)}
    assert {SOURCE, DATASET, ITEM} < set(disclosure_set(ONLY_ITEM))
    assert CORPUS not in read_set(ONLY_ITEM)


@pytest.mark.req("CR-5", "CR-15")
@given(st.sampled_from(read_set(MIXED)), st.booleans())
def test_an_unread_or_frozen_member_denies(ref: AggregateRef, frozen: bool) -> None:
    states = known()
    if not frozen:
        del states[ref]
    held = frozenset({ref}) if frozen else NOBODY

    assert decide_release(states, held, MIXED, NOW) == Deny("frozen" if frozen else "unread")
    assert isinstance(decide_disclosure(states, held, MIXED, NOW), Deny) == (
        ref in disclosure_set(MIXED)
    )


def test_roots_count_towards_the_most_aggregates() -> None:
    roots = tuple(Root("source", f"s{number}", 1, SHA) for number in range(895))
    request = replace(REQUEST, pinned=(replace(ITEM_PIN, roots=roots),))

    assert len(read_set(request)) == 900
    with pytest.raises(ScopeTooWide):
        read_set(replace(request, corpus=CORPUS_PIN))


@pytest.mark.req("CR-6")
@given(st.permutations((*REQUEST.pinned, ITEM_PIN, FILE_PIN)), st.sampled_from((ITEM, FILE)))
def test_one_bad_member_denies_wherever_it_stands(pins: list[Pinned], bad: AggregateRef) -> None:
    request = replace(MIXED, pinned=tuple(pins))

    assert decided(request) == (Allow(EXPIRY), Allow(EXPIRY))
    assert decided(request, {bad: None}) == (Deny("not_readable"), Deny("not_readable"))


def test_an_unknown_value_denies() -> None:
    item, file = replace(ITEM_STATE), replace(FILE_STATE)
    object.__setattr__(item, "visibility", "galactic")
    object.__setattr__(file, "owner", None)
    unknown = replace(FILE_PIN)
    object.__setattr__(unknown, "kind", "star")

    assert decided(MIXED, {ITEM: item}) == (Deny("not_readable"), Deny("not_readable"))
    assert decided(MIXED, {FILE: file}) == (Deny("not_readable"), Deny("not_readable"))
    assert decided(replace(REQUEST, pinned=(unknown,)), {unknown.ref: FILE_STATE}) == (
        Deny("not_readable"),
        Deny("not_readable"),
    )


def test_only_the_owner_reads_a_private_file() -> None:
    tenant = TenantState()

    assert may_read_file(tenant, PRINCIPAL, FILE_STATE, principal_id=ASKER)
    assert not may_read_file(tenant, PRINCIPAL, FILE_STATE, principal_id="eve")
    assert not may_read_file(TenantState(suspended=True), PRINCIPAL, FILE_STATE, principal_id=ASKER)
    assert not may_read_file(None, PRINCIPAL, FILE_STATE, principal_id=ASKER)
    assert not may_read_file(tenant, None, FILE_STATE, principal_id=ASKER)
    assert not may_read_file(tenant, PRINCIPAL, None, principal_id=ASKER)
    deleted = replace(FILE_STATE, deleted=True)
    assert not may_read_file(tenant, PRINCIPAL, deleted, principal_id=ASKER)
    assert tenant_ref("acme") in disclosure_set(MIXED)


def test_every_reason_is_reached() -> None:
    reached: set[object] = {reason for _, _, reason in (*EVERYWHERE, *ROOT_CHANGES)}
    reached |= {reason for _, _, reason in test_release.EVERYWHERE}
    gone = known()
    del gone[ITEM]
    later = decide_release(known(), NOBODY, MIXED, EXPIRY)
    others = (
        decide_release(gone, NOBODY, MIXED, NOW),
        decide_release(known(), frozenset({ITEM}), MIXED, NOW),
        decide_release(known(), NOBODY, replace(MIXED, owner_id="eve"), NOW),
        decide_release(known(), NOBODY, replace(MIXED, mode="rlm"), NOW),
        decide_release(known({CORPUS: None}), NOBODY, MIXED, NOW),
        later,
    )
    reached |= {each.reason for each in others if isinstance(each, Deny)}

    assert reached == set(get_args(Reason))
