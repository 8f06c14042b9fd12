"""Curated items on a real log: exact publication, evidence, withdrawal, repetition."""

from __future__ import annotations

import asyncio

import pytest

from chancery.authority.errors import NotPermitted
from chancery.authority.names import item_ref
from chancery.authority.states import ItemState
from chancery.events.authority import Visibility
from chancery.events.authority_knowledge import DraftSaved, evidence_hash
from chancery.events.codec import decode
from chancery.events.commands import (
    ChangeGrant,
    ChangeServing,
    CheckUpload,
    DeclareSource,
    EvidenceName,
    PublishDraft,
    VersionPublishedOutcome,
)
from chancery.ingestion.adapters.log import AuthorityLog
from chancery.ingestion.domain import curated, knowledge
from chancery.ingestion.domain.aggregates import Address
from chancery.ingestion.errors import Contended, KeyReused
from chancery.kernel.errors import Conflict, NotFound, Rejected
from tests.integration.ingestion.bodies import LossyLog, revision
from tests.integration.ingestion.curation import (
    EVIDENCE,
    ITEM,
    draft,
    member,
    publication,
    published,
    saved,
    versions,
    with_evidence,
)
from tests.integration.ingestion.harness import Desk, new_executor, open_desk

pytestmark = pytest.mark.integration
WITHDRAW = ChangeServing(workspace_id="ws", kind="item", resource_id="glossary")


async def state_of(desk: Desk) -> ItemState:
    """Return the item as a fresh process folds it."""
    address = Address("default", item_ref("ws", "glossary"))
    found = await desk.restarted().executor.aggregates.load((address,))
    state = found[address].state(ItemState)
    assert state is not None
    return state


