"""Who is let through, on a real log: credentials, tenants, unseen things, uploads."""

from __future__ import annotations

import pytest

from chancery.authority.errors import NotPermitted
from chancery.authority.names import principal_ref, tenant_ref
from chancery.events.commands import (
    AddMember,
    ChangeGrant,
    ChangeServing,
    CheckUpload,
    IssueCredential,
    RemoveMember,
    RevokeCredential,
)
from chancery.events.requests import Caller
from chancery.ingestion.domain import access, knowledge
from chancery.kernel.errors import Denied, NotFound
from tests.integration.ingestion.bodies import (
    SOURCE,
    WORKSPACE,
    declare,
    revision,
)
from tests.integration.ingestion.harness import (
    Desk,
    caller_of,
    open_desk,
)

pytestmark = pytest.mark.integration


async def test_an_unknown_tenant_is_created_with_its_administrator(
    provisioned_nats_url: str,
) -> None:
    body = IssueCredential(principal="root", tenant="acme")
    async with open_desk(provisioned_nats_url) as desk:
        issued = await desk.send(access.ISSUE_CREDENTIAL, body, key="k")
        repeated = await desk.restarted().send(access.ISSUE_CREDENTIAL, body, key="k")
        root = caller_of(issued)
        created = await desk.send(access.CREATE_WORKSPACE, WORKSPACE, caller=root)
        second = await desk.send(access.ISSUE_CREDENTIAL, body)

        assert repeated == issued
        assert (issued.tenant, issued.principal) == ("acme", "root")
        assert created.changed
        assert second.credential_id != issued.credential_id
        assert len(await desk.stored(tenant_ref("acme").subject("acme"))) == 1
        assert len(await desk.stored(principal_ref("root").subject("acme"))) == 4


@pytest.mark.req("CR-6")
async def test_a_revoked_credential_is_denied_by_a_process_that_knew_it(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        issued = await desk.send(access.ISSUE_CREDENTIAL, IssueCredential(principal="ada"))
        ada = caller_of(issued)
        added = AddMember(workspace_id="ws", principal="ada", role="publisher")
        await desk.send(access.ADD_MEMBER, added)
        other = desk.restarted()
        await other.send(knowledge.PUBLISH_REVISION, revision(1), caller=ada)

        body = RevokeCredential(principal="ada", credential_id=issued.credential_id)
        await desk.send(access.REVOKE_CREDENTIAL, body)

        before = await desk.position()
        with pytest.raises(Denied):
            await other.send(knowledge.PUBLISH_REVISION, revision(2), caller=ada)
        assert await desk.position() == before


@pytest.mark.req("KO-9", "CR-7")
async def test_what_the_caller_may_not_see_is_refused_like_what_is_not_there(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        hidden = SOURCE.model_copy(update={"source_id": "plans", "visibility": "private"})
        await desk.send(knowledge.DECLARE_SOURCE, hidden)
        ada = caller_of(await desk.send(access.ISSUE_CREDENTIAL, IssueCredential(principal="ada")))
        before = await desk.position()

        closed_off = [await _refusal(desk, ada, each) for each in ("ws", "nowhere")]
        added = AddMember(workspace_id="ws", principal="ada", role="admin")
        await desk.send(access.ADD_MEMBER, added)
        unseen = [await _refusal(desk, ada, "ws", source) for source in ("plans", "missing")]

        assert closed_off[0] == closed_off[1]
        assert unseen[0] == unseen[1]
        assert await desk.position() == before + 1


async def _refusal(
    desk: Desk, caller: Caller, workspace: str, resource: str = "handbook"
) -> tuple[str, str, str | None]:
    body = ChangeGrant(
        workspace_id=workspace, kind="source", resource_id=resource, grantee="group:all"
    )
    with pytest.raises(NotFound) as refused:
        await desk.send(knowledge.GRANT, body, caller=caller)
    return refused.value.code, refused.value.detail, refused.value.field


@pytest.mark.req("CR-27")
async def test_an_admin_ends_a_grant_and_withdraws_what_only_its_publisher_saw(
    provisioned_nats_url: str,
) -> None:
    given = ChangeGrant(workspace_id="ws", kind="source", resource_id="plans", grantee="bob")
    serving = ChangeServing(workspace_id="ws", kind="source", resource_id="plans")
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        hidden = SOURCE.model_copy(update={"source_id": "plans", "visibility": "restricted"})
        await desk.send(knowledge.DECLARE_SOURCE, hidden)
        content = revision(1).model_copy(update={"source_id": "plans"})
        await desk.send(knowledge.PUBLISH_REVISION, content)
        await desk.send(knowledge.GRANT, given)
        ada = caller_of(await desk.send(access.ISSUE_CREDENTIAL, IssueCredential(principal="ada")))
        added = AddMember(workspace_id="ws", principal="ada", role="admin")
        await desk.send(access.ADD_MEMBER, added)

        revoked = await desk.send(knowledge.REVOKE_GRANT, given, caller=ada)
        again = await desk.send(knowledge.REVOKE_GRANT, given, caller=ada, key="again")
        withdrawn = await desk.send(knowledge.WITHDRAW, serving, caller=ada)
        with pytest.raises(NotFound):
            await desk.send(knowledge.RESTORE, serving, caller=ada)

        assert [each.changed for each in (revoked, again, withdrawn)] == [True, False, True]


@pytest.mark.req("CR-27")
async def test_a_workspace_whose_last_admin_left_is_opened_again_and_read_by_no_administrator(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        await desk.send(knowledge.PUBLISH_REVISION, revision(1))
        leaving = RemoveMember(workspace_id="ws", principal=desk.caller.principal)
        await desk.send(access.REMOVE_MEMBER, leaving)
        issued = await desk.send(access.ISSUE_CREDENTIAL, IssueCredential(principal="ada"))

        added = AddMember(workspace_id="ws", principal="ada", role="admin")
        opened = await desk.send(access.ADD_MEMBER, added)

        assert opened.changed
        upload = CheckUpload(workspace_id="ws", kind="source", resource_id="handbook")
        with pytest.raises(NotFound):
            await desk.send(knowledge.UPLOAD_PERMISSION, upload)
        allowed = await desk.send(knowledge.UPLOAD_PERMISSION, upload, caller=caller_of(issued))
        assert not allowed.changed


async def test_upload_permission_decides_like_publishing_and_writes_nothing(
    provisioned_nats_url: str,
) -> None:
    body = CheckUpload(workspace_id="ws", kind="source", resource_id="handbook")
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        ada = caller_of(await desk.send(access.ISSUE_CREDENTIAL, IssueCredential(principal="ada")))
        added = AddMember(workspace_id="ws", principal="ada", role="curator")
        await desk.send(access.ADD_MEMBER, added)
        before = await desk.position()

        allowed = await desk.send(knowledge.UPLOAD_PERMISSION, body)
        with pytest.raises(NotPermitted):
            await desk.send(knowledge.UPLOAD_PERMISSION, body, caller=ada)
        with pytest.raises(NotPermitted):
            await desk.send(knowledge.PUBLISH_REVISION, revision(1), caller=ada)

        assert not allowed.changed
        assert await desk.position() == before
