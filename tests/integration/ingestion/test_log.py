"""Commands on a real JetStream log: gapless, idempotent, all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chancery.authority.errors import NotPermitted
from chancery.authority.names import principal_ref, source_ref, tenant_ref, workspace_ref
from chancery.authority.tokens import parse_token, proof_of
from chancery.bus.connection import connect
from chancery.bus.load import Stored
from chancery.bus.publish import Outgoing, Published, WrongSequence
from chancery.events.authority import RevisionPublished
from chancery.events.codec import decode
from chancery.events.commands import (
    AddMember,
    ChangeGrant,
    ChangeServing,
    CheckUpload,
    CreateWorkspace,
    DeclareSource,
    IssueCredential,
    JoinGroup,
    PublishedOutcome,
    PublishRevision,
    RevokeCredential,
)
from chancery.events.requests import Caller
from chancery.ingestion.adapters.log import AuthorityLog
from chancery.ingestion.adapters.token_file import OperatorTokenFile
from chancery.ingestion.domain import access, knowledge
from chancery.ingestion.domain.first_start import Operator
from chancery.ingestion.errors import Contended, ForeignTokenKey, KeyReused
from chancery.ingestion.handlers.execution import Executor
from chancery.ingestion.handlers.first_start import first_start, write_token
from chancery.ingestion.ports import Log
from chancery.kernel.errors import Denied, NotFound, Unavailable
from tests.integration.ingestion.harness import (
    ADMIN,
    TOKEN_KEY,
    Desk,
    caller_of,
    new_executor,
    open_desk,
)

pytestmark = pytest.mark.integration

WORKSPACE = CreateWorkspace(workspace_id="ws", title="Works")
SOURCE = DeclareSource(workspace_id="ws", source_id="handbook", title="Handbook")
SUBJECT = source_ref("ws", "handbook").subject("default")


def revision(number: int) -> PublishRevision:
    return PublishRevision(
        workspace_id="ws",
        source_id="handbook",
        content_sha256=f"{number:064x}",
        media_type="text/plain",
        size_bytes=10,
    )


async def declare(desk: Desk) -> None:
    await desk.send(access.CREATE_WORKSPACE, WORKSPACE)
    await desk.send(knowledge.DECLARE_SOURCE, SOURCE)


@dataclass(slots=True)
class RacingLog:
    """A log on which the administrator's aggregate moves just before the first batch."""

    inner: Log
    desk: Desk
    refused: int = 0

    def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        return self.inner.read(subject, after)

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        if self.refused == 0:
            joined = JoinGroup(group="staff", principal="admin")
            await self.desk.send(access.JOIN_GROUP, joined)
        try:
            return await self.inner.append(messages)
        except WrongSequence:
            self.refused += 1
            raise

    async def position(self) -> int:
        return await self.inner.position()


@dataclass(slots=True)
class LossyLog:
    """A log of which the next `losses` answers to an append are lost."""

    inner: Log
    losses: int
    appends: list[int] = field(default_factory=list[int])

    def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        return self.inner.read(subject, after)

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        self.appends.append(len(messages))
        lost, self.losses = self.losses > 0, max(0, self.losses - 1)
        try:
            published = await self.inner.append(messages)
        except WrongSequence:
            if not lost:
                raise
        else:
            if not lost:
                return published
        message = "the answer was lost"
        raise Unavailable(message)

    async def position(self) -> int:
        return await self.inner.position()


async def begin(executor: Executor) -> None:
    operator = Operator(TOKEN_KEY)
    await first_start(executor.aggregates, executor.appender, operator, executor.clock)


async def test_of_processes_that_start_at_once_one_begins_the_log(
    provisioned_nats_url: str,
) -> None:
    async with connect(provisioned_nats_url, name="test") as connection:
        executors = [new_executor(AuthorityLog(connection)) for _ in range(6)]

        await asyncio.gather(*(begin(each) for each in executors))

        desk = Desk(connection, executors[-1])
        assert await desk.position() == 3
        await desk.send(access.CREATE_WORKSPACE, WORKSPACE)


