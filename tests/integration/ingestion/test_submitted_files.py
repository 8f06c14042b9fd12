"""Private files over the real bus: their sender is told of them, and no other producer is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from chancery.bus.connection import Connection, connect
from chancery.bus.load import last_sequence, read_subject
from chancery.embedded.producers import Invitation
from chancery.events.authority_knowledge import FileDeleted, FileUploaded
from chancery.events.codec import decode
from chancery.events.envelope import EventData
from chancery.events.intake import (
    FileDeletionSubmitted,
    FileSubmitted,
    IntakeAccepted,
    IntakeRejected,
    RevisionSubmitted,
    SourceSubmitted,
)
from chancery.events.topology import (
    AUTHORITY,
    INTAKE,
    authority_subject,
    intake_subject,
    outcome_subject,
)
from chancery.kernel.canonical import sha256_hex
from chancery.store.blobs import Blobs, open_blobs, upload_place
from chancery.testkit.nats import NatsAccess
from chancery.testkit.producers import producer
from chancery.testkit.waiting import eventually
from tests.integration.ingestion.submitting import (
    ASKED,
    TENANT,
    event_of,
    outcome,
    submit,
    who_holds,
)

pytestmark = pytest.mark.integration

TEXT = "The board meets on the second Tuesday."
FILE = {"title": "Minutes", "media_type": "text/plain", "text": TEXT}
SOURCE = {"workspace_id": "ws", "source_id": "s1", "title": "Handbook"}
PRIVATE_SOURCE = {**SOURCE, "source_id": "p1", "visibility": "private"}
SAID = "no"
SAID_SHA256 = sha256_hex(SAID.encode())
REVISION = {"workspace_id": "ws", "source_id": "p1", "media_type": "text/plain", "text": SAID}


async def files_on_the_log(access: NatsAccess, file_id: str) -> list[EventData]:
    """Return what the log says of a file, in order."""
    subject = authority_subject(TENANT, "file", file_id)
    async with connect(access.url, name="tests") as admin:
        stored = [each async for each in read_subject(admin, AUTHORITY, subject)]
    return [decode(each.payload).data for each in stored]


async def submit_binary(client: Client, event: dict[str, Any]) -> None:
    """Publish with the attributes as headers and the data as the body."""
    await client.request(
        intake_subject(TENANT, "desk", event["type"]),
        json.dumps(event["data"]).encode(),
        headers={f"ce-{name}": event[name] for name in event if name != "data"},
        timeout=20,
    )


@pytest.mark.req("EV-9", "KO-9")
async def test_a_service_keeps_and_deletes_a_file_of_its_own_in_both_modes(
    desk: Invitation, nats_access: NatsAccess, tmp_path: Path
) -> None:
    heard: list[str] = []

    async def hear(message: Msg) -> None:
        heard.append(message.subject)

    blobs = open_blobs((tmp_path / "blobs").as_uri())
    picture = b"\x89PNG\r\n\x1a\n and more"
    uploaded = await blobs.put_run(TENANT, upload_place("desk"), picture)
    foreign = await blobs.put_run(TENANT, upload_place("admin"), b"%PDF-1.4 text %%EOF")
    by_hash = {"media_type": "image/png", "content_sha256": uploaded}
    stolen = {"media_type": "application/pdf", "content_sha256": foreign}
    async with producer(desk) as client:
        await Connection(client).subscribe(outcome_subject(TENANT, "desk", "*"), hear)
        await submit(client, event_of("f1", FileSubmitted.TYPE, FILE))
        await submit_binary(client, event_of("f2", FileSubmitted.TYPE, by_hash))
        await submit(client, event_of("f3", FileSubmitted.TYPE, stolen))
        first, second, third = [await outcome(client, f"f{n}") for n in (1, 2, 3)]
        gone = {"file_id": first["data"]["file_id"]}
        await submit_binary(client, event_of("f4", FileDeletionSubmitted.TYPE, gone))
        fourth = await outcome(client, "f4")
        assert await eventually(lambda: len(heard) == 4)

    assert [each["type"] for each in (first, second, fourth)] == [IntakeAccepted.TYPE] * 3
    assert first["data"]["content_sha256"] == sha256_hex(TEXT.encode())
    assert (third["data"]["code"], third["data"]["field"]) == (
        "blob_not_found",
        "data.content_sha256",
    )
    assert fourth["data"]["file_id"] == first["data"]["file_id"]
    uploaded_event, deleted = await files_on_the_log(nats_access, first["data"]["file_id"])
    assert isinstance(uploaded_event, FileUploaded)
    assert (uploaded_event.owner, uploaded_event.title) == ("desk", "Minutes")
    assert isinstance(deleted, FileDeleted)
    (other,) = await files_on_the_log(nats_access, second["data"]["file_id"])
    assert isinstance(other, FileUploaded)
    assert (other.content_sha256, other.title) == (uploaded, "file")
    assert await who_holds(nats_access, TEXT.encode()) == {INTAKE}


@pytest.mark.req("EV-9", "EV-14")
async def test_a_file_that_is_submitted_again_is_one_file(
    desk: Invitation, nats_access: NatsAccess
) -> None:
    async with producer(desk) as client, connect(nats_access.url, name="tests") as admin:
        await submit(client, event_of("r1", FileSubmitted.TYPE, FILE))
        first = await outcome(client, "r1")
        position = (await last_sequence(admin, AUTHORITY)).last
        await submit(client, event_of("r1", FileSubmitted.TYPE, FILE))
        await submit(client, event_of("r2", FileDeletionSubmitted.TYPE, {}))
        await outcome(client, "r2")

        assert await outcome(client, "r1") == first
        assert (await last_sequence(admin, AUTHORITY)).last == position
        # The same id names nothing else.
        other = await submit(client, event_of("r1", SourceSubmitted.TYPE, SOURCE))
        assert (await outcome(client, "r1", of=other))["data"]["field"] == "id"


@pytest.mark.req("EV-9")
async def test_bytes_that_are_uploaded_again_serve_a_second_submission(
    desk: Invitation, tmp_path: Path
) -> None:
    blobs, place = open_blobs((tmp_path / "blobs").as_uri()), upload_place("desk")
    numbers, content = range(6), b"%PDF-1.4 text %%EOF"
    async with producer(desk) as client:
        for number in numbers:
            sha256 = await blobs.put_run(TENANT, place, content)
            named = {"media_type": "application/pdf", "content_sha256": sha256}
            await submit(client, event_of(f"u{number}", FileSubmitted.TYPE, named))
        told = [await outcome(client, f"u{number}") for number in numbers]

    assert [each["type"] for each in told] == [IntakeAccepted.TYPE] * len(numbers)
    assert await eventually(lambda: forgotten(blobs, sha256_hex(content)))


async def forgotten(blobs: Blobs, sha256: str) -> bool:
    return not await blobs.exists(TENANT, sha256, run=upload_place("desk"))


def prying() -> list[str]:
    """Return requests of the clerk for what became of the desk's submissions."""
    own = [
        outcome_subject(TENANT, principal, event_id)
        for principal in ("desk", "*")
        for event_id in ("f1", "*", ">")
    ]
    wide = [outcome_subject(TENANT, "clerk", each) for each in (">", "*", "f1")]
    above = outcome_subject(TENANT, ">", "").removesuffix(".")
    return [f"{ASKED}.{each}" for each in (*own, *wide, above)] + [ASKED]


