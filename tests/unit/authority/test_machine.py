"""One source under random commands, against a plain model of who may read it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from chancery.authority.access import may_read
from chancery.authority.credentials import decide_join_group, decide_leave_group
from chancery.authority.declaring import decide_declare_source
from chancery.authority.evolve import evolve
from chancery.authority.names import AggregateRef, Change, principal_ref, workspace_ref
from chancery.authority.release import Allow, ReleaseRequest, decide_release
from chancery.authority.resources import (
    decide_grant,
    decide_publish_revision,
    decide_revoke_grant,
    decide_withdraw,
)
from chancery.authority.rights import Actor
from chancery.authority.states import (
    PrincipalState,
    SourceState,
    State,
    TenantState,
    WorkspaceState,
)
from chancery.authority.workspaces import decide_add_member, decide_remove_member
from chancery.events import commands
from chancery.events.authority import Role, Visibility
from chancery.kernel.errors import Conflict, Rejected
from tests.unit.authority.worlds import (
    CREDENTIAL,
    NOW,
    PRINCIPAL,
    REQUEST,
    SOURCE,
    WORKSPACE,
    world,
)

PEOPLE = ("ada", "bob", "pat")
GRANTEES = ("ada", "bob", "pat", "group:finance", "group:legal")
people = st.sampled_from(PEOPLE)
grantees = st.sampled_from(GRANTEES)
groups = st.sampled_from(("finance", "legal"))


@pytest.mark.req("KO-6", "CR-6", "CL-13")
class SourceAccess(RuleBasedStateMachine):
    """The system folds events of decided commands; the model keeps plain sets."""

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[AggregateRef, State | None] = {}
        self.members: dict[str, Role] = {}
        self.groups: dict[str, set[str]] = {}
        self.grants: set[str] = set()
        self.visibility: Visibility = "workspace"
        self.revision = 0
        self.serving = False

    @initialize()
    def begin(self) -> None:
        self.states = world({SOURCE: None})
        for person in PEOPLE:
            self.states[principal_ref(person)] = replace(PRINCIPAL, memberships={}, groups=())
            self.groups[person] = set()
        self._member("pat", "publisher")
        self.declare("workspace")

    @rule(visibility=st.sampled_from(("workspace", "restricted", "private")))
    def declare(self, visibility: Visibility) -> None:
        body = commands.DeclareSource(
            workspace_id=WORKSPACE, source_id="handbook", title="H", visibility=visibility
        )
        first = self._source is None
        if first or self._reads("pat"):
            self._apply(decide_declare_source(self._pat, self._workspace, self._source, body))
            self.visibility = visibility
            self.grants |= {"pat"} if first else set()

    @rule(person=people, role=st.sampled_from(("reader", "admin")))
    def add(self, person: str, role: Role) -> None:
        if person != "pat":
            self._member(person, role)

    @rule(person=st.sampled_from(("ada", "bob")))
    def remove(self, person: str) -> None:
        body = commands.RemoveMember(workspace_id=WORKSPACE, principal=person)
        principal = self._principal(person)
        self._apply(decide_remove_member(self._root, self._workspace, principal, body))
        self.members.pop(person, None)

    @rule(person=people, group=groups)
    def join(self, person: str, group: str) -> None:
        body = commands.JoinGroup(group=group, principal=person)
        self._apply(decide_join_group(self._root, self._principal(person), body))
        self.groups[person].add(group)

    @rule(person=people, group=groups)
    def leave(self, person: str, group: str) -> None:
        body = commands.LeaveGroup(group=group, principal=person)
        self._apply(decide_leave_group(self._root, self._principal(person), body))
        self.groups[person].discard(group)

    @precondition(lambda self: self._reads("pat"))
    @rule(grantee=grantees, given=st.booleans())
    def grant(self, grantee: str, given: bool) -> None:
        body = commands.ChangeGrant(
            workspace_id=WORKSPACE, kind="source", resource_id="handbook", grantee=grantee
        )
        decide = decide_grant if given else decide_revoke_grant
        if given and self.visibility == "private":
            with pytest.raises(Rejected, match="make it restricted first"):
                decide(self._pat, self._workspace, self._source, body)
            return
        self._apply(decide(self._pat, self._workspace, self._source, body))
        if given:
            self.grants.add(grantee)
        else:
            self.grants.discard(grantee)

    @precondition(lambda self: self._reads("pat"))
    @rule(content=st.integers(0, 2), restore=st.booleans())
    def publish(self, content: int, restore: bool) -> None:
        body = commands.PublishRevision(
            workspace_id=WORKSPACE,
            source_id="handbook",
            content_sha256=f"{content:064x}",
            media_type="text/plain",
            size_bytes=1,
            restore=restore,
        )
        if self.revision and not self.serving and not restore:
            with pytest.raises(Conflict, match="withdrawn"):
                decide_publish_revision(self._pat, self._workspace, self._source, body)
            return
        changes = decide_publish_revision(self._pat, self._workspace, self._source, body)
        self._apply(changes)
        self.revision += len(changes)
        self.serving = True

    @precondition(lambda self: self._reads("pat"))
    @rule()
    def withdraw(self) -> None:
        body = commands.ChangeServing(workspace_id=WORKSPACE, kind="source", resource_id="handbook")
        self._apply(decide_withdraw(self._pat, self._workspace, self._source, body))
        self.serving = False

    @invariant()
    def reading_agrees_with_the_model(self) -> None:
        for person in PEOPLE:
            found = may_read(
                TenantState(),
                self._workspace,
                self._principal(person),
                self._source,
                principal_id=person,
            )
            assert found == self._reads(person)

    @invariant()
    def a_release_needs_reading_and_the_serving_revision(self) -> None:
        for person in PEOPLE:
            for revision in (self.revision, self.revision - 1):
                allowed = isinstance(self._release(person, revision), Allow)
                newest = self.serving and revision == self.revision
                assert allowed == (self._reads(person) and newest)

    def _release(self, person: str, revision: int) -> object:
        pin = replace(REQUEST.pinned[0], revision=revision)
        request: ReleaseRequest = replace(
            REQUEST, principal_id=person, owner_id=person, pinned=(pin,)
        )
        assert request.credential_id == CREDENTIAL
        return decide_release(self.states, frozenset(), request, NOW)

    def _reads(self, person: str) -> bool:
        if self._source is None or person not in self.members:
            return False
        held = {person, *(f"group:{group}" for group in self.groups[person])}
        return {
            "workspace": True,
            "restricted": bool(held & self.grants),
            "private": person == "pat",
        }[self.visibility]

    def _member(self, person: str, role: Role) -> None:
        body = commands.AddMember(workspace_id=WORKSPACE, principal=person, role=role)
        principal = self._principal(person)
        self._apply(decide_add_member(self._root, self._workspace, principal, body))
        self.members[person] = role

    def _apply(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            before = self.states[change.ref]
            self.states[change.ref] = evolve(change.ref.kind, before, change.data)

    def _principal(self, person: str) -> PrincipalState:
        state = self.states[principal_ref(person)]
        assert isinstance(state, PrincipalState)
        return state

    @property
    def _workspace(self) -> WorkspaceState:
        state = self.states[workspace_ref(WORKSPACE)]
        assert isinstance(state, WorkspaceState)
        return state

    @property
    def _source(self) -> SourceState | None:
        state = self.states.get(SOURCE)
        assert state is None or isinstance(state, SourceState)
        return state

    @property
    def _pat(self) -> Actor:
        return Actor("acme", "pat", self._principal("pat"))

    @property
    def _root(self) -> Actor:
        state = PrincipalState(memberships={WORKSPACE: "admin"}, tenant_admin=True)
        return Actor("acme", "root", state)


TestSourceAccess = SourceAccess.TestCase
TestSourceAccess.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
