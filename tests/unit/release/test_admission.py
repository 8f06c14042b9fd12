"""Admission: what a question may search, and how it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

import pytest
from hypothesis import given
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
from chancery.events.authority import ColumnPolicy, Measure, Role, RowFilter, Standing
from chancery.events.queries import IndexState
from chancery.events.run import Bounds, Filters
from chancery.evidence.coverage import coverage
from chancery.evidence.scope import SCOPE_ENTRIES_MAX
from chancery.release.domain.admission import Admitted, NotAdmitted, Question, admit, passes
from chancery.release.domain.entries import Resource, corpus_row, index_state
from chancery.release.domain.index_fold import Extraction, IndexEntry
from chancery.release.domain.searched import search_revisions
from chancery.release.domain.snapshot import Snapshot

SHA = "0" * 64
NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION = Question(
    tenant="acme",
    principal="anna",
    credential_id="c",
    workspace_id="w",
    mode="auto",
    bounds=Bounds(),
)
PINNED = Extraction("text/1", "1" * 64, "2" * 64, 10, 7)
NOTHING_CHANGED: Mapping[str, State | None] = MappingProxyType({})
READY = IndexEntry("w", SHA, "ready", 9, 5, ready=PINNED, extractions=(PINNED,))


def snapshot(
    changes: Mapping[str, State | None] = NOTHING_CHANGED,
    *,
    frozen: frozenset[AggregateRef] = frozenset(),
) -> Snapshot:
    principal = PrincipalState(credentials={"c": Credential(SHA)}, memberships={"w": "reader"})
    states: dict[AggregateRef, State | None] = {
        tenant_ref("acme"): changes.get("tenant", TenantState()),
        principal_ref("anna"): changes.get("principal", principal),
        workspace_ref("w"): changes.get("workspace", WorkspaceState("Legal", "anna")),
        policy_ref("w"): changes.get("policy"),
    }
    return Snapshot(12, NOW, states, frozen)


def source(name: str, entry: IndexEntry | None = READY) -> Resource:
    state = SourceState(
        workspace_id="w",
        source_id=name,
        title=name,
        visibility="workspace",
        declarer="bert",
        revisions=(Revision(SHA, "text/plain", 1),),
    )
    return Resource(source_ref("w", name), state, frozen=False, entry=entry)


def changed(resource: Resource, **fields: object) -> Resource:
    assert resource.state is not None
    return replace(resource, state=replace(resource.state, **fields))


def outcome(result: Admitted | NotAdmitted) -> str:
    return result.outcome if isinstance(result, NotAdmitted) else "admitted"


def test_what_serves_and_may_be_read_is_admitted_with_its_pins() -> None:
    result = admit(QUESTION, snapshot(), [source("a"), source("b", None)])

    assert isinstance(result, Admitted)
    first, second = result.entries
    assert (first.state, first.extraction_sha256, first.index_sequence) == ("ready", "1" * 64, 9)
    assert (second.state, second.extraction_sha256, second.index_sequence) == ("pending", None, 0)


@pytest.mark.req("KO-9", "CR-27")
@pytest.mark.parametrize(
    "resource",
    [
        changed(source("a"), visibility="private"),
        changed(source("a"), visibility="restricted"),
        changed(source("a"), withdrawn=True),
        changed(source("a"), revisions=()),
        changed(source("a"), workspace_id="elsewhere"),
        replace(source("a"), frozen=True),
    ],
    ids=["private", "restricted", "withdrawn", "nothing published", "elsewhere", "frozen"],
)
def test_a_selected_source_that_cannot_be_used_is_refused_as_if_it_were_not_there(
    resource: Resource,
) -> None:
    selecting = replace(QUESTION, sources=("a",))

    assert admit(selecting, snapshot(), [resource]) == admit(selecting, snapshot(), [])
    assert outcome(admit(selecting, snapshot(), [])) == "source_access"
    assert outcome(admit(selecting, snapshot(), [source("a")])) == "admitted"


@pytest.mark.req("CL-17")
@pytest.mark.parametrize(
    ("question", "states"),
    [
        (replace(QUESTION, bounds=Bounds(policy_revision="7")), {}),
        (QUESTION, {"policy": PolicyState("1", ("data",), "en")}),
        (QUESTION, {"tenant": TenantState(suspended=True)}),
        (QUESTION, {"tenant": None}),
        (QUESTION, {"workspace": WorkspaceState("Legal", "anna", closed=True)}),
        (QUESTION, {"principal": PrincipalState(memberships={"w": "reader"})}),
        (QUESTION, {"principal": PrincipalState(credentials={"c": Credential(SHA)})}),
        (
            QUESTION,
            {
                "principal": PrincipalState(
                    credentials={"c": Credential(SHA, NOW)}, memberships={"w": "reader"}
                )
            },
        ),
    ],
)
def test_a_place_that_does_not_allow_the_question_admits_nothing(
    question: Question, states: dict[str, State | None]
) -> None:
    result = admit(question, snapshot(states), [source("a")])

    assert result == NotAdmitted("access_changing")


def test_a_frozen_principal_admits_nothing() -> None:
    frozen = frozenset({principal_ref("anna")})

    assert outcome(admit(QUESTION, snapshot(frozen=frozen), [source("a")])) == "access_changing"


def test_a_pinned_policy_that_holds_is_admitted() -> None:
    question = replace(QUESTION, bounds=Bounds(policy_revision="0"))

    assert outcome(admit(question, snapshot(), [source("a")])) == "admitted"


def test_items_and_files_that_are_not_there_are_refused_by_access() -> None:
    for question in (replace(QUESTION, items=("i",)), replace(QUESTION, files=("f",))):
        assert outcome(admit(question, snapshot(), [source("a")])) == "source_access"


def test_rlm_has_its_own_refusal_whatever_the_policy() -> None:
    question = replace(QUESTION, mode="rlm", sources=("nowhere",))

    assert outcome(admit(question, snapshot(), [])) == "rlm_unsupported"


@pytest.mark.req("CL-8")
def test_too_few_sources_are_insufficient_evidence_with_what_there_is() -> None:
    question = replace(QUESTION, bounds=Bounds(min_sources=2))

    result = admit(question, snapshot(), [source("a")])

    assert isinstance(result, NotAdmitted)
    assert result.outcome == "insufficient_evidence"
    assert [entry.id for entry in result.entries] == ["a"]
    assert outcome(admit(question, snapshot(), [source("a"), source("b")])) == "admitted"


@pytest.mark.req("CL-9")
def test_a_scope_of_a_thousand_is_admitted_and_one_more_is_refused() -> None:
    everything = [source(f"s{number}") for number in range(SCOPE_ENTRIES_MAX + 1)]

    assert outcome(admit(QUESTION, snapshot(), everything[:-1])) == "admitted"
    assert outcome(admit(QUESTION, snapshot(), everything)) == "scope_too_wide"


def test_the_mode_chooses_the_kinds() -> None:
    state = DatasetState(
        workspace_id="w",
        dataset_id="d",
        title="D",
        visibility="workspace",
        declarer="bert",
        revisions=(Revision(SHA, "text/csv", 1),),
        columns={"secret": ColumnPolicy(roles=("admin",))},
        row_filters=(RowFilter(roles=("reader",), column="region", allowed=("north",)),),
        measures=(
            Measure(name="rows", aggregate="count"),
            Measure(name="secrets", aggregate="count", column="secret"),
        ),
    )
    dataset = Resource(dataset_ref("w", "d"), state, frozen=False, entry=None)

    result = admit(replace(QUESTION, mode="data"), snapshot(), [source("a"), dataset])

    assert isinstance(result, Admitted)
    (entry,) = result.entries
    assert (entry.kind, entry.hidden_columns) == ("dataset", ("secret",))
    assert entry.row_filters == (("region", ("north",)),)
    assert entry.hidden_measures == ("secrets",)


@pytest.mark.req("CR-11")
@given(
    filters=st.builds(
        Filters,
        authority=st.lists(st.sampled_from(["normative", "historical", "reference"]), max_size=3),
        date_from=st.none() | st.sampled_from(["2023-06-01", "2024-01-01"]),
        date_to=st.none() | st.sampled_from(["2023-12-31", "2024-01-01"]),
    ),
    standings=st.lists(
        st.tuples(
            st.sampled_from(["normative", "historical", "reference"]),
            st.none() | st.sampled_from(["2023-05-31", "2023-06-01", "2024-01-01", "2024-01-02"]),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_a_filter_only_narrows(
    filters: Filters, standings: list[tuple[Standing, str | None]]
) -> None:
    asked = replace(QUESTION, filters=filters)
    resources = [_dated(f"s{number}", *each) for number, each in enumerate(standings)]

    whole, narrowed = (_ids(admit(each, snapshot(), resources)) for each in (QUESTION, asked))

    assert narrowed <= whole == {f"s{number}" for number in range(len(standings))}
    for number, (authority, day) in enumerate(standings):
        is_wanted = not filters.authority or authority in filters.authority
        if filters.date_from is not None:
            is_wanted = is_wanted and day is not None and day >= filters.date_from
        if filters.date_to is not None:
            is_wanted = is_wanted and day is not None and day <= filters.date_to
        assert (f"s{number}" in narrowed) == is_wanted


@pytest.mark.req("CR-11")
@pytest.mark.parametrize(
    "stated", ["202\N{FULLWIDTH DIGIT FOUR}-06-01", "2024-02-31", "9999-99-99", "0000-00-00"]
)
def test_a_date_on_the_log_that_is_no_day_passes_no_filter_of_dates(stated: str) -> None:
    undated, dated = _dated("s1", "normative", stated), _dated("s2", "normative", "2024-06-01")

    for filters in (Filters(date_from="2024-01-01"), Filters(date_to="2024-12-31")):
        asked = replace(QUESTION, filters=filters)
        assert _ids(admit(asked, snapshot(), [undated, dated])) == {"s2"}
    states = [each.state for each in (undated, dated) if each.state is not None]
    assert [row and row.date for row in map(corpus_row, states)] == [None, "2024-06-01"]


DATASET = DatasetState(
    workspace_id="w", dataset_id="d", title="D", visibility="workspace", declarer="bert"
)


@pytest.mark.req("CR-11")
def test_what_is_no_document_passes_no_filter() -> None:
    assert passes(Filters(), DATASET)
    assert not passes(Filters(authority=("reference",)), DATASET)
    assert not passes(Filters(date_from="2024-01-01"), DATASET)


def _dated(name: str, authority: Standing, day: str | None) -> Resource:
    return changed(source(name), authority=authority, date=day)


def _ids(result: Admitted | NotAdmitted) -> set[str]:
    return {entry.id for entry in result.entries}


@pytest.mark.req("CL-2", "KO-9")
def test_reasons_are_told_of_what_the_caller_may_read_and_of_nothing_else() -> None:
    failed = replace(READY, state="failed", reason="encrypted", ready=None)
    secret = replace(failed, reason="zip_bomb")
    private = changed(source("c", secret), visibility="private")
    resources = [source("a"), source("b", failed), private]

    admitted = admit(QUESTION, snapshot(), resources)
    found = search_revisions([source("a"), source("b", failed), source("d", None)])

    assert isinstance(admitted, Admitted)
    assert [each.reason for each in admitted.entries] == [None, "encrypted"]
    assert coverage(admitted.entries, index_position=9, unconfirmed=()).reasons == {"encrypted": 1}
    assert [each.reason for each in found] == [None, "encrypted", None]


@pytest.mark.req("CL-2", "KO-9")
@pytest.mark.parametrize("state", ["failed", "unavailable"])
@pytest.mark.parametrize(
    ("role", "told"), [("reader", "not_recorded"), ("publisher", "policy_column_missing")]
)
def test_only_a_publisher_learns_from_coverage_why_a_dataset_is_missing(
    role: Role, told: str, state: IndexState
) -> None:
    why = "policy_column_missing"
    failed = replace(READY, state=state, reason=why, field="columns", ready=None)
    dataset = replace(DATASET, revisions=(Revision(SHA, "text/csv", 3),))
    resource = Resource(dataset_ref("w", "d"), dataset, frozen=False, entry=failed)
    credentials = {"c": Credential(SHA)}
    asker = PrincipalState(credentials=credentials, memberships={"w": role})
    few = replace(QUESTION, bounds=Bounds(min_sources=2))

    admitted = admit(QUESTION, snapshot({"principal": asker}), [resource])
    refused = admit(few, snapshot({"principal": asker}), [resource])

    assert isinstance(admitted, Admitted)
    assert isinstance(refused, NotAdmitted)
    for entries in (admitted.entries, refused.entries):
        assert coverage(entries, index_position=9, unconfirmed=()).reasons == {told: 1}
        assert (why in repr(entries)) == (role == "publisher")


@pytest.mark.req("CL-1")
def test_an_exclusion_that_is_out_of_date_counts_as_pending() -> None:
    stale = replace(READY, state="excluded", reason="withdrawn", ready=None)
    kind = replace(READY, state="excluded", reason="no_text", ready=None)

    assert index_state(stale) == "pending"
    assert index_state(kind) == "excluded"
    assert index_state(None) == "pending"
