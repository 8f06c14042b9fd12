"""Admission: from a question and today's states to the scope of its run, or to a refusal.

What is selected and unreadable, and what is selected and does not exist, are one case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chancery.authority.names import (
    AggregateRef,
    corpus_ref,
    dataset_ref,
    file_ref,
    item_ref,
    policy_ref,
    principal_ref,
    source_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.policies import effective_policy, policy_hash
from chancery.authority.release import Allow, ReleaseRequest, decide_release
from chancery.authority.states import CorpusState, PolicyState, SourceState
from chancery.events.authority import Mode
from chancery.events.days import known_day
from chancery.events.index import ResourceKind
from chancery.events.release import Outcome
from chancery.events.run import Bounds, Filters
from chancery.evidence.corpora import CorpusDeclaration
from chancery.evidence.references import CorpusReference
from chancery.evidence.scope import SCOPE_ENTRIES_MAX, ScopeEntry
from chancery.release.domain.entries import Resource, Usable, corpus_row, judge, scope_entry
from chancery.release.domain.snapshot import Snapshot

_KINDS: Mapping[Mode, tuple[ResourceKind, ...]] = {
    "auto": ("source", "item", "dataset"),
    "rag": ("source", "item"),
    "data": ("dataset",),
    "rlm": ("source", "item", "dataset"),
}
"""What a mode searches in a workspace; a private file is searched only when it is selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked and by whom; selections are ids inside the workspace."""

    tenant: str
    principal: str
    credential_id: str
    workspace_id: str
    mode: Mode
    bounds: Bounds
    sources: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    corpus: str | None = None

    @property
    def selected(self) -> tuple[AggregateRef, ...]:
        """Return everything that was selected; empty selects everything of the workspace."""
        return (*self.selected_here, *self.selected_files)

    @property
    def selected_names(self) -> tuple[str, ...]:
        """Return what was selected as it was sent, in the order of `selected`."""
        return (*self.sources, *self.items, *self.datasets, *self.files)

    @property
    def selected_here(self) -> tuple[AggregateRef, ...]:
        """Return what was selected of the workspace."""
        sources = (source_ref(self.workspace_id, each) for each in self.sources)
        items = (item_ref(self.workspace_id, each) for each in self.items)
        datasets = (dataset_ref(self.workspace_id, each) for each in self.datasets)
        return (*sources, *items, *datasets)

    @property
    def selected_files(self) -> tuple[AggregateRef, ...]:
        """Return the private files that were selected."""
        return tuple(file_ref(each) for each in self.files)

    @property
    def kinds(self) -> tuple[ResourceKind, ...]:
        """Return the kinds of resource that the mode searches in a workspace."""
        return _KINDS[self.mode]

    @property
    def searched(self) -> tuple[ResourceKind, ...]:
        """Return the kinds of resource that the mode searches when they are selected too."""
        return self.kinds if self.mode == "data" else (*self.kinds, "file")

    @property
    def place(self) -> tuple[AggregateRef, ...]:
        """Return the aggregates that every decision about the question reads."""
        return (
            tenant_ref(self.tenant),
            principal_ref(self.principal),
            workspace_ref(self.workspace_id),
            policy_ref(self.workspace_id),
            *(() if self.corpus is None else (corpus_ref(self.workspace_id, self.corpus),)),
        )


@dataclass(frozen=True, slots=True)
class Admitted:
    """The run may search these entries; `corpus` is the one that was asked."""

    entries: tuple[ScopeEntry, ...]
    corpus: CorpusReference | None = None


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """The run ends here; `entries` are what the coverage of the refusal is told from."""

    outcome: Outcome
    entries: tuple[ScopeEntry, ...] = ()


def admit(
    question: Question,
    snapshot: Snapshot,
    resources: Iterable[Resource],
    roots: Iterable[Resource] = (),
) -> Admitted | NotAdmitted:
    """Decide the scope of a question over `resources`: the selected, or all of the workspace.

    `roots` are what the items among them rest on, as far as it is not among them itself.
    """
    if not _place_allows(question, snapshot):
        return NotAdmitted("access_changing")
    if question.mode == "rlm":
        return NotAdmitted("rlm_unsupported")
    declaration = corpus_of(question, snapshot)
    found = {each.ref: each for each in resources}
    judged = judge(snapshot, request_of(question, snapshot), (*found.values(), *roots))
    usable = {ref for ref, each in found.items() if judged.allows(each)}
    unknown_corpus = question.corpus is not None and declaration is None
    if unknown_corpus or not usable.issuperset(question.selected):
        return NotAdmitted("source_access")
    eligible = _eligible(question, snapshot, [found[ref] for ref in found if ref in usable])
    if declaration is not None:
        keys = {ref.id for ref in usable if is_of_corpus(declaration, found[ref].state)}
        eligible = [entry for entry in eligible if entry.key in keys]
    if len(eligible) > SCOPE_ENTRIES_MAX:
        return NotAdmitted("scope_too_wide")
    if len(eligible) < question.bounds.min_sources:
        return NotAdmitted("insufficient_evidence", tuple(eligible))
    return Admitted(tuple(eligible), corpus_reference(question, declaration))


def _eligible(
    question: Question, snapshot: Snapshot, usable: Iterable[Resource]
) -> list[ScopeEntry]:
    """Return what of `usable` the question searches and the index does not exclude."""
    entries = (
        scope_entry(snapshot, question.principal, each)
        for each in usable
        if each.ref.kind in question.searched and passes(question.filters, each.state)
    )
    return [entry for entry in entries if entry.state != "excluded"]


def corpus_of(question: Question, snapshot: Snapshot) -> CorpusDeclaration | None:
    """Return the declaration of the corpus that is asked, None when there is none to read."""
    if question.corpus is None:
        return None
    ref = corpus_ref(question.workspace_id, question.corpus)
    state = snapshot.typed(ref, CorpusState)
    if state is None or state.workspace_id != question.workspace_id:
        return None
    return declaration_of_state(state)


def declaration_of_state(state: CorpusState) -> CorpusDeclaration:
    """Return a corpus as it was declared."""
    return CorpusDeclaration(
        corpus=state.corpus_id,
        model=state.model,
        scope=state.scope,
        title=state.title,
        content=state.content,
        where=state.where,
        binding=state.binding,
    )


def corpus_reference(
    question: Question, declaration: CorpusDeclaration | None
) -> CorpusReference | None:
    """Return what the receipt says of the corpus that is asked."""
    if declaration is None:
        return None
    key = corpus_ref(question.workspace_id, declaration.corpus).id
    return CorpusReference(id=declaration.corpus, key=key, declaration_sha256=declaration.sha256)


def is_of_corpus(declaration: CorpusDeclaration, state: Usable | None) -> bool:
    """Tell whether the corpus takes in what serves now."""
    row = None if state is None else corpus_row(state)
    return row is not None and declaration.admits(row)


def passes(filters: Filters, state: Usable | None) -> bool:
    """Tell whether a resource is what was asked for; what has no such attribute is not."""
    if filters == Filters():
        return True
    if not isinstance(state, SourceState):
        return False
    if filters.authority and state.authority not in filters.authority:
        return False
    if filters.date_from is None and filters.date_to is None:
        return True
    # Days of one form sort as their texts do.
    day = known_day(state.date)
    return day is not None and (filters.date_from or day) <= day <= (filters.date_to or day)


def request_of(question: Question, snapshot: Snapshot) -> ReleaseRequest:
    """Return what a decision about the question is asked about, under the policy that holds now."""
    policy = snapshot.typed(policy_ref(question.workspace_id), PolicyState)
    holds = effective_policy(policy)
    return ReleaseRequest(
        tenant=question.tenant,
        principal_id=question.principal,
        credential_id=question.credential_id,
        owner_id=question.principal,
        workspace_id=question.workspace_id,
        policy_revision=holds.policy_revision,
        policy_sha256=policy_hash(policy),
        mode=holds.modes[0] if question.mode == "rlm" else question.mode,
        pinned=(),
    )


def _place_allows(question: Question, snapshot: Snapshot) -> bool:
    request = request_of(question, snapshot)
    wanted = question.bounds.policy_revision
    if wanted is not None and wanted != request.policy_revision:
        return False
    decision = decide_release(snapshot.states, snapshot.frozen, request, snapshot.now)
    return isinstance(decision, Allow)
