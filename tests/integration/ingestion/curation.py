"""Curated items over a real log: their bodies, and a workspace with evidence."""

from __future__ import annotations

from chancery.authority.names import item_ref
from chancery.events.authority import Role
from chancery.events.authority_knowledge import VersionPublished
from chancery.events.codec import decode
from chancery.events.commands import (
    AddMember,
    DeclareDataset,
    DraftSavedOutcome,
    EvidenceName,
    IssueCredential,
    PublishDraft,
    PublishSnapshot,
    SaveDraft,
    VersionPublishedOutcome,
)
from chancery.events.requests import Caller
from chancery.ingestion.domain import access, curated, knowledge
from tests.integration.ingestion.bodies import declare, revision
from tests.integration.ingestion.harness import Desk, caller_of

ITEM = item_ref("ws", "glossary").subject("default")
EVIDENCE = (
    EvidenceName(kind="source", id="handbook", revision=1),
    EvidenceName(kind="dataset", id="orders", revision=1),
)


def draft(number: int = 1, **fields: object) -> SaveDraft:
    """Return a draft whose content `number` determines."""
    body = SaveDraft(
        workspace_id="ws",
        item_id="glossary",
        draft_id=f"draft-{number}",
        title="Glossary",
        kind="note",
        domain="finance",
        tags=("terms",),
        content_sha256=f"{number:064x}",
        size_bytes=10,
        evidence=EVIDENCE,
    )
    return body.model_copy(update=fields)


def publication(number: int = 1, **fields: object) -> PublishDraft:
    """Return the publication of `draft(number)`."""
    body = PublishDraft(
        workspace_id="ws",
        item_id="glossary",
        draft_id=f"draft-{number}",
        content_sha256=f"{number:064x}",
        evidence=EVIDENCE,
    )
    return body.model_copy(update=fields)


async def with_evidence(desk: Desk) -> None:
    """Make a workspace with a published source and dataset."""
    await declare(desk)
    await desk.send(knowledge.PUBLISH_REVISION, revision(1))
    dataset = DeclareDataset(workspace_id="ws", dataset_id="orders", title="Orders")
    await desk.send(knowledge.DECLARE_DATASET, dataset)
    snapshot = PublishSnapshot(
        workspace_id="ws",
        dataset_id="orders",
        content_sha256="d" * 64,
        media_type="text/csv",
        size_bytes=10,
    )
    await desk.send(knowledge.PUBLISH_SNAPSHOT, snapshot)


async def member(desk: Desk, principal: str, role: Role) -> Caller:
    """Return a member of the workspace with a credential."""
    issued = await desk.send(access.ISSUE_CREDENTIAL, IssueCredential(principal=principal))
    added = AddMember(workspace_id="ws", principal=principal, role=role)
    await desk.send(access.ADD_MEMBER, added)
    return caller_of(issued)


async def published(desk: Desk, number: int = 1) -> VersionPublishedOutcome:
    """Save and publish `draft(number)`."""
    await saved(desk, number)
    return await desk.send(curated.PUBLISH_DRAFT, publication(number))


async def saved(desk: Desk, number: int = 1) -> DraftSavedOutcome:
    """Save `draft(number)`."""
    return await desk.send(curated.SAVE_DRAFT, draft(number))


async def versions(desk: Desk) -> list[VersionPublished]:
    """Return every version of the item on the log."""
    events = [decode(each.payload).data for each in await desk.stored(ITEM)]
    return [data for data in events if isinstance(data, VersionPublished)]
