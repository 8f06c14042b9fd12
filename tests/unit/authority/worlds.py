"""A small world in which one answer may be released, and strategies for every state."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from chancery.authority.names import (
    AggregateRef,
    dataset_ref,
    policy_ref,
    principal_ref,
    source_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.policies import policy_hash
from chancery.authority.release import Pinned, ReleaseRequest
from chancery.authority.rights import Actor
from chancery.authority.states import (
    Credential,
    DatasetState,
    PolicyState,
    PrincipalState,
    Revision,
    SourceState,
    State,
    TenantState,
    WorkspaceState,
)
from chancery.authority.tokens import proof_hash, proof_of, secret_for
from chancery.events.authority import ColumnPolicy, Measure, Role, RowFilter

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
EXPIRY = NOW + timedelta(hours=1)
KEY = b"k" * 32
CREDENTIAL = "cred-1"
PROOF = proof_of(secret_for(KEY, CREDENTIAL))
SHA = "a" * 64
OTHER_SHA = "b" * 64
WORKSPACE = "ws"
ASKER = "ada"
SOURCE = source_ref(WORKSPACE, "handbook")
DATASET = dataset_ref(WORKSPACE, "orders")
FILTER = RowFilter(roles=("reader",), column="region", allowed=("north", 3))

PRINCIPAL = PrincipalState(
    credentials={CREDENTIAL: Credential(proof_hash(PROOF), EXPIRY)},
    memberships={WORKSPACE: "reader"},
    groups=("finance",),
)
POLICY = PolicyState("p1", ("auto", "data"), "de")
SOURCE_STATE = SourceState(
    workspace_id=WORKSPACE,
    source_id="handbook",
    title="Handbook",
    visibility="restricted",
    declarer="pat",
    grants=("ada", "pat"),
    revisions=(Revision(SHA, "text/plain", 10), Revision(OTHER_SHA, "text/plain", 11)),
)
DATASET_STATE = DatasetState(
    workspace_id=WORKSPACE,
    dataset_id="orders",
    title="Orders",
    visibility="restricted",
    declarer="pat",
    grants=("group:finance", "pat"),
    revisions=(Revision(SHA, "text/csv", 10),),
    columns={"amount": ColumnPolicy(), "margin": ColumnPolicy(roles=("admin",))},
    row_filters=(FILTER,),
    measures=(Measure(name="total", aggregate="sum", column="amount"),),
)
PINS = (
    Pinned("source", SOURCE.id, 2),
    Pinned("dataset", DATASET.id, 1, ("amount",), (("region", ("north", 3)),)),
)
REQUEST = ReleaseRequest(
    tenant="acme",
    principal_id=ASKER,
    credential_id=CREDENTIAL,
    owner_id=ASKER,
    workspace_id=WORKSPACE,
    policy_revision="p1",
    policy_sha256=policy_hash(POLICY),
    mode="auto",
    pinned=PINS,
)


def world(
    changed: Mapping[AggregateRef, State | None] | None = None,
) -> dict[AggregateRef, State | None]:
    """Return the states that allow `REQUEST`, with some of them changed."""
    return {
        tenant_ref("acme"): TenantState(),
        workspace_ref(WORKSPACE): WorkspaceState("Works", "pat"),
        principal_ref(ASKER): PRINCIPAL,
        policy_ref(WORKSPACE): POLICY,
        SOURCE: SOURCE_STATE,
        DATASET: DATASET_STATE,
        **(changed or {}),
    }


def actor(role: Role | None, *, principal_id: str = "pat", tenant_admin: bool = False) -> Actor:
    """Return a principal with a role in the workspace."""
    memberships: dict[str, Role] = {} if role is None else {WORKSPACE: role}
    state = PrincipalState(memberships=memberships, tenant_admin=tenant_admin)
    return Actor("acme", principal_id, state)


ids = st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)
shas = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)
titles = st.text(min_size=1, max_size=30)
FIRST, LAST = datetime(2000, 1, 1), datetime(2999, 1, 1)  # noqa: DTZ001 - bounds have no zone
moments = st.datetimes(FIRST, LAST, timezones=st.just(UTC))
cells = st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), st.booleans(), st.text(max_size=8))
visibilities = st.sampled_from(("workspace", "restricted", "private"))
roles = st.sampled_from(("reader", "curator", "publisher", "admin"))
grants = st.lists(ids, unique=True, max_size=4).map(sorted).map(tuple)
credentials = st.builds(Credential, shas, st.none() | moments, st.booleans())
revisions = st.lists(
    st.builds(Revision, shas, st.just("text/plain"), st.integers(1, 9)), max_size=3
).map(tuple)
principals = st.builds(
    PrincipalState,
    st.dictionaries(ids, credentials, max_size=3),
    st.dictionaries(ids, roles, max_size=3),
    grants,
    st.booleans(),
)
sources = st.builds(
    SourceState,
    workspace_id=ids,
    source_id=ids,
    title=titles,
    visibility=visibilities,
    declarer=ids,
    grants=grants,
    revisions=revisions,
    withdrawn=st.booleans(),
    authority=st.sampled_from(("normative", "historical", "reference")),
    date=st.none() | st.just("2026-01-31"),
)
filters = st.builds(
    RowFilter,
    roles=st.lists(roles, min_size=1, max_size=4).map(tuple),
    column=ids,
    allowed=st.lists(cells, max_size=4).map(tuple),
)
measures = st.builds(
    Measure,
    name=ids,
    description=st.text(max_size=10),
    synonyms=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    aggregate=st.sampled_from(("sum", "avg", "min", "max", "count")),
    column=st.none() | ids,
    where=st.dictionaries(ids, cells, max_size=2),
)
datasets = st.builds(
    DatasetState,
    workspace_id=ids,
    dataset_id=ids,
    title=titles,
    visibility=visibilities,
    declarer=ids,
    grants=grants,
    revisions=revisions,
    withdrawn=st.booleans(),
    columns=st.dictionaries(
        ids,
        st.builds(
            ColumnPolicy,
            type=st.none() | st.just("BIGINT"),
            roles=st.lists(roles, max_size=2).map(tuple),
        ),
        max_size=3,
    ),
    row_filters=st.lists(filters, max_size=2).map(tuple),
    measures=st.lists(measures, max_size=2).map(tuple),
)
policies = st.builds(
    PolicyState,
    titles,
    st.lists(st.sampled_from(("auto", "rag", "data", "rlm")), min_size=1, max_size=4).map(tuple),
    st.sampled_from(("en", "de", "fr", "es", "ja")),
    st.lists(titles, max_size=3).map(tuple),
)
states: st.SearchStrategy[State] = st.one_of(
    st.builds(TenantState, st.booleans()),
    st.builds(WorkspaceState, titles, ids, st.booleans()),
    principals,
    sources,
    datasets,
    policies,
)
