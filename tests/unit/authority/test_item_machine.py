"""One item on one source under random commands, against a plain model of who may be answered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chancery.authority.evolve import evolve
from chancery.authority.items import Commit, decide_publish_draft, decide_save_draft
from chancery.authority.names import AggregateRef, Change, principal_ref, workspace_ref
from chancery.authority.release import (
    Allow,
    Pinned,
    ReleaseRequest,
    Root,
    decide_disclosure,
    decide_release,
)
from chancery.authority.resources import (
    decide_grant,
    decide_publish_revision,
    decide_restore,
    decide_revoke_grant,
    decide_withdraw,
)
from chancery.authority.rights import Actor
from chancery.authority.states import ItemState, PrincipalState, SourceState, State, WorkspaceState
from chancery.events import commands
from chancery.events.commands import GovernedKind
from chancery.kernel.errors import Conflict, NotFound
from tests.unit.authority.knowledge import ITEM, PUBLISH, SAVE
from tests.unit.authority.worlds import (
    NOW,
    PRINCIPAL,
    REQUEST,
    SOURCE,
    SOURCE_STATE,
    WORKSPACE,
    world,
)

PEOPLE = ("ada", "pat")
NAMES: dict[GovernedKind, str] = {"source": "handbook", "item": "glossary"}
kinds = st.sampled_from(("source", "item"))


@pytest.mark.req("CR-2", "CR-4", "CR-6", "CR-27", "CL-13")
class ItemAccess(RuleBasedStateMachine):
    """The system folds events of decided commands; the model keeps plain values.

    `pat`, who declared both, publishes; `ada` reads what she is granted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[AggregateRef, State | None] = {}
        self.granted: dict[GovernedKind, bool] = {"source": False, "item": False}
        self.source_revisions = 2
        self.source_withdrawn = False
        self.draft: tuple[int, int] | None = None
        self.versions: list[int] = []
        self.withdrawn = False
        self.operations = 0

    @initialize()
    def begin(self) -> None:
        self.states = world({SOURCE: replace(SOURCE_STATE, grants=("pat",))})
        for person, role in (("ada", "reader"), ("pat", "publisher")):
            state = replace(PRINCIPAL, memberships={WORKSPACE: role}, groups=())
            self.states[principal_ref(person)] = state
        self.states[ITEM] = None
        self.save(1, 1)

    @rule(content=st.integers(1, 3), revision=st.integers(1, 3))
    def save(self, content: int, revision: int) -> None:
        evidence = commands.EvidenceName(kind="source", id="handbook", revision=revision)
        body = SAVE.model_copy(
            update={
                "visibility": "restricted",
                "content_sha256": f"{content:064x}",
                "evidence": (evidence,),
            }
        )
        try:
            changes = decide_save_draft(
                self._pat, self._workspace, self._item, body, roots={SOURCE: self._source}
            )
        except NotFound:
            assert self.source_withdrawn or revision > self.source_revisions
            return
        assert not self.source_withdrawn
        assert revision <= self.source_revisions
        self._apply(changes)
        self.draft = (content, revision)

    @precondition(lambda self: self._item is not None)
    @rule(content=st.integers(1, 3), revision=st.integers(1, 3), restore=st.booleans())
    def publish(self, content: int, revision: int, restore: bool) -> None:
        evidence = commands.EvidenceName(kind="source", id="handbook", revision=revision)
        body = PUBLISH.model_copy(
            update={
                "content_sha256": f"{content:064x}",
                "evidence": (evidence,),
                "restore": restore,
            }
        )
        self.operations += 1
        commit = Commit(f"operation-{self.operations}", NOW)
        before = self._item
        try:
            changes = decide_publish_draft(
                self._pat,
                self._workspace,
                before,
                body,
                roots={SOURCE: self._source},
                commit=commit,
            )
        except (Conflict, NotFound):
            is_kept_away = self.withdrawn and not restore
            assert self.draft != (content, revision) or self.source_withdrawn or is_kept_away
            return
        self._apply(changes)
        if changes:
            assert self.draft == (content, revision)
            assert restore or not self.withdrawn
            self.versions.append(revision)
            self.draft, self.withdrawn = None, False

    @rule(kind=kinds, given=st.booleans())
    def grant(self, kind: GovernedKind, given: bool) -> None:
        held = self._item if kind == "item" else self._source
        if held is None:
            return
        body = commands.ChangeGrant(
            workspace_id=WORKSPACE, kind=kind, resource_id=NAMES[kind], grantee="ada"
        )
        decide = decide_grant if given else decide_revoke_grant
        self._apply(decide(self._pat, self._workspace, held, body))
        self.granted[kind] = given

    @rule()
    def revise_the_source(self) -> None:
        if self.source_revisions >= 3:
            return
        body = commands.PublishRevision(
            workspace_id=WORKSPACE,
            source_id="handbook",
            content_sha256=f"{self.source_revisions + 10:064x}",
            media_type="text/plain",
            size_bytes=1,
            restore=True,
        )
        self._apply(decide_publish_revision(self._pat, self._workspace, self._source, body))
        self.source_revisions += 1
        self.source_withdrawn = False

    @rule(serves=st.booleans())
    def serve_the_source(self, serves: bool) -> None:
        body = commands.ChangeServing(workspace_id=WORKSPACE, kind="source", resource_id="handbook")
        decide = decide_restore if serves else decide_withdraw
        self._apply(decide(self._pat, self._workspace, self._source, body))
        self.source_withdrawn = not serves

    @precondition(lambda self: self._item is not None)
    @rule()
    def withdraw(self) -> None:
        body = commands.ChangeServing(workspace_id=WORKSPACE, kind="item", resource_id="glossary")
        self._apply(decide_withdraw(self._pat, self._workspace, self._item, body))
        self.withdrawn = bool(self.versions)

    @invariant()
    def an_answer_needs_the_serving_version_and_all_of_its_evidence(self) -> None:
        for person in PEOPLE if self.states else ():
            for version in range(len(self.versions) + 2):
                expected = self._answers(person, version)
                request = self._request(person, version)
                sealed = decide_release(self.states, frozenset(), request, NOW)
                told = decide_disclosure(self.states, frozenset(), request, NOW)
                assert isinstance(sealed, Allow) == expected
                assert isinstance(told, Allow) == expected

    def _answers(self, person: str, version: int) -> bool:
        reads = person == "pat" or all(self.granted.values())
        serves = not self.withdrawn and version == len(self.versions) > 0
        return reads and serves and not self.source_withdrawn

    def _request(self, person: str, version: int) -> ReleaseRequest:
        item = self._item
        roots: tuple[Root, ...] = ()
        if item is not None and 1 <= version <= len(item.versions):
            roots = tuple(
                Root(each.kind, each.key, each.revision, each.content_sha256)
                for each in item.versions[version - 1].evidence
            )
        pins = (Pinned("item", ITEM.id, version, roots=roots),)
        return replace(REQUEST, principal_id=person, owner_id=person, pinned=pins)

    def _apply(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            before = self.states[change.ref]
            self.states[change.ref] = evolve(change.ref.kind, before, change.data)

    @property
    def _workspace(self) -> WorkspaceState:
        state = self.states[workspace_ref(WORKSPACE)]
        assert isinstance(state, WorkspaceState)
        return state

    @property
    def _source(self) -> SourceState:
        state = self.states[SOURCE]
        assert isinstance(state, SourceState)
        return state

    @property
    def _item(self) -> ItemState | None:
        state = self.states.get(ITEM)
        assert state is None or isinstance(state, ItemState)
        return state

    @property
    def _pat(self) -> Actor:
        state = self.states[principal_ref("pat")]
        assert isinstance(state, PrincipalState)
        return Actor("acme", "pat", state)


TestItemAccess = ItemAccess.TestCase
TestItemAccess.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
