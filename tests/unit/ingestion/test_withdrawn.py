"""A withdrawal holds until a publication asks for its end: over the bus, alone and in bulk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chancery.events.authority import RevisionPublished, SnapshotPublished
from chancery.events.authority_knowledge import VersionPublished
from chancery.events.commands import ChangeServing, PublishRevision
from chancery.events.commands_bulk import BulkDocument, PublishDocuments
from chancery.events.intake import (
    DatasetSubmitted,
    DocumentSubmitted,
    DraftSubmitted,
    IntakeAccepted,
    IntakeRejected,
    PublicationSubmitted,
    ResourceWithdrawalSubmitted,
    RevisionSubmitted,
    SnapshotSubmitted,
    SourceSubmitted,
)
from chancery.ingestion.domain import knowledge
from chancery.ingestion.handlers.bulk import BulkPublisher
from chancery.kernel.canonical import canonical_hash
from chancery.kernel.errors import Conflict
from tests.unit.ingestion.producing import Edge, cloud_event, opened, structured
from tests.unit.ingestion.test_execution import request
from tests.unit.ingestion.test_submitted_kinds import (
    CSV,
    DATASET,
    DOCUMENT,
    DRAFT,
    PUBLICATION,
    SNAPSHOT,
    SOURCE,
    accepted,
    read,
    refusal,
)

TEXT: Mapping[str, Any] = {**DOCUMENT, "text": "Reviews are owned by the platform team."}
TABLE: Mapping[str, Any] = {**SNAPSHOT, "text": CSV}
ROWS: Mapping[str, Any] = {**SNAPSHOT, "mode": "append", "text": "customer,cost\nbob,4\n"}

Sending = tuple[str, Mapping[str, Any]]


@pytest.fixture
async def edge() -> Edge:
    return await opened()


async def withdrawn(edge: Edge, published: Sending) -> None:
    """Publish something, and withdraw what it was published to."""
    data = published[1]
    kind = next(each for each in ("source", "dataset", "item") if f"{each}_id" in data)
    await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="s")
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="d")
    await edge.send(DraftSubmitted.TYPE, DRAFT, event_id="i")
    accepted(await edge.send(*published, event_id="first"))
    withdrawal = {"workspace_id": "ws", "kind": kind, "resource_id": data[f"{kind}_id"]}
    accepted(await edge.send(ResourceWithdrawalSubmitted.TYPE, withdrawal, event_id="w"))


@pytest.mark.req("EV-9", "CR-27")
@pytest.mark.parametrize(
    ("first", "late", "published"),
    [
        ((DocumentSubmitted.TYPE, TEXT), TEXT, RevisionPublished),
        (
            (DocumentSubmitted.TYPE, TEXT),
            {**TEXT, "text": "Other."},
            RevisionPublished,
        ),
        ((SnapshotSubmitted.TYPE, TABLE), TABLE, SnapshotPublished),
        ((SnapshotSubmitted.TYPE, TABLE), ROWS, SnapshotPublished),
        (
            (PublicationSubmitted.TYPE, PUBLICATION),
            {**PUBLICATION, "draft_id": "next"},
            VersionPublished,
        ),
    ],
    ids=["the same text", "another text", "a table", "further rows", "an item"],
)
async def test_a_submission_alone_lets_nothing_withdrawn_serve_again(
    edge: Edge, first: Sending, late: Mapping[str, Any], published: type
) -> None:
    await withdrawn(edge, first)
    await edge.send(DraftSubmitted.TYPE, {**DRAFT, "draft_id": "next"}, event_id="draft")
    before = edge.appended()

    refused = await edge.send(first[0], late, event_id="late")

    assert refusal(refused) == ("withdrawn", "data.restore")
    assert isinstance(refused.data, IntakeRejected)
    assert "restore" in refused.data.detail
    assert edge.appended() == before
    told = accepted(await edge.send(first[0], {**late, "restore": True}, event_id="asked"))
    assert told.changed
    assert type(edge.appended()[-1]) is published


@pytest.mark.req("EV-9", "EV-14")
async def test_the_first_version_of_a_submission_cannot_ask_for_it(edge: Edge) -> None:
    await withdrawn(edge, (RevisionSubmitted.TYPE, TEXT))

    late = await edge.send(RevisionSubmitted.TYPE, TEXT, event_id="late")
    asked = await edge.send(RevisionSubmitted.TYPE, {**TEXT, "restore": True}, event_id="asked")

    assert refusal(late) == ("withdrawn", "data.restore")
    assert refusal(asked) == ("invalid_submission", "data.restore")


@pytest.mark.req("EV-9", "EV-14")
@pytest.mark.parametrize("is_forgotten", [False, True])
@pytest.mark.parametrize(
    "first",
    [
        (DocumentSubmitted.TYPE, TEXT),
        (SnapshotSubmitted.TYPE, TABLE),
        (SnapshotSubmitted.TYPE, ROWS),
        (PublicationSubmitted.TYPE, PUBLICATION),
    ],
)
async def test_a_repeated_submission_is_told_what_became_of_it_before_the_withdrawal(
    edge: Edge, first: Sending, *, is_forgotten: bool
) -> None:
    await withdrawn(edge, first)
    told = {each.envelope.subject: each for each in edge.outcomes.told}
    if is_forgotten:
        edge.outcomes.told.clear()

    await edge.send(*first, event_id="first")

    again = {each.envelope.subject: each for each in edge.outcomes.told}["first"]
    assert isinstance(again.data, IntakeAccepted)
    assert again.data.model_copy(update={"intake_sequence": 0}) == accepted(
        told["first"]
    ).model_copy(update={"intake_sequence": 0})


@pytest.mark.req("EV-14")
@pytest.mark.parametrize(
    ("type_", "data"),
    [
        (DocumentSubmitted.TYPE, {**TEXT, "content_sha256": None}),
        (SnapshotSubmitted.TYPE, {**ROWS, "content_sha256": None}),
        (PublicationSubmitted.TYPE, {**PUBLICATION, "evidence": []}),
    ],
)
def test_what_was_sent_before_there_was_a_field_is_recognised_still(
    type_: str, data: Mapping[str, Any]
) -> None:
    def hashed(sent: Mapping[str, Any]) -> str:
        return read(structured(cloud_event(type_, sent)), type_).request_sha256

    assert hashed(data) == canonical_hash({"type": type_, "data": dict(data)})
    assert hashed({**data, "restore": False}) == hashed(data)
    assert hashed({**data, "restore": True}) != hashed(data)


def document(name: str, *, restore: bool = False) -> BulkDocument:
    """Return a document of a batch with the content that every one of them has."""
    return BulkDocument(
        source_id=name,
        content_sha256="a" * 64,
        media_type="text/plain",
        size_bytes=1,
        restore=restore,
    )


def batch(*documents: BulkDocument) -> PublishDocuments:
    """Return a batch in the workspace."""
    return PublishDocuments(workspace_id="ws", documents=documents)


@pytest.mark.req("EV-6", "CR-27")
async def test_in_a_batch_what_is_withdrawn_is_refused_alone(edge: Edge) -> None:
    publisher = BulkPublisher(edge.executor)
    first = request(batch(document("one"), document("two")), key="first")
    before = await publisher.publish(first)
    gone = ChangeServing(workspace_id="ws", kind="source", resource_id="two")
    await edge.executor.execute(knowledge.WITHDRAW, request(gone, key="w"))

    nightly = batch(document("one"), document("two"), document("three"))
    told = (await publisher.publish(request(nightly, key="nightly"))).documents
    asked = batch(document("one", restore=True), document("two", restore=True))
    again = (await publisher.publish(request(asked, key="asked"))).documents

    assert [(each.revision, each.changed) for each in told] == [
        (1, False),
        (None, False),
        (1, True),
    ]
    assert told[1].failure is not None
    assert (told[1].failure.code, told[1].failure.kind) == ("withdrawn", "conflict")
    assert [(each.revision, each.changed) for each in again] == [(1, False), (2, True)]
    assert await publisher.publish(first) == before


@pytest.mark.req("EV-6")
async def test_a_repeated_request_is_told_what_became_of_it_before_the_withdrawal(
    edge: Edge,
) -> None:
    await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="s")
    body = PublishRevision(
        workspace_id="ws",
        source_id="s1",
        content_sha256="a" * 64,
        media_type="text/plain",
        size_bytes=1,
    )
    first = request(body, key="first")
    told = await edge.executor.execute(knowledge.PUBLISH_REVISION, first)
    gone = ChangeServing(workspace_id="ws", kind="source", resource_id="s1")
    await edge.executor.execute(knowledge.WITHDRAW, request(gone, key="w"))

    assert await edge.executor.execute(knowledge.PUBLISH_REVISION, first) == told
    with pytest.raises(Conflict, match="withdrawn"):
        await edge.executor.execute(knowledge.PUBLISH_REVISION, request(body, key="later"))
