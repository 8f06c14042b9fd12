"""Private files over the bus: kept for their sender, told to it alone, deleted by it alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chancery.events.authority_knowledge import FileDeleted, FileUploaded
from chancery.events.intake import (
    FileDeletionSubmitted,
    FileSubmitted,
    IntakeRejected,
    RevisionSubmitted,
    SourceSubmitted,
)
from chancery.events.topology import outcome_subject
from chancery.extract.media import DOCX, PNG
from chancery.ingestion.adapters.outcomes import subject_of
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Unavailable
from chancery.store.blobs import blob_key, upload_place
from tests.unit.ingestion.moments import NOW
from tests.unit.ingestion.producing import Edge, opened
from tests.unit.ingestion.test_submitted_kinds import FILE, PDF, SOURCE, accepted, refusal

BYTES = str(FILE["text"]).encode()
READING = ("default", "reading")


@pytest.fixture
async def edge() -> Edge:
    return await opened()


async def kept(edge: Edge, event_id: str = "e1") -> str:
    """Submit the file as the desk and return its id."""
    told = accepted(await edge.send(FileSubmitted.TYPE, FILE, event_id=event_id))
    assert told.file_id is not None
    return told.file_id


@pytest.mark.req("EV-9", "KO-9")
async def test_a_file_is_its_senders_and_its_outcome_names_it(edge: Edge) -> None:
    outcome = await edge.send(FileSubmitted.TYPE, FILE)

    told = accepted(outcome)
    assert told.file_id is not None
    assert (told.content_sha256, told.changed) == (sha256_hex(BYTES), True)
    assert edge.appended() == [
        FileUploaded(
            file_id=told.file_id,
            owner="desk",
            title="Minutes",
            content_sha256=sha256_hex(BYTES),
            media_type="text/plain",
            size_bytes=len(BYTES),
        )
    ]
    assert await edge.blobs.get("default", sha256_hex(BYTES), limit=100) == BYTES


@pytest.mark.req("EV-9")
async def test_who_is_in_no_workspace_keeps_a_file_and_an_untitled_one_is_called_as_over_http(
    edge: Edge,
) -> None:
    bare = {name: value for name, value in FILE.items() if name != "title"}

    accepted(await edge.send(FileSubmitted.TYPE, bare, sender=READING))
    unknown = await edge.send(FileSubmitted.TYPE, bare, sender=("default", "nobody"))

    (uploaded,) = edge.appended()
    assert isinstance(uploaded, FileUploaded)
    assert (uploaded.owner, uploaded.title) == ("reading", "file")
    assert refusal(unknown)[0] == "unknown_principal"


@pytest.mark.req("EV-9", "EV-14")
async def test_a_submission_that_comes_again_keeps_one_file(edge: Edge) -> None:
    edge.outcomes.failures = 1
    with pytest.raises(Unavailable):
        await edge.send(FileSubmitted.TYPE, FILE)
    first = await kept(edge)
    again = await kept(edge)
    edge.outcomes.told.clear()  # Forgotten after seven days.
    later = await kept(edge)
    other = await edge.send(FileSubmitted.TYPE, {**FILE, "title": "Other"})

    assert first == again == later
    assert len(edge.appended()) == 1
    assert refusal(other) == ("idempotency_key_reused", "id")


@pytest.mark.req("EV-9")
async def test_an_id_of_a_file_and_of_another_submission_is_one_sender_s_one_id(
    edge: Edge,
) -> None:
    await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="e1")
    await kept(edge, "e2")

    assert refusal(await edge.send(FileSubmitted.TYPE, FILE, event_id="e1"))[1] == "id"
    assert refusal(await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="e2"))[1] == "id"
    theirs = accepted(await edge.send(FileSubmitted.TYPE, FILE, event_id="e2", sender=READING))
    assert theirs.file_id not in {None, accepted(edge.outcomes.told[1]).file_id}


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("wrong", "code", "field"),
    [
        ({"media_type": "application/zip"}, "unsupported_media_type", "media_type"),
        ({"media_type": "text/csv"}, "unsupported_media_type", "media_type"),
        ({"media_type": DOCX}, "invalid_submission", "text"),
        ({"text": " \n"}, "empty_content", "text"),
        ({"text": "\ufeff"}, "empty_content", "text"),
        ({"text": "a\x00b"}, "nul_byte", "text"),
        ({"text": None}, "invalid_submission", "text"),
        ({"text": "a" * (128 * 1024 + 1)}, "invalid_submission", "text"),
        ({"content_sha256": "0" * 64}, "invalid_submission", "text"),
        ({"text": None, "content_sha256": "0" * 64}, "blob_not_found", "content_sha256"),
        ({"title": "two\nlines"}, "invalid_submission", "title"),
        ({"title": ""}, "invalid_submission", "title"),
        ({"owner": "reading"}, "invalid_submission", "owner"),
        ({"workspace_id": "ws"}, "invalid_submission", "workspace_id"),
    ],
)
async def test_a_mistake_is_named_by_its_field_and_nothing_is_kept(
    edge: Edge, wrong: Mapping[str, Any], code: str, field: str
) -> None:
    told = await edge.send(FileSubmitted.TYPE, {**FILE, **wrong})

    assert refusal(told) == (code, f"data.{field}")
    assert edge.appended() == []
    assert edge.blobs.stored == {}


@pytest.mark.req("EV-9", "CR-7")
async def test_an_upload_is_kept_by_who_uploaded_it_alone(edge: Edge) -> None:
    sha256 = await edge.blobs.put_run("default", upload_place("reading"), PDF)
    named = {"media_type": "application/pdf", "content_sha256": sha256}

    foreign = await edge.send(FileSubmitted.TYPE, named, event_id="e1")
    nothing = await edge.send(
        FileSubmitted.TYPE, {**named, "content_sha256": "0" * 64}, event_id="e2"
    )
    await edge.blobs.put_run("default", upload_place("desk"), PDF)
    taken = accepted(await edge.send(FileSubmitted.TYPE, named, event_id="e3"))

    assert refusal(foreign) == refusal(nothing) == ("blob_not_found", "data.content_sha256")
    assert taken.content_sha256 == sha256
    assert not await edge.blobs.exists("default", sha256, run=upload_place("desk"))
    assert await edge.blobs.exists("default", sha256, run=upload_place("reading"))


@pytest.mark.req("EV-9")
async def test_an_upload_that_was_made_again_after_a_submission_serves_the_next_one(
    edge: Edge,
) -> None:
    place = upload_place("desk")
    sha256 = await edge.blobs.put_run("default", place, PDF)
    named = {"media_type": "application/pdf", "content_sha256": sha256}
    edge.blobs.stored_at[blob_key("default", sha256, place)] = NOW

    first = await edge.send(FileSubmitted.TYPE, named, event_id="e1")
    second = await edge.send(FileSubmitted.TYPE, named, event_id="e2")
    edge.blobs.stored_at.clear()
    third = await edge.send(FileSubmitted.TYPE, named, event_id="e3")
    fourth = await edge.send(FileSubmitted.TYPE, named, event_id="e4")

    assert len({accepted(each).file_id for each in (first, second, third)}) == 3
    assert refusal(fourth)[0] == "blob_not_found"


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("content", "code", "field"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"x" * 1024 * 1024, "too_large", "content_sha256"),
        (b"no picture", "wrong_media_type", "content_sha256"),
    ],
)
async def test_an_upload_that_is_no_document_or_too_large_is_refused(
    edge: Edge, content: bytes, code: str, field: str
) -> None:
    sha256 = await edge.blobs.put_run("default", upload_place("desk"), content)

    told = await edge.send(FileSubmitted.TYPE, {"media_type": PNG, "content_sha256": sha256})

    assert refusal(told) == (code, f"data.{field}")
    assert edge.appended() == []


@pytest.mark.req("EV-9", "KO-9")
async def test_a_file_is_deleted_by_its_sender_alone_and_once(edge: Edge) -> None:
    file_id = await kept(edge)
    deletion = {"file_id": file_id}

    foreign = await edge.send(FileDeletionSubmitted.TYPE, deletion, event_id="d1", sender=READING)
    missing = await edge.send(
        FileDeletionSubmitted.TYPE, {"file_id": "none"}, event_id="d2", sender=READING
    )
    before = edge.appended()
    gone = accepted(await edge.send(FileDeletionSubmitted.TYPE, deletion, event_id="d3"))
    again = accepted(await edge.send(FileDeletionSubmitted.TYPE, deletion, event_id="d4"))

    assert isinstance(foreign.data, IntakeRejected)
    assert isinstance(missing.data, IntakeRejected)
    assert refusal(foreign) == ("not_found", "data.file_id")
    assert foreign.data.model_copy(update={"intake_sequence": 0}) == missing.data.model_copy(
        update={"intake_sequence": 0}
    )
    assert len(before) == 1
    assert edge.appended() == [*before, FileDeleted()]
    assert [(each.file_id, each.changed) for each in (gone, again)] == [
        (file_id, True),
        (file_id, False),
    ]


@pytest.mark.req("EV-9")
async def test_a_file_that_was_deleted_does_not_come_back_with_its_submission(edge: Edge) -> None:
    file_id = await kept(edge)
    await edge.send(FileDeletionSubmitted.TYPE, {"file_id": file_id}, event_id="d1")
    edge.outcomes.told.clear()

    assert await kept(edge) == file_id
    assert [type(each) for each in edge.appended()] == [FileUploaded, FileDeleted]
    assert await kept(edge, "e2") != file_id


@pytest.mark.req("EV-9", "CR-27")
async def test_what_became_of_a_submission_is_told_to_its_sender_alone(edge: Edge) -> None:
    deletion = {"file_id": "none"}

    told = [
        await edge.send(FileSubmitted.TYPE, FILE),
        await edge.send(FileDeletionSubmitted.TYPE, deletion),
        await edge.send(RevisionSubmitted.TYPE, {"source_id": "s1"}),
    ]
    other = await edge.send(SourceSubmitted.TYPE, SOURCE, sender=READING)

    assert {subject_of(each) for each in told} == {outcome_subject("default", "desk", "e1")}
    assert subject_of(other) == outcome_subject("default", "reading", "e1")
