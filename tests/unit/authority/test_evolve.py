"""The fold: what each event makes of its aggregate, and what contradicts it."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.errors import BrokenRule
from chancery.authority.evolve import Folded, evolve, fold
from chancery.authority.states import (
    KINDS,
    Credential,
    DatasetState,
    PolicyState,
    PrincipalState,
    SourceState,
    State,
    TenantState,
    WorkspaceState,
    from_json,
    kind_of,
    to_json,
)
from chancery.events import authority as events
from chancery.events import authority_knowledge
from chancery.events.envelope import EventData
from tests.unit.authority.knowledge import CORPUS_STATE, FILE_STATE, ITEM_STATE
from tests.unit.authority.worlds import (
    DATASET_STATE,
    EXPIRY,
    OTHER_SHA,
    POLICY,
    PRINCIPAL,
    SHA,
    SOURCE_STATE,
    states,
)

DECLARED = events.SourceDeclared(
    workspace_id="ws", source_id="s", title="S", visibility="restricted", declarer="pat"
)
TABLE = events.DatasetDeclared(
    workspace_id="ws", dataset_id="d", title="D", visibility="workspace", declarer="pat"
)
ISSUED = events.CredentialIssued(credential_id="c", proof_sha256=SHA, expires_at=EXPIRY)
REVISED = events.PolicyRevised(policy_revision="p1", modes=("auto",), language="en")


def published(number: int, sha: str = SHA) -> events.RevisionPublished:
    return events.RevisionPublished(
        revision=number, content_sha256=sha, media_type="text/plain", size_bytes=1
    )


def snapshot(number: int) -> events.SnapshotPublished:
    return events.SnapshotPublished(
        snapshot=number, content_sha256=SHA, media_type="text/csv", size_bytes=1
    )


def folded(kind: str, *data: EventData) -> State:
    """Return the state after the events, numbered 1, 2, 3, ..."""
    last = reduce(
        lambda before, pair: fold(kind, before, pair[0], pair[1]),
        enumerate(data, start=1),
        Folded(),
    )
    assert last.state is not None
    return last.state


def test_a_tenant_is_suspended_and_resumed() -> None:
    created, suspended = events.TenantCreated(), events.TenantSuspended(reason="unpaid")

    assert folded("tenant", created) == TenantState()
    assert folded("tenant", created, suspended) == TenantState(suspended=True)
    assert folded("tenant", created, suspended, events.TenantResumed()) == TenantState()


def test_a_workspace_is_created_and_closed() -> None:
    created = events.WorkspaceCreated(title="W", creator="ada")

    assert folded("workspace", created) == WorkspaceState("W", "ada")
    closed = folded("workspace", created, events.WorkspaceClosed())
    assert closed == WorkspaceState("W", "ada", closed=True)


def test_a_principal_holds_credentials_roles_and_groups() -> None:
    state = folded(
        "principal",
        ISSUED,
        events.CredentialIssued(credential_id="d", proof_sha256=OTHER_SHA),
        events.CredentialRevoked(credential_id="d"),
        events.MemberAdded(workspace_id="ws", role="reader"),
        events.MemberAdded(workspace_id="ws", role="admin"),
        events.MemberAdded(workspace_id="gone", role="admin"),
        events.MemberRemoved(workspace_id="gone"),
        events.GroupJoined(group="z"),
        events.GroupJoined(group="a"),
        events.GroupJoined(group="b"),
        events.GroupLeft(group="b"),
        events.TenantAdminGranted(),
    )

    assert state == PrincipalState(
        credentials={"c": Credential(SHA, EXPIRY), "d": Credential(OTHER_SHA, revoked=True)},
        memberships={"ws": "admin"},
        groups=("a", "z"),
        tenant_admin=True,
    )
    lowered = evolve("principal", state, events.TenantAdminRevoked())
    assert isinstance(lowered, PrincipalState)
    assert not lowered.tenant_admin


def test_a_source_counts_revisions_and_serves_the_newest_unless_withdrawn() -> None:
    history = (DECLARED, published(1), published(2, OTHER_SHA))
    state = folded("source", *history)
    withdrawn = folded("source", *history, events.RevisionWithdrawn())
    restored = folded("source", *history, events.RevisionWithdrawn(), events.SourceRestored())
    again = folded("source", *history, events.RevisionWithdrawn(), published(3))

    assert isinstance(state, SourceState)
    assert (state.serving, state.grants) == (2, ("pat",))
    assert isinstance(withdrawn, SourceState)
    assert (withdrawn.serving, len(withdrawn.revisions)) == (None, 2)
    assert restored == state
    assert isinstance(again, SourceState)
    assert again.serving == 3


def test_an_erased_source_never_serves_again() -> None:
    state = folded("source", DECLARED, published(1), events.SourceErased(demand="d-1"))

    assert isinstance(state, SourceState)
    assert (state.serving, state.erased) == (None, True)


def test_a_source_changes_title_visibility_standing_and_grants() -> None:
    state = folded(
        "source",
        DECLARED,
        DECLARED.model_copy(update={"title": "T"}),
        events.VisibilityChanged(visibility="private"),
        events.AuthoritySet(authority="normative", date="2026-01-31"),
        events.SourceGranted(grantee="group:all"),
        events.SourceGranted(grantee="ada"),
        events.SourceGrantRevoked(grantee="pat"),
    )

    assert state == SourceState(
        workspace_id="ws",
        source_id="s",
        title="T",
        visibility="private",
        declarer="pat",
        grants=("ada", "group:all"),
        authority="normative",
        date="2026-01-31",
    )


def test_a_dataset_keeps_grants_and_snapshots_when_it_is_declared_again() -> None:
    measure = events.Measure(name="m", aggregate="count")
    state = folded(
        "dataset",
        TABLE,
        snapshot(1),
        events.DatasetGranted(grantee="ada"),
        events.DatasetGranted(grantee="bob"),
        events.DatasetGrantRevoked(grantee="bob"),
        events.DatasetWithdrawn(),
        TABLE.model_copy(update={"title": "E", "measures": (measure,)}),
    )

    assert isinstance(state, DatasetState)
    assert (state.title, state.measures, state.grants) == ("E", (measure,), ("ada", "pat"))
    assert (state.serving, len(state.revisions)) == (None, 1)
    after = evolve("dataset", state, snapshot(2))
    assert isinstance(after, DatasetState)
    assert after.serving == 2


def test_a_policy_remembers_the_names_it_had() -> None:
    second = REVISED.model_copy(update={"policy_revision": "p2", "language": "de"})

    assert folded("policy", REVISED, second) == PolicyState("p2", ("auto",), "de", ("p1",))


CONTRADICTIONS: list[tuple[str, tuple[EventData, ...], EventData]] = [
    ("tenant", (events.TenantCreated(),), events.TenantCreated()),
    ("tenant", (events.TenantCreated(),), events.TenantResumed()),
    ("tenant", (), events.TenantSuspended(reason="r")),
    ("workspace", (), events.WorkspaceClosed()),
    (
        "workspace",
        (events.WorkspaceCreated(title="W", creator="a"), events.WorkspaceClosed()),
        events.WorkspaceClosed(),
    ),
    ("principal", (ISSUED,), ISSUED),
    ("principal", (), events.CredentialRevoked(credential_id="c")),
    (
        "principal",
        (ISSUED, events.CredentialRevoked(credential_id="c")),
        events.CredentialRevoked(credential_id="c"),
    ),
    (
        "principal",
        (events.MemberAdded(workspace_id="w", role="reader"),),
        events.MemberAdded(workspace_id="w", role="reader"),
    ),
    ("principal", (), events.MemberRemoved(workspace_id="w")),
    ("principal", (events.GroupJoined(group="g"),), events.GroupJoined(group="g")),
    ("principal", (), events.GroupLeft(group="g")),
    ("principal", (events.TenantAdminGranted(),), events.TenantAdminGranted()),
    ("principal", (), events.TenantAdminRevoked()),
    ("source", (), published(1)),
    ("source", (DECLARED,), published(2)),
    ("source", (DECLARED, published(1)), published(1)),
    ("source", (DECLARED,), events.RevisionWithdrawn()),
    ("source", (DECLARED, published(1)), events.SourceRestored()),
    ("source", (DECLARED,), events.VisibilityChanged(visibility="restricted")),
    ("source", (DECLARED,), events.SourceGranted(grantee="pat")),
    ("source", (DECLARED,), events.SourceGrantRevoked(grantee="ada")),
    ("source", (DECLARED,), DECLARED.model_copy(update={"workspace_id": "other"})),
    ("source", (DECLARED,), DECLARED.model_copy(update={"declarer": "eve"})),
    ("source", (), events.SourceErased(demand="d-1")),
    *(
        ("source", (DECLARED, published(1), events.SourceErased(demand="d-1")), later)
        for later in (
            DECLARED,
            published(2),
            events.SourceRestored(),
            events.SourceGranted(grantee="ada"),
            events.SourceErased(demand="d-2"),
        )
    ),
    ("dataset", (), snapshot(1)),
    ("dataset", (TABLE,), snapshot(2)),
    ("dataset", (TABLE,), events.DatasetWithdrawn()),
    ("dataset", (TABLE,), TABLE.model_copy(update={"dataset_id": "other"})),
    ("dataset", (TABLE,), TABLE.model_copy(update={"declarer": "eve"})),
    ("policy", (), REVISED.model_copy(update={"policy_revision": "0"})),
    ("policy", (REVISED,), REVISED),
    ("corpus", (), DECLARED),
    ("file", (), DECLARED),
]


@pytest.mark.req("EV-5")
@pytest.mark.parametrize(("kind", "before", "data"), CONTRADICTIONS)
def test_an_event_that_contradicts_its_aggregate_is_refused(
    kind: str, before: tuple[EventData, ...], data: EventData
) -> None:
    state = folded(kind, *before) if before else None

    with pytest.raises(BrokenRule):
        evolve(kind, state, data)


def _sample(model: type[EventData]) -> EventData:
    """Return an event without validation: only its type matters to a foreign aggregate."""
    return model.model_construct()


@pytest.mark.parametrize("model", [*events.MODELS, *authority_knowledge.MODELS])
def test_every_event_belongs_to_one_kind_and_is_foreign_to_the_others(
    model: type[EventData],
) -> None:
    own = model.TYPE.split(".")[1]
    samples: tuple[State, ...] = (
        TenantState(),
        WorkspaceState("W", "a"),
        PRINCIPAL,
        SOURCE_STATE,
        DATASET_STATE,
        ITEM_STATE,
        CORPUS_STATE,
        FILE_STATE,
        POLICY,
    )

    for state in samples:
        if kind_of(state) != own:
            with pytest.raises(BrokenRule):
                evolve(kind_of(state), state, _sample(model))
    assert {kind_of(state) for state in samples} == set(KINDS)
    assert own in {*KINDS, "cut", "fence"}


def test_a_state_of_another_kind_is_refused() -> None:
    with pytest.raises(BrokenRule):
        evolve("source", PRINCIPAL, published(1))


HISTORIES: dict[str, tuple[EventData, ...]] = {
    "source": (
        DECLARED,
        published(1),
        events.SourceGranted(grantee="ada"),
        events.RevisionWithdrawn(),
        published(2, OTHER_SHA),
        events.SourceGrantRevoked(grantee="pat"),
    ),
    "principal": (
        ISSUED,
        events.MemberAdded(workspace_id="ws", role="reader"),
        events.GroupJoined(group="g"),
        events.CredentialRevoked(credential_id="c"),
    ),
    "policy": (REVISED, REVISED.model_copy(update={"policy_revision": "p2"})),
}


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
@given(st.sampled_from(sorted(HISTORIES)), st.integers(0, 6))
def test_a_fold_that_was_stored_halfway_continues_to_the_same_state(kind: str, cut: int) -> None:
    history = HISTORIES[kind]
    half = history[: min(max(cut, 1), len(history))]
    stored = from_json(kind, to_json(folded(kind, *half)))

    resumed = reduce(lambda state, data: evolve(kind, state, data), history[len(half) :], stored)

    assert resumed == folded(kind, *history)


@given(states)
def test_a_later_sequence_never_goes_back(state: State) -> None:
    kept = Folded(7, state)

    assert fold(kind_of(state), kept, 7, events.TenantCreated()) is kept
    assert fold(kind_of(state), kept, 1, events.TenantCreated()) is kept