@pytest.mark.req("EV-9", "CR-27")
async def test_another_producer_is_told_of_a_file_or_a_private_source_as_of_none(
    desk: Invitation, clerk: Invitation, nats_access: NatsAccess
) -> None:
    found: list[str] = []

    async def find(message: Msg) -> None:
        found.append(message.data.decode())

    async with producer(desk) as client, producer(clerk) as other:
        bus = Connection(other)
        own = outcome_subject(TENANT, "desk", "*")
        for pattern in (own, outcome_subject(TENANT, "*", "*"), ">"):
            await bus.subscribe(pattern, find)
        await bus.subscribe(outcome_subject(TENANT, "clerk", "*"), find)
        await bus.subscribe(f"{clerk.inbox_prefix}.prying", find)
        await other.flush()
        await submit(client, event_of("f1", FileSubmitted.TYPE, FILE))
        file_id = (await outcome(client, "f1"))["data"]["file_id"]
        await submit(client, event_of("p1", SourceSubmitted.TYPE, PRIVATE_SOURCE))
        await submit(client, event_of("p2", RevisionSubmitted.TYPE, REVISION))
        assert (await outcome(client, "p2"))["data"]["content_sha256"] == SAID_SHA256
        for subject in prying():
            for payload in (b"", json.dumps({"last_by_subj": own}).encode()):
                await other.publish(subject, payload, reply=f"{clerk.inbox_prefix}.prying")
        for event_id, named in (("d1", file_id), ("d2", "no-such-file")):
            deletion = event_of(event_id, FileDeletionSubmitted.TYPE, {"file_id": named})
            await submit(other, deletion, "clerk")
        foreign, missing = [await outcome(other, each, "clerk") for each in ("d1", "d2")]
        # The control: what the clerk itself is told is found in both ways.
        await submit(other, event_of("s1", SourceSubmitted.TYPE, SOURCE), "clerk")
        await outcome(other, "s1", "clerk")
        mine = f"{ASKED}.{outcome_subject(TENANT, 'clerk', '>')}"
        await other.publish(mine, b"", reply=f"{clerk.inbox_prefix}.prying")
        await eventually(lambda: sum('"s1"' in each for each in found) >= 2)
        kept = await files_on_the_log(nats_access, file_id)

    ids = ('"f1"', '"p1"', '"p2"', file_id)
    secrets = (*ids, sha256_hex(TEXT.encode()), SAID_SHA256, "file-submitted", "revision-submitted")
    assert [secret for secret in secrets if secret in "".join(found)] == []
    assert foreign["type"] == IntakeRejected.TYPE
    assert (foreign["data"]["code"], foreign["data"]["field"]) == ("not_found", "data.file_id")
    assert {**foreign["data"], "intake_sequence": 0} == {**missing["data"], "intake_sequence": 0}
    assert [type(each) for each in kept] == [FileUploaded]
