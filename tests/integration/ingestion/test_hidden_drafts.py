"""Drafts on evidence that somebody may not read, over a real log."""

from __future__ import annotations

import pytest

from chancery.events.commands import ChangeGrant, DeclareSource, EvidenceName
from chancery.ingestion.domain import curated, knowledge
from chancery.kernel.errors import NotFound
from tests.integration.ingestion.bodies import revision
from tests.integration.ingestion.curation import (
    draft,
    member,
    publication,
    published,
    with_evidence,
)
from tests.integration.ingestion.harness import open_desk

pytestmark = pytest.mark.integration


@pytest.mark.req("CR-4", "KO-9")
async def test_a_draft_on_evidence_that_somebody_may_not_read_is_none_for_them(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await with_evidence(desk)
        await published(desk, 1)
        bo = await member(desk, "bo", "publisher")
        grant = ChangeGrant(workspace_id="ws", kind="source", resource_id="secret", grantee="bo")
        closed = DeclareSource(
            workspace_id="ws", source_id="secret", title="S", visibility="restricted"
        )
        await desk.send(knowledge.DECLARE_SOURCE, closed)
        body = revision(1).model_copy(update={"source_id": "secret"})
        await desk.send(knowledge.PUBLISH_REVISION, body)
        secret = (EvidenceName(kind="source", id="secret", revision=1),)
        await desk.send(curated.SAVE_DRAFT, draft(2, evidence=secret))
        before = await desk.position()

        for guess in (publication(2), publication(2, evidence=secret), publication(3)):
            with pytest.raises(NotFound) as refused:
                await desk.send(curated.PUBLISH_DRAFT, guess, caller=bo)
            assert refused.value.field == "draft_id"
        with pytest.raises(NotFound) as refused:
            await desk.send(curated.SAVE_DRAFT, draft(2, evidence=()), caller=bo)
        assert refused.value.field == "draft_id"

        assert await desk.position() == before
        await desk.send(knowledge.GRANT, grant)
        told = await desk.send(curated.PUBLISH_DRAFT, publication(2, evidence=secret), caller=bo)
        assert told.version == 2
