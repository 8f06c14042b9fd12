"""Credentials, roles, visibility, columns and rows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.access import (
    authenticate,
    column_view,
    effective_expiry,
    has_right,
    may_read,
    visible_to,
)
from chancery.authority.states import (
    PrincipalState,
    SourceState,
    TenantState,
    WorkspaceState,
)
from chancery.events.authority import ColumnPolicy, Measure, Role
from chancery.kernel.errors import Denied
from tests.unit.authority.worlds import (
    ASKER,
    CREDENTIAL,
    DATASET_STATE,
    EXPIRY,
    FILTER,
    NOW,
    OTHER_SHA,
    PRINCIPAL,
    PROOF,
    SOURCE_STATE,
    WORKSPACE,
    principals,
    sources,
)

ROLES: tuple[Role, ...] = ("reader", "curator", "publisher", "admin")
OPEN = WorkspaceState("Works", "pat")


def _revoked() -> PrincipalState:
    credential = replace(PRINCIPAL.credentials[CREDENTIAL], revoked=True)
    return replace(PRINCIPAL, credentials={CREDENTIAL: credential})


@pytest.mark.req("CR-6")
@pytest.mark.parametrize(
    ("principal", "credential_id", "proof", "now", "code"),
    [
        (None, CREDENTIAL, PROOF, NOW, "unauthenticated"),
        (PRINCIPAL, "other", PROOF, NOW, "unauthenticated"),
        (PRINCIPAL, CREDENTIAL, OTHER_SHA, NOW, "unauthenticated"),
        (PRINCIPAL, CREDENTIAL, "not hex", NOW, "unauthenticated"),
        (PRINCIPAL, CREDENTIAL, PROOF, EXPIRY, "credential_expired"),
        (_revoked(), CREDENTIAL, PROOF, NOW, "credential_revoked"),
        (_revoked(), CREDENTIAL, OTHER_SHA, NOW, "unauthenticated"),
    ],
)
def test_anything_but_the_right_proof_in_time_is_denied(
    principal: PrincipalState | None, credential_id: str, proof: str, now: datetime, code: str
) -> None:
    authenticate(PRINCIPAL, CREDENTIAL, PROOF, NOW)

    with pytest.raises(Denied) as denied:
        authenticate(principal, credential_id, proof, now)

    assert denied.value.code == code


@given(st.integers(-(10**9), 10**9))
def test_expiry_is_exact_at_its_microsecond(offset: int) -> None:
    now = EXPIRY + timedelta(microseconds=offset)
    denied = False
    try:
        authenticate(PRINCIPAL, CREDENTIAL, PROOF, now)
    except Denied:
        denied = True

    assert denied == (offset >= 0)


def test_the_effective_expiry_is_the_credentials() -> None:
    assert effective_expiry(PRINCIPAL, CREDENTIAL) == EXPIRY
    assert effective_expiry(PRINCIPAL, "other") is None


def test_roles_include_the_lower_ones_and_unknown_roles_nothing() -> None:
    for held, least in itertools.product(ROLES, ROLES):
        assert has_right(held, least) == (ROLES.index(held) >= ROLES.index(least))
    assert not has_right(None, "reader")


@pytest.mark.req("KO-9", "CR-7")
@given(principals, sources, st.booleans(), st.booleans())
def test_reading_needs_tenant_workspace_membership_and_visibility(
    principal: PrincipalState, source: SourceState, suspended: bool, closed: bool
) -> None:
    tenant, workspace = TenantState(suspended), replace(OPEN, closed=closed)
    held = {ASKER, *(f"group:{name}" for name in principal.groups)}
    visible = {
        "workspace": True,
        "restricted": bool(held & set(source.grants)),
        "private": source.declarer == ASKER,
    }[source.visibility]
    expected = (
        not suspended and not closed and source.workspace_id in principal.memberships and visible
    )

    assert may_read(tenant, workspace, principal, source, principal_id=ASKER) == expected
    assert not may_read(None, workspace, principal, source, principal_id=ASKER)
    assert not may_read(tenant, None, principal, source, principal_id=ASKER)
    assert not may_read(tenant, workspace, None, source, principal_id=ASKER)
    assert not may_read(tenant, workspace, principal, None, principal_id=ASKER)


def test_an_administrator_sees_no_restricted_source_without_a_grant() -> None:
    admin = PrincipalState(memberships={WORKSPACE: "admin"}, tenant_admin=True)

    assert not visible_to(admin, SOURCE_STATE, principal_id="root")
    assert visible_to(admin, SOURCE_STATE, principal_id="pat")


def test_a_private_source_is_the_declarers_alone_even_with_grants() -> None:
    private = replace(SOURCE_STATE, visibility="private")

    assert not visible_to(PRINCIPAL, private, principal_id=ASKER)
    assert visible_to(PRINCIPAL, private, principal_id="pat")


def test_an_unknown_visibility_is_seen_by_nobody() -> None:
    source = replace(SOURCE_STATE)
    object.__setattr__(source, "visibility", "galactic")

    assert not visible_to(PRINCIPAL, source, principal_id=ASKER)
    assert not visible_to(PRINCIPAL, source, principal_id="pat")


@pytest.mark.req("CR-27")
def test_column_roles_are_exact_names_and_every_matching_filter_applies() -> None:
    second = FILTER.model_copy(update={"column": "year", "allowed": (2026,)})
    columns = {
        "amount": ColumnPolicy(),
        "margin": ColumnPolicy(roles=("publisher",)),
        "buyer": ColumnPolicy(roles=("admin", "reader")),
    }
    dataset = replace(DATASET_STATE, columns=columns, row_filters=(FILTER, second))

    reader, admin = column_view(dataset, "reader"), column_view(dataset, "admin")

    assert reader.hidden == ("margin",)
    assert reader.row_filters == (("region", ("north", 3)), ("year", (2026,)))
    assert admin.hidden == ("margin",)
    assert admin.row_filters == ()


@pytest.mark.req("CR-27")
def test_filters_of_one_column_allow_the_values_of_any_of_them() -> None:
    """The same column in another case is the same column; `1` and `true` are two values."""
    south = FILTER.model_copy(update={"column": "Region", "allowed": ("south", 3, True, 1)})
    year = FILTER.model_copy(update={"column": "year", "allowed": (2026,)})
    others = FILTER.model_copy(update={"roles": ("curator",), "allowed": ("east",)})
    nothing = FILTER.model_copy(update={"column": "year", "allowed": ()})
    dataset = replace(DATASET_STATE, row_filters=(FILTER, year, south, others))

    reader = column_view(dataset, "reader")
    closed = column_view(replace(dataset, row_filters=(FILTER, nothing)), "reader")

    assert reader.row_filters == (("region", ("north", 3, "south", True, 1)), ("year", (2026,)))
    assert column_view(dataset, "curator").row_filters == (("region", ("east",)),)
    assert closed.row_filters == (("region", ("north", 3)), ("year", ()))


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("column", "where", "is_hidden"),
    [
        ("amount", {}, False),
        (None, {}, False),
        ("margin", {}, True),
        ("Margin", {}, True),
        ("amount", {"MARGIN": 3}, True),
        ("st", {}, True),
        ("amount", {"region": "margin"}, False),
    ],
)
def test_a_measure_that_rests_on_a_hidden_column_is_hidden_with_it(
    column: str | None, where: dict[str, str | int], is_hidden: bool
) -> None:
    measure = Measure(name="m", aggregate="count", column=column, where=where)
    columns = {each: ColumnPolicy(roles=("admin",)) for each in ("margin", "st.priv")}
    dataset = replace(DATASET_STATE, columns=columns, measures=(measure,))

    assert column_view(dataset, "reader").hidden_measures == (("m",) if is_hidden else ())
    assert column_view(dataset, "admin").hidden_measures == ()
