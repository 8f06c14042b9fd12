"""The decision to release, and to disclose again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.errors import ScopeTooWide
from chancery.authority.names import (
    AggregateRef,
    policy_ref,
    principal_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.policies import NO_POLICY, policy_hash
from chancery.authority.release import (
    Allow,
    Deny,
    Pinned,
    Reason,
    ReleaseRequest,
    States,
    decide_disclosure,
    decide_release,
    disclosure_set,
    read_set,
)
from chancery.authority.states import (
    PrincipalState,
    Revision,
    State,
    TenantState,
    WorkspaceState,
)
from chancery.events.authority import ColumnPolicy
from tests.unit.authority.worlds import (
    ASKER,
    CREDENTIAL,
    DATASET,
    DATASET_STATE,
    EXPIRY,
    FILTER,
    NOW,
    PINS,
    POLICY,
    PRINCIPAL,
    REQUEST,
    SHA,
    SOURCE,
    SOURCE_STATE,
    WORKSPACE,
    world,
)

NOBODY: frozenset[AggregateRef] = frozenset()
WHO = principal_ref(ASKER)
WHERE = workspace_ref(WORKSPACE)
RULES = policy_ref(WORKSPACE)

Change = tuple[AggregateRef, State | None, Reason]


def _broken_credential(*, revoked: bool = False, gone: bool = False) -> PrincipalState:
    credential = replace(PRINCIPAL.credentials[CREDENTIAL], revoked=revoked)
    return replace(PRINCIPAL, credentials={} if gone else {CREDENTIAL: credential})


ELSEWHERE = FILTER.model_copy(update={"column": "country"})
EVERYWHERE: list[Change] = [
    (tenant_ref("acme"), None, "tenant"),
    (tenant_ref("acme"), TenantState(suspended=True), "tenant"),
    (tenant_ref("acme"), PRINCIPAL, "tenant"),
    (WHERE, None, "workspace"),
    (WHERE, WorkspaceState("Works", "pat", closed=True), "workspace"),
    (WHO, None, "credential"),
    (WHO, _broken_credential(gone=True), "credential"),
    (WHO, _broken_credential(revoked=True), "credential"),
    (WHO, replace(PRINCIPAL, memberships={}), "not_member"),
    (WHO, replace(PRINCIPAL, memberships={"elsewhere": "admin"}), "not_member"),
    (WHO, replace(PRINCIPAL, groups=()), "not_readable"),
    (SOURCE, None, "not_readable"),
    (SOURCE, DATASET_STATE, "not_readable"),
    (SOURCE, replace(SOURCE_STATE, grants=("pat",)), "not_readable"),
    (SOURCE, replace(SOURCE_STATE, visibility="private"), "not_readable"),
    (SOURCE, replace(SOURCE_STATE, workspace_id="elsewhere"), "not_readable"),
    (SOURCE, replace(SOURCE_STATE, withdrawn=True), "withdrawn"),
    (SOURCE, replace(SOURCE_STATE, revisions=()), "withdrawn"),
    (SOURCE, replace(SOURCE_STATE, revisions=SOURCE_STATE.revisions[:1]), "superseded"),
    (
        SOURCE,
        replace(SOURCE_STATE, revisions=(*SOURCE_STATE.revisions, Revision(SHA, "text/plain", 1))),
        "superseded",
    ),
    (DATASET, replace(DATASET_STATE, grants=("pat",)), "not_readable"),
    (DATASET, replace(DATASET_STATE, withdrawn=True), "withdrawn"),
    (
        DATASET,
        replace(DATASET_STATE, columns={"AMOUNT": ColumnPolicy(roles=("admin",))}),
        "fields",
    ),
    (DATASET, replace(DATASET_STATE, row_filters=()), "fields"),
    (DATASET, replace(DATASET_STATE, row_filters=(FILTER, ELSEWHERE)), "fields"),
]


@pytest.mark.req("CR-15")
def test_the_whole_set_of_rights_allows_until_the_credential_ends() -> None:
    assert decide_release(world(), NOBODY, REQUEST, NOW) == Allow(EXPIRY)
    assert decide_disclosure(world(), NOBODY, REQUEST, NOW) == Allow(EXPIRY)


@pytest.mark.req("KO-6", "CR-4", "CR-6", "CR-7", "CL-12", "CL-13")
@pytest.mark.parametrize(("ref", "state", "reason"), EVERYWHERE)
def test_any_single_right_removed_denies(
    ref: AggregateRef, state: State | None, reason: Reason
) -> None:
    states = world({ref: state})

    assert decide_release(states, NOBODY, REQUEST, NOW) == Deny(reason)
    assert decide_disclosure(states, NOBODY, REQUEST, NOW) == Deny(reason)


@pytest.mark.req("CL-17")
@pytest.mark.parametrize(
    "policy",
    [
        None,
        replace(POLICY, policy_revision="p2"),
        replace(POLICY, language="en"),
        replace(POLICY, modes=("data",)),
        PRINCIPAL,
    ],
)
def test_another_policy_denies_the_seal_but_not_a_later_disclosure(policy: State | None) -> None:
    states = world({RULES: policy})

    assert decide_release(states, NOBODY, REQUEST, NOW) == Deny("policy")
    assert decide_disclosure(states, NOBODY, REQUEST, NOW) == Allow(EXPIRY)


@pytest.mark.req("CL-17")
def test_a_mode_outside_the_policy_denies_the_seal() -> None:
    assert decide_release(world(), NOBODY, replace(REQUEST, mode="rlm"), NOW) == Deny("policy")


def test_no_policy_is_revision_zero() -> None:
    request = replace(REQUEST, policy_revision="0", policy_sha256=policy_hash(None))

    assert decide_release(world({RULES: None}), NOBODY, request, NOW) == Allow(EXPIRY)
    assert policy_hash(None) == policy_hash(NO_POLICY)


@given(st.integers(-(10**9), 10**9))
def test_expiry_denies_from_its_exact_microsecond(offset: int) -> None:
    now = EXPIRY + timedelta(microseconds=offset)
    expected = Allow(EXPIRY) if offset < 0 else Deny("expired")

    assert decide_release(world(), NOBODY, REQUEST, now) == expected
    assert decide_disclosure(world(), NOBODY, REQUEST, now) == expected


@pytest.mark.req("CL-12")
def test_only_the_originating_principal_may_read() -> None:
    request = replace(REQUEST, owner_id="somebody-else")

    assert decide_release(world(), NOBODY, request, NOW) == Deny("not_owner")
    assert decide_disclosure(world(), NOBODY, request, NOW) == Deny("not_owner")


@pytest.mark.req("CR-5", "CR-15")
@given(st.sampled_from(read_set(REQUEST)), st.booleans())
def test_an_unread_or_frozen_member_denies(ref: AggregateRef, frozen: bool) -> None:
    states = world()
    if not frozen:
        del states[ref]
    held = frozenset({ref}) if frozen else NOBODY

    assert decide_release(states, held, REQUEST, NOW) == Deny("frozen" if frozen else "unread")
    if ref in disclosure_set(REQUEST):
        assert isinstance(decide_disclosure(states, held, REQUEST, NOW), Deny)


@pytest.mark.parametrize(
    "corrupt",
    [
        lambda: ("visibility", SOURCE, replace(SOURCE_STATE), "galactic"),
        lambda: ("visibility", DATASET, replace(DATASET_STATE), "galactic"),
        lambda: ("memberships", WHO, replace(PRINCIPAL), {WORKSPACE: "superuser"}),
    ],
)
def test_an_unknown_value_denies(
    corrupt: Callable[[], tuple[str, AggregateRef, State, object]],
) -> None:
    field, ref, state, value = corrupt()
    object.__setattr__(state, field, value)

    assert isinstance(decide_release(world({ref: state}), NOBODY, REQUEST, NOW), Deny)
    assert isinstance(decide_disclosure(world({ref: state}), NOBODY, REQUEST, NOW), Deny)


def test_an_uncited_measure_card_needs_no_rows_but_must_be_readable() -> None:
    card = Pinned("dataset", DATASET.id, 1)
    request = replace(REQUEST, pinned=(card,))
    moved = world({DATASET: replace(DATASET_STATE, row_filters=())})
    hidden = world({DATASET: replace(DATASET_STATE, grants=())})

    assert decide_release(moved, NOBODY, request, NOW) == Allow(EXPIRY)
    assert decide_release(hidden, NOBODY, request, NOW) == Deny("not_readable")


@given(st.permutations(PINS), st.randoms())
def test_the_order_of_pins_and_states_changes_nothing(
    pins: list[Pinned], order: random.Random
) -> None:
    request = replace(REQUEST, pinned=tuple(pins))
    items = list(world().items())
    order.shuffle(items)

    assert read_set(request) == read_set(REQUEST)
    assert decide_release(dict(items), NOBODY, request, NOW) == Allow(EXPIRY)


def test_the_read_set_is_sorted_and_names_each_aggregate_once() -> None:
    request = replace(REQUEST, pinned=(*PINS, *PINS))

    refs = read_set(request)

    assert list(refs) == sorted(set(world()))
    assert set(refs) - set(disclosure_set(request)) == {RULES}


def _wide(count: int) -> ReleaseRequest:
    pins = tuple(Pinned("source", f"s{number}", 1) for number in range(count))
    return replace(REQUEST, pinned=pins)


def test_nine_hundred_aggregates_are_the_most() -> None:
    assert len(read_set(_wide(896))) == 900

    with pytest.raises(ScopeTooWide) as refused:
        read_set(_wide(897))

    assert refused.value.code == "scope_too_wide"


@pytest.mark.req("CR-6")
@given(st.integers(0, 3))
def test_one_bad_member_denies_wherever_it_stands(place: int) -> None:
    bad = Pinned("source", "unknown", 1)
    pins = (*PINS[: place % 3], bad, *PINS[place % 3 :])
    states: States = world({bad.ref: None})

    decided = decide_release(states, NOBODY, replace(REQUEST, pinned=pins), NOW)

    assert decided == Deny("not_readable")


def test_a_state_of_another_kind_is_no_principal() -> None:
    assert decide_release(world({WHO: POLICY}), NOBODY, REQUEST, NOW) == Deny("credential")
