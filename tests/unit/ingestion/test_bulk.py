"""Many documents in one command: one append, each decided by itself, repeated without effect."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chancery.bus.publish import Outgoing, Published, WrongSequence
from chancery.events import authority
from chancery.events.codec import decode
from chancery.events.commands import AddMember, DeclareSource
from chancery.events.commands_bulk import (
    BulkDocument,
    CheckBulkUpload,
    DocumentsPublished,
    PublishDocuments,
)
from chancery.events.requests import Request
from chancery.ingestion.domain import access, knowledge
from chancery.ingestion.domain.bulk import BULK_PERMISSION
from chancery.ingestion.handlers.bulk import BulkPublisher
from chancery.ingestion.handlers.execution import Executor
from chancery.kernel.errors import Rejected, Unavailable
from tests.unit.ingestion.memory_log import MemoryLog
from tests.unit.ingestion.test_execution import ADMIN, KEY, WORKSPACE, begun, request

__all__ = ("KEY",)


class CountingLog(MemoryLog):
    """Counts the appends, and can lose the acknowledgement of the next one."""

    appends: int = 0
    loses: bool = False

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        """Append, and say that nothing is known when it is told to."""
        self.appends += 1
        published = await super().append(messages)
        if self.loses:
            self.loses = False
            message = "no acknowledgement"
            raise Unavailable(message)
        return published


def _document(name: str, content: str = "a", **more: str) -> BulkDocument:
    return BulkDocument.model_validate(
        {
            "source_id": name,
            "content_sha256": content * 64,
            "media_type": "text/plain",
            "size_bytes": 5,
            **more,
        }
    )


def _batch(*documents: BulkDocument, key: str = "b") -> Request[PublishDocuments]:
    return request(PublishDocuments(workspace_id="ws", documents=documents), key=key)


async def _desk(log: MemoryLog) -> Executor:
    executor = await begun(log)
    await executor.execute(access.CREATE_WORKSPACE, request(WORKSPACE))
    return executor


def _told(published: DocumentsPublished) -> list[tuple[str, int | None, bool]]:
    return [(one.source_id, one.revision, one.changed) for one in published.documents]


async def test_new_sources_are_declared_and_published_in_one_append() -> None:
    log = CountingLog()
    executor = await _desk(log)
    log.appends = 0

    published = await BulkPublisher(executor).publish(
        _batch(_document("one", title="The one"), _document("two", visibility="restricted"))
    )

    assert _told(published) == [("one", 1, True), ("two", 1, True)]
    assert [one.visibility for one in published.documents] == ["workspace", "restricted"]
    assert log.appends == 1
    declared = [decode(each.payload).data for each in log.messages[-4:]]
    assert isinstance(declared[0], authority.SourceDeclared)
    assert declared[0].title == "The one"


@pytest.mark.req("EV-6")
async def test_the_same_batch_sent_again_appends_nothing_and_tells_the_same() -> None:
    log = CountingLog()
    executor = await _desk(log)
    batch = _batch(_document("one"), _document("two", "b"))
    first = await BulkPublisher(executor).publish(batch)
    before = len(log.messages)

    repeated = await BulkPublisher(executor).publish(batch)
    unchanged = await BulkPublisher(executor).publish(
        _batch(_document("one"), _document("two", "b"), key="later")
    )

    assert repeated == first
    assert _told(unchanged) == [("one", 1, False), ("two", 1, False)]
    assert len(log.messages) == before


async def test_a_changed_document_among_unchanged_ones_is_the_only_revision() -> None:
    executor = await _desk(MemoryLog())
    publisher = BulkPublisher(executor)
    await publisher.publish(_batch(_document("one"), _document("two")))

    published = await publisher.publish(
        _batch(_document("one"), _document("two", "c"), key="later")
    )

    assert _told(published) == [("one", 1, False), ("two", 2, True)]


async def test_the_same_bytes_under_another_media_type_are_a_revision_and_not_unchanged() -> None:
    executor = await _desk(MemoryLog())
    publisher = BulkPublisher(executor)
    kinds = ["text/plain", "text/markdown", "Text/Markdown; charset=utf-8", "text/html"]

    told = [
        _told(await publisher.publish(_batch(_document("one", media_type=kind), key=kind)))[0]
        for kind in kinds
    ]

    assert told == [("one", 1, True), ("one", 2, True), ("one", 2, False), ("one", 3, True)]


@pytest.mark.req("EV-7")
async def test_a_document_that_is_refused_fails_alone() -> None:
    executor = await _desk(MemoryLog())
    await executor.execute(
        access.ADD_MEMBER,
        request(AddMember(workspace_id="ws", principal="ada", role="publisher"), key="m"),
    )
    private = DeclareSource(workspace_id="ws", source_id="two", title="T", visibility="restricted")
    await executor.execute(knowledge.DECLARE_SOURCE, request(private, key="d"))

    published = await BulkPublisher(executor).publish(
        _batch(_document("one"), _document("two", title="\u202e"), _document("bad", title="\u202e"))
    )

    assert _told(published)[:2] == [("one", 1, True), ("two", 1, True)]
    failure = published.documents[2].failure
    assert failure is not None
    assert failure.code == "unreadable_text"


@pytest.mark.req("EV-6")
async def test_a_lost_acknowledgement_is_settled_by_the_same_ids() -> None:
    log = CountingLog()
    executor = await _desk(log)
    log.loses = True

    published = await BulkPublisher(executor).publish(_batch(_document("one"), _document("two")))

    assert _told(published) == [("one", 1, True), ("two", 1, True)]
    assert len({each.message_id for each in log.messages}) == len(log.messages)


async def test_a_subject_that_moved_leaves_its_batch_to_single_appends() -> None:
    log = CountingLog()
    executor = await _desk(log)
    log.failures = [WrongSequence(last=9)]

    published = await BulkPublisher(executor).publish(_batch(_document("one"), _document("two")))

    assert _told(published) == [("one", 1, True), ("two", 1, True)]


async def test_a_source_named_twice_is_refused_by_its_place() -> None:
    executor = await _desk(MemoryLog())

    with pytest.raises(Rejected) as refused:
        await BulkPublisher(executor).publish(_batch(_document("one"), _document("one", "b")))

    assert (refused.value.code, refused.value.field) == ("source_repeated", "documents.1.source_id")


async def test_only_a_publisher_of_the_workspace_may_store_bytes_for_it() -> None:
    executor = await _desk(MemoryLog())
    allowed = request(CheckBulkUpload(workspace_id="ws"), key="q", caller=ADMIN)
    other = request(CheckBulkUpload(workspace_id="other"), key="q")

    outcome = await executor.execute(BULK_PERMISSION, allowed)
    with pytest.raises(Rejected):
        await executor.execute(BULK_PERMISSION, other)

    assert not outcome.changed
