"""Corpora and private files on a real log."""

from __future__ import annotations

import pytest

from chancery.authority.errors import NotPermitted
from chancery.authority.names import corpus_ref, file_ref
from chancery.events.authority_knowledge import CorpusDeclared
from chancery.events.codec import decode
from chancery.events.commands import CheckUpload, DeclareCorpus, DeleteFile, UploadFile
from chancery.evidence.corpus_text import parse_line
from chancery.ingestion.adapters.log import AuthorityLog
from chancery.ingestion.domain import curated, knowledge
from chancery.kernel.errors import Conflict, NotFound, Rejected
from tests.integration.ingestion.bodies import LossyLog, declare
from tests.integration.ingestion.curation import member
from tests.integration.ingestion.harness import Desk, new_executor, open_desk

pytestmark = pytest.mark.integration

LINE = (
    "corpus Handbook model=Revision scope=parent.parent title=title"
    " content=body,attachments where=live(row) from=deployment.knowledge"
)
CORPUS = DeclareCorpus(
    workspace_id="ws",
    corpus_id="Handbook",
    model="Revision",
    scope="parent.parent",
    title="title",
    content=("body", "attachments"),
    where="live(row)",
    binding="deployment.knowledge",
)
UPLOAD = UploadFile(
    file_id="file-1",
    title="Minutes",
    content_sha256="a" * 64,
    media_type="text/plain",
    size_bytes=5,
)
DELETE = DeleteFile(file_id="file-1")
FILE = file_ref("file-1").subject("default")


@pytest.mark.req("CL-5")
async def test_a_declaration_is_pinned_by_the_hash_that_its_text_has(
    provisioned_nats_url: str,
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        first = await desk.send(curated.DECLARE_CORPUS, CORPUS)
        same = await desk.send(curated.DECLARE_CORPUS, CORPUS)
        changed = CORPUS.model_copy(update={"where": "dated(row)"})
        second = await desk.send(curated.DECLARE_CORPUS, changed)

        stored = await desk.stored(corpus_ref("ws", "Handbook").subject("default"))
        declared = [decode(each.payload).data for each in stored]
        assert [each.changed for each in (first, same, second)] == [True, False, True]
        assert isinstance(declared[0], CorpusDeclared)
        assert declared[0].declaration_sha256 == parse_line(LINE).sha256
        assert len(declared) == 2


@pytest.mark.req("CL-5")
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"model": "Topic"}, "model"),
        ({"scope": "parent.successor"}, "scope"),
        ({"title": "body"}, "title"),
        ({"content": ("body", "body")}, "content"),
        ({"where": "recent(row)"}, "where"),
        ({"binding": "elsewhere"}, "from"),
    ],
)
async def test_a_declaration_that_says_nothing_answerable_is_refused_by_attribute(
    provisioned_nats_url: str, wrong: dict[str, object], field: str
) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        before = await desk.position()

        with pytest.raises(Rejected) as refused:
            await desk.send(curated.DECLARE_CORPUS, CORPUS.model_copy(update=wrong))

        assert refused.value.field == field
        assert await desk.position() == before


@pytest.mark.req("CL-5", "KO-9")
async def test_a_corpus_is_declared_by_publishers(provisioned_nats_url: str) -> None:
    wrong = CORPUS.model_copy(update={"model": "Topic"})
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        cora = await member(desk, "cora", "curator")
        elsewhere = CORPUS.model_copy(update={"workspace_id": "other"})

        for body in (CORPUS, wrong):
            with pytest.raises(NotPermitted):
                await desk.send(curated.DECLARE_CORPUS, body, caller=cora)
        with pytest.raises(NotFound):
            await desk.send(curated.DECLARE_CORPUS, elsewhere, caller=cora)


@pytest.mark.req("KO-9", "EV-14")
async def test_a_file_is_its_uploaders_alone_and_deleted_for_good(
    provisioned_nats_url: str,
) -> None:
    question = CheckUpload(workspace_id="nowhere", kind="file", resource_id="file-1")
    async with open_desk(provisioned_nats_url) as desk:
        await declare(desk)
        rita = await member(desk, "rita", "reader")
        await desk.send(knowledge.UPLOAD_PERMISSION, question, caller=rita)
        first = await desk.send(curated.UPLOAD_FILE, UPLOAD, caller=rita, key="u")
        repeated = await desk.restarted().send(curated.UPLOAD_FILE, UPLOAD, caller=rita, key="u")
        same = await desk.send(curated.UPLOAD_FILE, UPLOAD, caller=rita)
        other = UPLOAD.model_copy(update={"content_sha256": "b" * 64})
        with pytest.raises(Conflict) as taken:
            await desk.send(curated.UPLOAD_FILE, other, caller=rita)
        unseen: set[tuple[str, str]] = set()
        for name in ("file-1", "file-2"):
            with pytest.raises(NotFound) as refused:
                await desk.send(curated.DELETE_FILE, DeleteFile(file_id=name))
            unseen.add((refused.value.code, refused.value.detail))
        with pytest.raises(NotFound):
            await desk.send(curated.UPLOAD_FILE, UPLOAD)
        deleted = await desk.send(curated.DELETE_FILE, DELETE, caller=rita)
        again = await desk.send(curated.DELETE_FILE, DELETE, caller=rita)
        with pytest.raises(Conflict):
            await desk.send(curated.UPLOAD_FILE, UPLOAD, caller=rita)

        assert repeated == first
        assert [each.changed for each in (first, same, deleted, again)] == [
            True,
            False,
            True,
            False,
        ]
        assert taken.value.code == "file_exists"
        assert len(unseen) == 1
        assert len(await desk.stored(FILE)) == 2


async def test_a_lost_acknowledgement_uploads_one_file(provisioned_nats_url: str) -> None:
    async with open_desk(provisioned_nats_url) as desk:
        lossy = LossyLog(AuthorityLog(desk.connection), 1)
        other = Desk(desk.connection, new_executor(lossy))

        told = await other.send(curated.UPLOAD_FILE, UPLOAD)

        assert told.changed
        assert len(await desk.stored(FILE)) == 1