async def test_a_second_start_adds_nothing(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await begin(desk.restarted().executor)

        assert await desk.position() == 3


@pytest.mark.req("EV-10")
async def test_the_operator_token_is_written_where_it_is_missing_and_authenticates(
    provisioned_nats_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "data" / "operator.token"
    file, operator = OperatorTokenFile(path), Operator(TOKEN_KEY)
    async with open_desk(provisioned_nats_url) as desk:
        first = await write_token(desk.executor.aggregates, operator, file)
        again = await write_token(desk.executor.aggregates, operator, file)
        token = parse_token(path.read_text(encoding="ascii").strip())
        mode = path.stat().st_mode & 0o777
        path.unlink()
        after_loss = await write_token(desk.executor.aggregates, operator, file)

        assert (first, again, after_loss) == (True, False, True)
        assert mode == 0o600
        assert [each.name for each in path.parent.iterdir()] == ["operator.token"]
        assert (token.tenant, token.principal) == ("default", "admin")
        assert proof_of(token.secret) == ADMIN.proof


async def test_another_token_key_and_a_revoked_credential_write_no_token(
    provisioned_nats_url: str, tmp_path: Path
) -> None:
    file = OperatorTokenFile(tmp_path / "operator.token")
    async with open_desk(provisioned_nats_url) as desk:
        with pytest.raises(ForeignTokenKey):
            await write_token(desk.executor.aggregates, Operator(b"x" * 32), file)

        body = RevokeCredential(principal="admin", credential_id=ADMIN.credential_id)
        await desk.send(access.REVOKE_CREDENTIAL, body)

        assert not await write_token(desk.executor.aggregates, Operator(TOKEN_KEY), file)
        with pytest.raises(Denied):
            await desk.send(access.CREATE_WORKSPACE, WORKSPACE)
    assert not await file.exists()


@pytest.mark.parametrize("processes", [1, 2])
async def test_concurrent_publications_get_one_revision_each_without_a_gap(
    provisioned_nats_url: str, processes: int
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        desks = [desk, desk.restarted()][:processes]

        outcomes = await asyncio.gather(
            *(
                _persistent(desks[number % processes], revision(number), key=f"k{number}")
                for number in range(8)
            )
        )

        assert sorted(each.revision for each in outcomes) == list(range(1, 9))
        stored = [decode(each.payload).data for each in await desk.stored(SUBJECT)]
        published = [data for data in stored if isinstance(data, RevisionPublished)]
        assert [data.revision for data in published] == list(range(1, 9))


async def _persistent(desk: Desk, body: PublishRevision, *, key: str) -> PublishedOutcome:
    """Send again under the same key for as long as another process keeps winning."""
    for _ in range(10):
        try:
            return await desk.send(knowledge.PUBLISH_REVISION, body, key=key)
        except Contended:
            continue
    raise AssertionError(key)


async def test_the_content_that_serves_makes_no_revision_unless_it_was_withdrawn(
    provisioned_nats_url: str,
) -> None:
    serving = ChangeServing(workspace_id="ws", kind="source", resource_id="handbook")
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        first = await desk.send(knowledge.PUBLISH_REVISION, revision(1))
        same = await desk.send(knowledge.PUBLISH_REVISION, revision(1))
        await desk.send(knowledge.WITHDRAW, serving)
        again = await desk.send(knowledge.PUBLISH_REVISION, revision(1))

    assert (first.revision, first.changed) == (1, True)
    assert same == first.model_copy(update={"changed": False})
    assert (again.revision, again.changed) == (2, True)


@pytest.mark.req("EV-14")
async def test_a_repeat_returns_the_first_outcome_even_after_a_restart(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        first = await desk.send(knowledge.PUBLISH_REVISION, revision(1), key="k")
        await desk.send(knowledge.PUBLISH_REVISION, revision(2))
        before = await desk.position()

        here = await desk.send(knowledge.PUBLISH_REVISION, revision(1), key="k")
        there = await desk.restarted().send(knowledge.PUBLISH_REVISION, revision(1), key="k")

        assert here == there == first
        assert await desk.position() == before


@pytest.mark.req("EV-14")
async def test_a_key_is_refused_for_another_body_even_after_a_restart(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await desk.send(access.CREATE_WORKSPACE, WORKSPACE, key="w")
        await desk.send(knowledge.DECLARE_SOURCE, SOURCE)
        await desk.send(knowledge.PUBLISH_REVISION, revision(1), key="k")
        await desk.send(access.ISSUE_CREDENTIAL, IssueCredential(principal="ada"), key="c")
        before = await desk.position()
        other = CreateWorkspace(workspace_id="other", title="Works")
        someone = IssueCredential(principal="bob")

        for fresh in (desk, desk.restarted()):
            with pytest.raises(KeyReused):
                await fresh.send(knowledge.PUBLISH_REVISION, revision(2), key="k")
            with pytest.raises(KeyReused):
                await fresh.send(access.CREATE_WORKSPACE, other, key="w")
            with pytest.raises(KeyReused):
                await fresh.send(access.ISSUE_CREDENTIAL, someone, key="c")

        assert await desk.position() == before


@pytest.mark.req("EV-6", "EV-14")
async def test_a_lost_acknowledgement_appends_once(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        lossy = LossyLog(AuthorityLog(desk.connection), losses=1)
        unlucky = Desk(desk.connection, new_executor(lossy))

        created = await unlucky.send(access.CREATE_WORKSPACE, WORKSPACE)
        lossy.losses = 1
        declared = await unlucky.send(knowledge.DECLARE_SOURCE, SOURCE)
        lossy.losses = 2
        published = await unlucky.send(knowledge.PUBLISH_REVISION, revision(1))

        assert (created.sequence, declared.sequence, published.sequence) == (5, 6, 7)
        assert published.revision == 1
        assert await desk.position() == 7
        assert lossy.appends == [2, 2, 1, 1, 1, 1, 1]


@pytest.mark.req("EV-14")
async def test_a_command_without_any_acknowledgement_is_unavailable_and_can_be_repeated(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        lossy = LossyLog(AuthorityLog(desk.connection), losses=3)
        unlucky = Desk(desk.connection, new_executor(lossy))

        with pytest.raises(Unavailable):
            await unlucky.send(knowledge.PUBLISH_REVISION, revision(1), key="k")
        after = await desk.send(knowledge.PUBLISH_REVISION, revision(1), key="k")

        assert (after.revision, after.changed) == (1, True)
        assert len(await desk.stored(SUBJECT)) == 2


async def test_two_aggregates_change_together_or_not_at_all(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        racing = RacingLog(AuthorityLog(desk.connection), desk)
        racer = Desk(desk.connection, new_executor(racing))

        outcome = await racer.send(access.CREATE_WORKSPACE, WORKSPACE)

        # The first batch met a changed principal and stored nothing of the workspace.
        subject = workspace_ref("ws").subject("default")
        assert racing.refused == 1
        assert [each.sequence for each in await desk.stored(subject)] == [outcome.sequence - 1]


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


async def test_a_declaration_with_three_changes_is_one_append(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        changed = DeclareSource(
            workspace_id="ws",
            source_id="handbook",
            title="The handbook",
            visibility="restricted",
            authority="normative",
        )

        outcome = await desk.send(knowledge.DECLARE_SOURCE, changed, key="k")
        repeated = await desk.restarted().send(knowledge.DECLARE_SOURCE, changed, key="k")
        nothing = await desk.send(knowledge.DECLARE_SOURCE, changed)

        types = [decode(each.payload).envelope.type for each in await desk.stored(SUBJECT)]
        assert types == [
            "chancery.source.declared.v1",
            "chancery.source.declared.v1",
            "chancery.source.visibility-changed.v1",
            "chancery.source.authority-set.v1",
        ]
        assert repeated == outcome
        assert not nothing.changed
        assert nothing.sequence == outcome.sequence


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
