"""Commands: who may give them, what they change, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from chancery.authority.corpora import decide_declare_corpus
from chancery.authority.credentials import (
    decide_bootstrap,
    decide_issue_credential,
    decide_join_group,
    decide_leave_group,
    decide_revoke_credential,
)
from chancery.authority.declaring import decide_declare_dataset, decide_declare_source
from chancery.authority.errors import NotPermitted
from chancery.authority.items import check_drafting, decide_publish_draft, decide_save_draft
from chancery.authority.names import (
    Change,
    policy_ref,
    principal_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.resources import (
    check_upload,
    decide_grant,
    decide_publish_revision,
    decide_publish_snapshot,
    decide_restore,
    decide_revoke_grant,
    decide_withdraw,
)
from chancery.authority.rights import Actor, Claim, admit
from chancery.authority.states import PrincipalState, SourceState, TenantState, WorkspaceState
from chancery.authority.workspaces import (
    decide_add_member,
    decide_close_workspace,
    decide_create_workspace,
    decide_remove_member,
    decide_revise_policy,
)
from chancery.events import authority as events
from chancery.events import commands
from chancery.events.authority import Role, Visibility
from chancery.kernel.errors import Conflict, Denied, NotFound, Rejected
from tests.unit.authority.bodies import (
    CLOSED,
    DATASET_BODY,
    GRANT,
    MEMBER,
    NEW,
    OPEN,
    OPEN_DATASET,
    OPEN_SOURCE,
    REMOVAL,
    REVISE,
    REVISION,
    ROLES,
    SERVING,
    SNAPSHOT,
    SOURCE_BODY,
)
from tests.unit.authority.knowledge import (
    COMMIT,
    DECLARE,
    ITEM_DRAFTED,
    ITEM_STATE,
    OPEN_ITEM,
    PUBLISH,
    SAVE,
)
from tests.unit.authority.knowledge import OPEN_ROOTS as ROOTS
from tests.unit.authority.worlds import (
    ASKER,
    CREDENTIAL,
    DATASET_STATE,
    EXPIRY,
    NOW,
    POLICY,
    PRINCIPAL,
    PROOF,
    SHA,
    SOURCE,
    SOURCE_STATE,
    actor,
)

Decide = Callable[[Actor, WorkspaceState | None], tuple[Change, ...]]


def _upload(who: Actor, workspace: WorkspaceState | None) -> tuple[Change, ...]:
    check_upload(who, workspace, OPEN_SOURCE, "ws")
    return (Change(SOURCE, events.SourceRestored()),)


IN_WORKSPACE: list[tuple[str, Role, Decide]] = [
    ("declare source", "publisher", lambda a, w: decide_declare_source(a, w, None, SOURCE_BODY)),
    ("declare dataset", "publisher", lambda a, w: decide_declare_dataset(a, w, None, DATASET_BODY)),
    ("publish", "publisher", lambda a, w: decide_publish_revision(a, w, OPEN_SOURCE, REVISION)),
    ("snapshot", "publisher", lambda a, w: decide_publish_snapshot(a, w, OPEN_DATASET, SNAPSHOT)),
    ("grant", "publisher", lambda a, w: decide_grant(a, w, OPEN_SOURCE, GRANT)),
    (
        "revoke grant",
        "publisher",
        lambda a, w: decide_revoke_grant(
            a, w, OPEN_SOURCE, GRANT.model_copy(update={"grantee": "ada"})
        ),
    ),
    ("withdraw", "publisher", lambda a, w: decide_withdraw(a, w, OPEN_SOURCE, SERVING)),
    (
        "restore",
        "publisher",
        lambda a, w: decide_restore(a, w, replace(OPEN_SOURCE, withdrawn=True), SERVING),
    ),
    ("upload", "publisher", _upload),
    ("save draft", "curator", lambda a, w: decide_save_draft(a, w, None, SAVE, roots=ROOTS)),
    (
        "publish draft",
        "publisher",
        lambda a, w: decide_publish_draft(a, w, OPEN_ITEM, PUBLISH, roots=ROOTS, commit=COMMIT),
    ),
    ("declare corpus", "publisher", lambda a, w: decide_declare_corpus(a, w, None, DECLARE)),
    ("add member", "admin", lambda a, w: decide_add_member(a, w, None, MEMBER)),
    ("remove member", "admin", lambda a, w: decide_remove_member(a, w, PRINCIPAL, REMOVAL)),
    ("policy", "admin", lambda a, w: decide_revise_policy(a, w, POLICY, REVISE)),
]
NAMES = [name for name, _, _ in IN_WORKSPACE]


@pytest.mark.parametrize(("_name", "least", "decide"), IN_WORKSPACE, ids=NAMES)
def test_a_command_needs_its_role_and_every_higher_one_has_it(
    _name: str, least: Role, decide: Decide
) -> None:
    for role in ROLES:
        if ROLES.index(role) >= ROLES.index(least):
            assert decide(actor(role), OPEN)
        else:
            with pytest.raises(NotPermitted):
                decide(actor(role), OPEN)


@pytest.mark.req("KO-9", "CR-7")
@pytest.mark.parametrize(("name", "_least", "decide"), IN_WORKSPACE, ids=NAMES)
def test_no_member_learns_whether_a_workspace_exists(
    name: str, _least: Role, decide: Decide
) -> None:
    administrator = actor(None, tenant_admin=True)
    lets_in = name == "add member"
    refusals: list[NotFound] = []
    for who, workspace in (
        (actor(None), OPEN),
        (actor(None), CLOSED),
        (actor(None), None),
        (actor("admin"), None),
        (administrator, None if lets_in else OPEN),
    ):
        with pytest.raises(NotFound) as refused:
            decide(who, workspace)
        refusals.append(refused.value)

    assert len({(each.detail, each.code, each.field) for each in refusals}) == 1


@pytest.mark.parametrize(("_name", "_least", "decide"), IN_WORKSPACE, ids=NAMES)
def test_a_closed_workspace_changes_no_more(_name: str, _least: Role, decide: Decide) -> None:
    with pytest.raises(Rejected) as refused:
        decide(actor("admin"), CLOSED)

    assert refused.value.code == "workspace_closed"


ON_RESOURCE: list[Callable[[Actor], object]] = [
    lambda a: decide_declare_source(a, OPEN, SOURCE_STATE, SOURCE_BODY),
    lambda a: decide_declare_dataset(a, OPEN, DATASET_STATE, DATASET_BODY),
    lambda a: decide_publish_revision(a, OPEN, SOURCE_STATE, REVISION),
    lambda a: decide_publish_snapshot(a, OPEN, DATASET_STATE, SNAPSHOT),
    lambda a: decide_grant(a, OPEN, SOURCE_STATE, GRANT),
    lambda a: decide_restore(a, OPEN, SOURCE_STATE, SERVING),
    lambda a: check_upload(a, OPEN, SOURCE_STATE, "ws"),
    lambda a: check_drafting(a, OPEN, ITEM_STATE, "ws"),
    lambda a: decide_save_draft(a, OPEN, ITEM_STATE, SAVE, roots=ROOTS),
    lambda a: decide_publish_draft(a, OPEN, ITEM_DRAFTED, PUBLISH, roots=ROOTS, commit=COMMIT),
]


@pytest.mark.req("KO-9", "CR-27")
@pytest.mark.parametrize("decide", ON_RESOURCE)
def test_an_admin_without_a_grant_finds_no_restricted_resource(
    decide: Callable[[Actor], object],
) -> None:
    with pytest.raises(NotFound) as refused:
        decide(actor("admin", principal_id="root", tenant_admin=True))

    assert refused.value.code == "not_found"
    decide(actor("admin", principal_id="pat"))


GIVEN = GRANT.model_copy(update={"grantee": "pat"})
NARROWING: list[Callable[[Actor, SourceState | None], tuple[Change, ...]]] = [
    lambda a, source: decide_revoke_grant(a, OPEN, source, GIVEN),
    lambda a, source: decide_withdraw(a, OPEN, source, SERVING),
]


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("visibility", ["restricted", "private"])
@pytest.mark.parametrize("decide", NARROWING)
def test_an_admin_makes_readers_fewer_of_what_they_may_not_read(
    decide: Callable[[Actor, SourceState | None], tuple[Change, ...]], visibility: Visibility
) -> None:
    source = replace(SOURCE_STATE, visibility=visibility)
    admin = actor("admin", principal_id="root")

    assert len(decide(admin, source)) == 1
    assert decide(admin, source) == decide(actor("publisher"), source)
    missing = (actor("publisher", principal_id="other"), source), (admin, None)
    for who, found in missing:
        with pytest.raises(NotFound) as refused:
            decide(who, found)
        assert refused.value.code == "not_found"


def test_who_creates_a_workspace_is_its_first_admin() -> None:
    body = commands.CreateWorkspace(workspace_id="ws", title="Works")
    who = actor(None, tenant_admin=True)

    assert decide_create_workspace(who, None, body) == (
        Change(workspace_ref("ws"), events.WorkspaceCreated(title="Works", creator="pat")),
        Change(principal_ref("pat"), events.MemberAdded(workspace_id="ws", role="admin")),
    )
    with pytest.raises(Conflict) as refused:
        decide_create_workspace(who, OPEN, body)
    assert (refused.value.code, refused.value.field) == ("workspace_exists", "workspace_id")
    with pytest.raises(NotPermitted):
        decide_create_workspace(actor("admin"), None, body)


def test_closing_is_for_its_admin_or_a_tenant_administrator_and_happens_once() -> None:
    body = commands.CloseWorkspace(workspace_id="ws")
    closed = (Change(workspace_ref("ws"), events.WorkspaceClosed()),)

    assert decide_close_workspace(actor("admin"), OPEN, body) == closed
    assert decide_close_workspace(actor(None, tenant_admin=True), OPEN, body) == closed
    assert decide_close_workspace(actor("admin"), CLOSED, body) == ()
    with pytest.raises(NotPermitted):
        decide_close_workspace(actor("publisher"), OPEN, body)
    for who, workspace in ((actor(None), OPEN), (actor(None, tenant_admin=True), None)):
        with pytest.raises(NotFound):
            decide_close_workspace(who, workspace, body)


def test_members_get_leave_and_change_roles() -> None:
    admin = actor("admin")
    promoted = MEMBER.model_copy(update={"principal": "ada", "role": "curator"})
    same = promoted.model_copy(update={"role": "reader"})

    assert decide_add_member(admin, OPEN, PRINCIPAL, promoted) == (
        Change(principal_ref("ada"), events.MemberAdded(workspace_id="ws", role="curator")),
    )
    assert decide_add_member(admin, OPEN, PRINCIPAL, same) == ()
    assert decide_remove_member(admin, OPEN, PRINCIPAL, REMOVAL) == (
        Change(principal_ref("ada"), events.MemberRemoved(workspace_id="ws")),
    )
    assert decide_remove_member(admin, OPEN, None, REMOVAL) == ()
    assert decide_remove_member(admin, OPEN, PrincipalState(), REMOVAL) == ()


def test_a_tenant_administrator_lets_anybody_into_an_open_workspace_and_does_nothing_else() -> None:
    who = actor(None, tenant_admin=True)
    added = (Change(principal_ref("bob"), events.MemberAdded(workspace_id="ws", role="reader")),)

    assert decide_add_member(who, OPEN, None, MEMBER) == added
    assert decide_add_member(actor("reader", tenant_admin=True), OPEN, None, MEMBER) == added
    with pytest.raises(Rejected) as refused:
        decide_add_member(who, CLOSED, None, MEMBER)
    assert refused.value.code == "workspace_closed"
    with pytest.raises(NotFound):
        decide_remove_member(who, OPEN, PRINCIPAL, REMOVAL)
    with pytest.raises(NotPermitted):
        decide_add_member(actor("publisher"), OPEN, None, MEMBER)


@pytest.mark.req("CL-17")
def test_a_policy_revision_has_a_name_of_its_own() -> None:
    admin = actor("admin")
    again = commands.RevisePolicy(
        workspace_id="ws", policy_revision="p1", modes=("data", "auto", "data"), language="de"
    )

    revised = decide_revise_policy(admin, OPEN, POLICY, REVISE)

    assert revised[0].ref == policy_ref("ws")
    assert decide_revise_policy(admin, OPEN, POLICY, again) == ()
    for taken in ("0", "p0", "p1"):
        body = REVISE.model_copy(update={"policy_revision": taken})
        with pytest.raises(Rejected) as refused:
            decide_revise_policy(admin, OPEN, replace(POLICY, earlier=("p0",)), body)
        assert refused.value.code == "policy_revision_used"


def test_groups_are_for_tenant_administrators() -> None:
    join = commands.JoinGroup(group="finance", principal="ada")
    leave = commands.LeaveGroup(group="finance", principal="ada")
    who = actor(None, tenant_admin=True)

    joined = (Change(principal_ref("ada"), events.GroupJoined(group="finance")),)
    assert decide_join_group(who, None, join) == joined
    assert decide_join_group(who, PRINCIPAL, join) == ()
    left = (Change(principal_ref("ada"), events.GroupLeft(group="finance")),)
    assert decide_leave_group(who, PRINCIPAL, leave) == left
    assert decide_leave_group(who, None, leave) == ()
    with pytest.raises(NotPermitted):
        decide_join_group(actor("admin"), None, join)
    with pytest.raises(NotPermitted):
        decide_leave_group(actor("admin"), PRINCIPAL, leave)


def test_a_credential_is_issued_by_a_tenant_administrator_with_a_future_expiry() -> None:
    body = commands.IssueCredential(principal="ada", expires_at=EXPIRY)
    who = actor(None, tenant_admin=True)
    issued = events.CredentialIssued(credential_id="fresh", proof_sha256=SHA, expires_at=EXPIRY)

    assert decide_issue_credential(who, TenantState(), body, NEW) == (
        Change(principal_ref("ada"), issued),
    )
    with pytest.raises(NotPermitted):
        decide_issue_credential(actor("admin"), TenantState(), body, NEW)
    for late in (NOW, NOW - timedelta(microseconds=1)):
        passed = body.model_copy(update={"expires_at": late})
        with pytest.raises(Rejected) as refused:
            decide_issue_credential(who, TenantState(), passed, NEW)
        assert (refused.value.code, refused.value.field) == ("expiry_passed", "expires_at")


def test_only_the_operator_issues_for_another_tenant_and_creates_an_unknown_one() -> None:
    body = commands.IssueCredential(principal="root", tenant="other")
    operator = Actor("default", "admin", PrincipalState(tenant_admin=True))

    known = decide_issue_credential(operator, TenantState(), body, NEW)
    unknown = decide_issue_credential(operator, None, body, NEW)

    assert [each.data.TYPE for each in known] == ["chancery.principal.credential-issued.v1"]
    assert [(each.ref, each.data.TYPE) for each in unknown] == [
        (tenant_ref("other"), "chancery.tenant.created.v1"),
        (principal_ref("root"), "chancery.principal.tenant-admin-granted.v1"),
        (principal_ref("root"), "chancery.principal.credential-issued.v1"),
    ]
    refusals: set[str] = set()
    for tenant in (TenantState(), None):
        with pytest.raises(NotPermitted) as refused:
            decide_issue_credential(actor(None, tenant_admin=True), tenant, body, NEW)
        refusals.add(refused.value.detail)
    assert len(refusals) == 1
    assert len(decide_bootstrap("default", "admin", NEW)) == 3


def test_a_credential_is_revoked_by_its_owner_or_an_administrator() -> None:
    body = commands.RevokeCredential(principal=ASKER, credential_id=CREDENTIAL)
    revoked = (Change(principal_ref(ASKER), events.CredentialRevoked(credential_id=CREDENTIAL)),)
    over = replace(
        PRINCIPAL,
        credentials={CREDENTIAL: replace(PRINCIPAL.credentials[CREDENTIAL], revoked=True)},
    )
    owner = Actor("acme", ASKER, PRINCIPAL)

    assert decide_revoke_credential(owner, PRINCIPAL, body) == revoked
    assert decide_revoke_credential(actor(None, tenant_admin=True), PRINCIPAL, body) == revoked
    assert decide_revoke_credential(owner, over, body) == ()
    unknown = body.model_copy(update={"credential_id": "unknown"})
    for who, asked in ((actor("admin"), body), (owner, unknown)):
        with pytest.raises(NotFound):
            decide_revoke_credential(who, PRINCIPAL, asked)


def test_a_suspended_tenant_admits_nobody() -> None:
    claim = Claim("acme", ASKER, CREDENTIAL, PROOF)

    assert admit(claim, TenantState(), PRINCIPAL, NOW) == Actor("acme", ASKER, PRINCIPAL)
    with pytest.raises(Denied) as refused:
        admit(claim, TenantState(suspended=True), PRINCIPAL, NOW)
    assert refused.value.code == "tenant_suspended"
    with pytest.raises(Denied):
        admit(claim, None, PRINCIPAL, NOW)
