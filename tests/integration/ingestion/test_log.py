"""Commands on a real JetStream log: gapless, idempotent, all or nothing."""

from __future__ import annotations

import asyncio

import pytest

from chancery.authority.names import workspace_ref
from chancery.events.authority import RevisionPublished
from chancery.events.codec import decode
from chancery.events.commands import (
    ChangeServing,
    CreateWorkspace,
    DeclareSource,
    IssueCredential,
    PublishedOutcome,
    PublishRevision,
)
from chancery.ingestion.adapters.log import AuthorityLog
from chancery.ingestion.domain import access, knowledge
from chancery.ingestion.errors import Contended, KeyReused
from chancery.kernel.errors import Conflict, Unavailable
from tests.integration.ingestion.bodies import (
    SOURCE,
    SUBJECT,
    WORKSPACE,
    LossyLog,
    RacingLog,
    declare,
    revision,
)
from tests.integration.ingestion.harness import (
    Desk,
    new_executor,
    open_desk,
)

pytestmark = pytest.mark.integration


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


async def test_the_content_that_serves_makes_no_revision_and_what_was_withdrawn_one_when_asked(
    provisioned_nats_url: str,
) -> None:
    serving = ChangeServing(workspace_id="ws", kind="source", resource_id="handbook")
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        first = await desk.send(knowledge.PUBLISH_REVISION, revision(1))
        same = await desk.send(knowledge.PUBLISH_REVISION, revision(1))
        await desk.send(knowledge.WITHDRAW, serving)
        with pytest.raises(Conflict) as refused:
            await desk.send(knowledge.PUBLISH_REVISION, revision(1))
        asked = revision(1).model_copy(update={"restore": True})
        again = await desk.restarted().send(knowledge.PUBLISH_REVISION, asked)

    assert refused.value.code == "withdrawn"
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
