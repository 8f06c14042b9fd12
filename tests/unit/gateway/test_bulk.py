"""Many documents in one request: stored before they are named, each with its own outcome."""

from __future__ import annotations

import base64

import pytest

from chancery.authority.errors import Withdrawn
from chancery.events import commands
from chancery.events.commands_bulk import BulkPublished, DocumentsPublished, PublishDocuments
from chancery.events.requests import Failure
from chancery.gateway.domain.bulk import DocumentsReply
from chancery.kernel.canonical import Json, sha256_hex
from chancery.kernel.errors import NotFound
from tests.unit.gateway.fakes import World

SOURCES = "/v1/workspaces/w/sources"


@pytest.fixture
def world() -> World:
    found = World()
    found.owners.answers["query.ingestion.bulk-permission.v1"] = commands.Outcome(
        sequence=1, changed=False
    )
    return found


def _published(name: str, content: bytes) -> BulkPublished:
    return BulkPublished(
        source_id=name, revision=1, content_sha256=sha256_hex(content), event_id="e", sequence=7,
        visibility="workspace", changed=True,
    )  # fmt: skip


async def test_texts_and_files_are_stored_and_published_together(world: World) -> None:
    pdf = b"%PDF-1.7 text %%EOF"
    world.owners.answers["command.ingestion.publish-documents.v1"] = DocumentsPublished(
        documents=(_published("a", b"one"), _published("b", pdf))
    )
    documents: Json = [
        {"source_id": "a", "text": "one"},
        {
            "source_id": "b",
            "media_type": "application/pdf",
            "base64": base64.b64encode(pdf).decode(),
        },
    ]

    async with world.client() as client:
        response = await client.post(SOURCES, json={"documents": documents})

    assert response.status_code == 202
    told = response.json()["documents"]
    assert [(each["source"], each["state"], each["error"]) for each in told] == [
        ("a", "pending", None),
        ("b", "pending", None),
    ]
    assert await world.blobs.exists("default", sha256_hex(b"one"))
    assert await world.blobs.exists("default", sha256_hex(pdf))


async def test_a_document_that_could_never_be_quoted_fails_alone(world: World) -> None:
    refusal = Failure(kind="rejected", code="not_permitted", detail="no")
    world.owners.answers["command.ingestion.publish-documents.v1"] = DocumentsPublished(
        documents=(
            _published("a", b"one"),
            BulkPublished(source_id="c", failure=refusal),
        )
    )
    documents: Json = [
        {"source_id": "a", "text": "one"},
        {"source_id": "b", "text": " "},
        {"source_id": "c", "text": "three"},
        {"source_id": "d", "base64": "?"},
        {"source_id": "e", "text": "x", "base64": "eA=="},
    ]

    async with world.client() as client:
        response = await client.post(SOURCES, json={"documents": documents})

    found = DocumentsReply.model_validate_json(response.content).documents
    codes = [None if each.error is None else each.error.code for each in found]
    assert codes == [None, "empty_content", "not_permitted", "invalid_request", "invalid_request"]
    sent = world.owners.asked[-1][1].body
    assert isinstance(sent, PublishDocuments)
    assert [each.source_id for each in sent.documents] == ["a", "c"]


async def test_nothing_is_stored_for_who_may_not_publish(world: World) -> None:
    world.owners.answers["query.ingestion.bulk-permission.v1"] = NotFound("no such workspace")

    async with world.client() as client:
        response = await client.post(SOURCES, json={"documents": [{"source_id": "a", "text": "x"}]})

    assert response.status_code == 404
    assert not await world.blobs.exists("default", sha256_hex(b"x"))


@pytest.mark.req("CR-27")
async def test_each_document_asks_for_a_withdrawn_source_to_serve_again_or_not(
    world: World,
) -> None:
    refusal = Failure.of(Withdrawn("source"))
    subject = "command.ingestion.publish-documents.v1"
    world.owners.answers[subject] = DocumentsPublished(
        documents=(_published("a", b"one"), BulkPublished(source_id="b", failure=refusal))
    )
    documents: Json = [
        {"source_id": "a", "text": "one", "restore": True},
        {"source_id": "b", "text": "two"},
    ]

    async with world.client() as client:
        response = await client.post(SOURCES, json={"documents": documents})

    told = response.json()["documents"]
    assert [each["error"] and each["error"]["code"] for each in told] == [None, "withdrawn"]
    (asked,) = [each.body for name, each in world.owners.asked if name == subject]
    assert isinstance(asked, PublishDocuments)
    assert [each.restore for each in asked.documents] == [True, False]