@pytest.mark.req("CR-2", "CR-3")
async def test_a_version_keeps_content_evidence_author_and_its_acknowledged_commit(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        cora = await member(desk, "cora", "curator")
        first = await desk.send(curated.SAVE_DRAFT, draft(), caller=cora)

        told = await desk.send(curated.PUBLISH_DRAFT, publication())

        (version,) = await versions(desk)
        committed = decode((await desk.stored(ITEM))[-1].payload)
        assert committed.id == version.operation_id == told.operation_id
        assert committed.time == version.committed_at
        assert (told.version, told.version_id) == (1, version.version_id)
        assert (version.author, committed.envelope.actor) == ("cora", "admin")
        assert {(root.kind, root.id, root.revision) for root in version.evidence} == {
            (name.kind, name.id, name.revision) for name in EVIDENCE
        }
        assert {root.content_sha256 for root in version.evidence} == {f"{1:064x}", "d" * 64}
        hashes = (first.content_sha256, first.evidence_sha256)
        assert hashes == (version.content_sha256, evidence_hash(version.evidence))
        assert (version.native_workspace_id, version.native_item_id) == ("ws", "glossary")


@pytest.mark.req("CR-2")
async def test_a_later_draft_does_not_replace_the_serving_version(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        await published(desk, 1)

        await saved(desk, 2)

        between = await state_of(desk)
        assert (between.serving, list(between.drafts)) == (1, ["draft-2"])
        told = await desk.send(curated.PUBLISH_DRAFT, publication(2))
        after = await state_of(desk)
        assert (told.version, after.serving, after.drafts) == (2, 2, {})
        assert after.versions[0] == between.versions[0]


@pytest.mark.req("CR-3")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"content_sha256": "e" * 64}, "content_sha256"),
        ({"evidence": EVIDENCE[:1]}, "evidence"),
        ({"evidence": ()}, "evidence"),
    ],
)
async def test_publishing_anything_but_the_exact_draft_is_a_conflict(
    provisioned_nats_url: str, wrong: dict[str, object], field: str
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        await saved(desk)
        before = await desk.position()

        with pytest.raises(Conflict) as refused:
            await desk.send(curated.PUBLISH_DRAFT, publication().model_copy(update=wrong))

        assert (refused.value.code, refused.value.field) == ("draft_changed", field)
        assert await desk.position() == before
        backwards = publication(evidence=EVIDENCE[::-1])
        assert (await desk.send(curated.PUBLISH_DRAFT, backwards)).version == 1


@pytest.mark.req("CR-3")
async def test_a_draft_that_changed_meanwhile_is_not_published(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        await saved(desk)
        other = desk.restarted()
        await other.send(curated.SAVE_DRAFT, draft(1, content_sha256="e" * 64))

        with pytest.raises(Conflict) as refused:
            await desk.send(curated.PUBLISH_DRAFT, publication())

        assert refused.value.code == "draft_changed"
        assert await versions(desk) == []


@pytest.mark.req("CR-6")
async def test_a_withdrawn_item_serves_again_only_once_a_version_is_published(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        await published(desk, 1)

        first = await desk.send(knowledge.WITHDRAW, WITHDRAW)
        again = await desk.send(knowledge.WITHDRAW, WITHDRAW)
        with pytest.raises(Rejected) as refused:
            await desk.send(knowledge.RESTORE, WITHDRAW)
        assert (await state_of(desk)).serving is None
        with pytest.raises(NotFound) as gone:
            await desk.send(curated.PUBLISH_DRAFT, publication(1))
        with pytest.raises(Conflict) as kept:
            await published(desk, 2)
        told = await desk.send(curated.PUBLISH_DRAFT, publication(2, restore=True))

        assert (first.changed, again.changed) == (True, False)
        assert refused.value.code == "not_restorable"
        assert gone.value.field == "draft_id"
        assert kept.value.code == "withdrawn"
        assert (told.version, (await state_of(desk)).serving) == (2, 2)


@pytest.mark.req("CR-4", "KO-9")
async def test_evidence_that_the_caller_may_not_use_is_refused_like_what_is_not_there(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        cora = await member(desk, "cora", "curator")
        hidden: tuple[tuple[str, Visibility], ...] = (("plans", "private"), ("old", "workspace"))
        for name, visibility in hidden:
            await desk.send(
                knowledge.DECLARE_SOURCE,
                DeclareSource(workspace_id="ws", source_id=name, title=name, visibility=visibility),
            )
            content = revision(3).model_copy(update={"source_id": name})
            await desk.send(knowledge.PUBLISH_REVISION, content)
        old = ChangeServing(workspace_id="ws", kind="source", resource_id="old")
        await desk.send(knowledge.WITHDRAW, old)
        before = await desk.position()

        told: set[tuple[str, str, str | None]] = set()
        for name, number in (("plans", 1), ("old", 1), ("missing", 1), ("handbook", 2)):
            wrong = EvidenceName(kind="source", id=name, revision=number)
            body = draft(evidence=(EVIDENCE[1], wrong))
            with pytest.raises(NotFound) as refused:
                await desk.send(curated.SAVE_DRAFT, body, caller=cora)
            told.add((refused.value.code, refused.value.detail, refused.value.field))

        assert told == {("not_found", "there is no such revision for this caller", "evidence.1")}
        assert await desk.position() == before
        assert (await desk.send(curated.SAVE_DRAFT, draft(), caller=cora)).changed


@pytest.mark.req("CR-4")
async def test_who_publishes_has_to_read_the_evidence_too(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        paul = await member(desk, "paul", "publisher")
        hidden = DeclareSource(
            workspace_id="ws", source_id="plans", title="Plans", visibility="restricted"
        )
        await desk.send(knowledge.DECLARE_SOURCE, hidden)
        content = revision(3).model_copy(update={"source_id": "plans"})
        await desk.send(knowledge.PUBLISH_REVISION, content)
        plans = (EvidenceName(kind="source", id="plans", revision=1),)
        await desk.send(curated.SAVE_DRAFT, draft(evidence=plans))

        with pytest.raises(NotFound) as refused:
            await desk.send(curated.PUBLISH_DRAFT, publication(evidence=plans), caller=paul)
        grant = ChangeGrant(workspace_id="ws", kind="source", resource_id="plans", grantee="paul")
        await desk.send(knowledge.GRANT, grant)
        told = await desk.send(curated.PUBLISH_DRAFT, publication(evidence=plans), caller=paul)

        # An item on evidence that its publisher does not see is not there for them.
        assert "no such source, dataset or item" in refused.value.detail
        assert told.version == 1


@pytest.mark.req("CR-4")
async def test_evidence_withdrawn_after_the_draft_is_not_published(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        await saved(desk)
        handbook = ChangeServing(workspace_id="ws", kind="source", resource_id="handbook")
        await desk.restarted().send(knowledge.WITHDRAW, handbook)

        with pytest.raises(NotFound) as refused:
            await desk.send(curated.PUBLISH_DRAFT, publication())

        assert refused.value.field == "evidence.0"
        assert await versions(desk) == []
        await desk.send(knowledge.RESTORE, handbook)
        assert (await desk.send(curated.PUBLISH_DRAFT, publication())).version == 1


@pytest.mark.req("CR-27")
async def test_curators_save_and_publishers_publish_what_they_see(
    provisioned_nats_url: str,
) -> None:
    question = CheckUpload(workspace_id="ws", kind="item", resource_id="glossary")
    grant = ChangeGrant(workspace_id="ws", kind="item", resource_id="glossary", grantee="paul")
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        rita = await member(desk, "rita", "reader")
        cora = await member(desk, "cora", "curator")
        paul = await member(desk, "paul", "publisher")
        with pytest.raises(NotPermitted):
            await desk.send(curated.SAVE_DRAFT, draft(), caller=rita)
        with pytest.raises(NotPermitted):
            await desk.send(knowledge.UPLOAD_PERMISSION, question, caller=rita)
        await desk.send(knowledge.UPLOAD_PERMISSION, question, caller=cora)

        await desk.send(curated.SAVE_DRAFT, draft(visibility="restricted"), caller=cora)
        with pytest.raises(NotPermitted):
            await desk.send(curated.PUBLISH_DRAFT, publication(), caller=cora)
        for command, body in (
            (curated.PUBLISH_DRAFT, publication()),
            (curated.PUBLISH_DRAFT, publication(item_id="nowhere")),
        ):
            with pytest.raises(NotFound) as unseen:
                await desk.send(command, body, caller=paul)
            assert unseen.value.detail.endswith("for this caller; declare it first")
        with pytest.raises(NotFound):
            await desk.send(knowledge.GRANT, grant, caller=paul)
        with pytest.raises(Rejected) as fixed:
            await desk.send(curated.SAVE_DRAFT, draft(visibility="workspace"), caller=cora)

        assert (fixed.value.code, fixed.value.field) == ("item_keeps", "visibility")
        assert await versions(desk) == []


@pytest.mark.req("EV-14")
async def test_a_repeat_returns_the_first_outcome_even_after_a_restart(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        first = await desk.send(curated.SAVE_DRAFT, draft(), key="s")
        told = await desk.send(curated.PUBLISH_DRAFT, publication(), key="p")
        await published(desk, 2)
        before = await desk.position()

        for fresh in (desk, desk.restarted()):
            assert await fresh.send(curated.SAVE_DRAFT, draft(), key="s") == first
            assert await fresh.send(curated.PUBLISH_DRAFT, publication(), key="p") == told
            with pytest.raises(KeyReused):
                await fresh.send(curated.SAVE_DRAFT, draft(title="Other"), key="s")
            with pytest.raises(KeyReused):
                await fresh.send(curated.PUBLISH_DRAFT, publication(2), key="p")

        assert await desk.position() == before


async def test_what_stands_already_changes_nothing_under_another_key(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        first = await saved(desk)
        same = await saved(desk)
        told = await desk.send(curated.PUBLISH_DRAFT, publication())
        again = await desk.restarted().send(curated.PUBLISH_DRAFT, publication())

        assert same == first.model_copy(update={"changed": False})
        assert again == told.model_copy(update={"changed": False})
        stored = [decode(each.payload).data for each in await desk.stored(ITEM)]
        assert [type(data).__name__ for data in stored] == ["DraftSaved", "VersionPublished"]


@pytest.mark.req("EV-14")
@pytest.mark.parametrize("losses", [1, 2])
async def test_a_lost_acknowledgement_publishes_one_version(
    provisioned_nats_url: str, losses: int
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        await saved(desk)
        lossy = LossyLog(AuthorityLog(desk.connection), losses)
        other = Desk(desk.connection, new_executor(lossy))

        told = await other.send(curated.PUBLISH_DRAFT, publication())

        (version,) = await versions(desk)
        assert (told.version, told.operation_id) == (1, version.operation_id)
        assert told.changed
        assert len(lossy.appends) == losses + 1


async def test_concurrent_publications_get_one_version_each_without_a_gap(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        for number in range(6):
            await saved(desk, number)
        desks = (desk, desk.restarted())

        told = await asyncio.gather(
            *(_persistent(desks[number % 2], publication(number)) for number in range(6))
        )

        assert sorted(each.version for each in told) == list(range(1, 7))
        assert [each.version for each in await versions(desk)] == list(range(1, 7))
        assert len({each.version_id for each in told}) == 6


async def _persistent(desk: Desk, body: PublishDraft) -> VersionPublishedOutcome:
    for _ in range(10):
        try:
            return await desk.send(curated.PUBLISH_DRAFT, body, key=body.draft_id)
        except Contended:
            continue
    raise AssertionError(body.draft_id)


@pytest.mark.req("CR-10")
async def test_a_source_and_an_item_of_one_name_stay_apart(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        await desk.send(curated.SAVE_DRAFT, draft(item_id="handbook"))
        body = publication(item_id="handbook")
        await desk.send(curated.PUBLISH_DRAFT, body)
        item = ChangeServing(workspace_id="ws", kind="item", resource_id="handbook")
        source = item.model_copy(update={"kind": "source"})

        assert (await desk.send(knowledge.WITHDRAW, item)).changed
        assert not (await desk.send(knowledge.WITHDRAW, item)).changed
        assert (await desk.send(knowledge.WITHDRAW, source)).changed


async def test_the_first_draft_fixes_the_native_ids(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        native = {"native_workspace_id": "wiki", "native_item_id": "page-7"}
        await desk.send(curated.SAVE_DRAFT, draft(1, **native))
        await saved(desk, 2)
        with pytest.raises(Rejected) as refused:
            await desk.send(curated.SAVE_DRAFT, draft(3, native_item_id="page-8"))

        stored = [decode(each.payload).data for each in await desk.stored(ITEM)]
        drafts = [data for data in stored if isinstance(data, DraftSaved)]
        assert {each.native_item_id for each in drafts} == {"page-7"}
        assert (refused.value.code, refused.value.field) == ("item_keeps", "native_item_id")
