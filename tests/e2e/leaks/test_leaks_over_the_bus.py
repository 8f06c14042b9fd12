"""A producer on the bus reaches with its login what its principal may do, and learns no more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from chancery.bus.connection import Connection
from chancery.client.http import Chancery
from chancery.events.intake import (
    MODELS,
    DatasetSubmitted,
    DocumentSubmitted,
    DraftSubmitted,
    FileDeletionSubmitted,
    FileSubmitted,
    IntakeAccepted,
    IntakeRejected,
    PublicationSubmitted,
    ResourceWithdrawalSubmitted,
    RevisionSubmitted,
    SnapshotSubmitted,
    SourceSubmitted,
    WithdrawalSubmitted,
)
from chancery.events.topology import intake_subject, outcome_subject
from chancery.kernel.canonical import sha256_hex
from chancery.testkit.producers import producer
from chancery.testkit.waiting import eventually
from tests.e2e.leaks.attempts import Ids, Sent
from tests.e2e.leaks.building import invite
from tests.e2e.leaks.people import Person, Scene
from tests.e2e.leaks.trying import marks_in, send
from tests.e2e.producing import TENANT, invited, submitted
from tests.e2e.running import System

NO_HASH = {"content_sha256": "0" * 64}
EVERYTHING = (
    ">",
    *(f"{first}.>" for first in ("intake", "intake-outcome", "told")),
    *("authority.>", "_INBOX.>"),
)
UPLOAD = b"The uploaded pump stands in the hall.\n"


def submissions(ids: Ids) -> list[tuple[str, dict[str, object]]]:
    """Return what a producer can submit about things that are there."""
    place: dict[str, object] = {"workspace_id": ids["ws"]}
    source = {**place, "source_id": ids["source"]}
    dataset = {**place, "dataset_id": ids["dataset"]}
    draft = {**place, "item_id": ids["item"], "draft_id": ids["draft"]}
    plain, csv = {"media_type": "text/plain"}, {"media_type": "text/csv"}
    return [
        (RevisionSubmitted.TYPE, {**source, **plain, "text": "Any text.\n"}),
        (RevisionSubmitted.TYPE, {**source, **plain, **NO_HASH}),
        (DocumentSubmitted.TYPE, {**source, **plain, "text": "Any text.\n"}),
        (SnapshotSubmitted.TYPE, {**dataset, **csv, "text": "a,b\n1,2\n"}),
        (SnapshotSubmitted.TYPE, {**dataset, **csv, "text": "a,b\n1,2\n", "mode": "append"}),
        (PublicationSubmitted.TYPE, {**draft, "content_sha256": "0" * 64}),
        (WithdrawalSubmitted.TYPE, source),
        *(
            (ResourceWithdrawalSubmitted.TYPE, {**place, "kind": kind, "resource_id": ids[kind]})
            for kind in ("source", "dataset", "item")
        ),
        (FileSubmitted.TYPE, {**plain, **NO_HASH}),
        (FileDeletionSubmitted.TYPE, {"file_id": ids["file"]}),
    ]


def makings(ids: Ids) -> list[tuple[str, dict[str, object]]]:
    """Return submissions that make what is not there; their sender learns that an id is taken."""
    named: dict[str, object] = {"workspace_id": ids["ws"], "title": "T"}
    draft = {"item_id": ids["item"], "draft_id": ids["draft"], "kind": "k", "domain": "d"}
    return [
        (SourceSubmitted.TYPE, {**named, "source_id": ids["source"]}),
        (DatasetSubmitted.TYPE, {**named, "dataset_id": ids["dataset"]}),
        (DraftSubmitted.TYPE, {**named, **draft, "text": "Any text.\n"}),
    ]


def test_every_type_of_submission_is_tried(scene: Scene) -> None:
    tried = {kind for kind, _ in (*submissions(scene.unknown), *makings(scene.unknown))}
    outcomes = {IntakeAccepted.TYPE, IntakeRejected.TYPE}

    assert tried == {model.TYPE for model in MODELS} - outcomes


@pytest.mark.req("KO-9", "CR-7")
async def test_a_submission_about_what_is_foreign_is_told_as_one_about_nothing(
    system: System, scene: Scene
) -> None:
    attacker = scene.named(12)
    marks = scene.foreign_marks(attacker)

    async with producer(await invited(system, attacker.name)) as client:
        for owner in (scene.named(number) for number in (11, 10, 16)):
            here = {"ws": owner.ids["ws"]} if owner.part.place == "hall" else {}
            missing = submissions({**scene.unknown, **here})
            foreign = await all_submitted(client, attacker, submissions(owner.ids))
            absent = await all_submitted(client, attacker, missing)
            told = [*foreign, *await all_submitted(client, attacker, makings(owner.ids))]

            assert [each["type"] for each in told] == [IntakeRejected.TYPE] * len(told)
            assert marks_in(json.dumps([verdict(each) for each in told]), marks) == []
            assert [verdict(each) for each in foreign] == [verdict(each) for each in absent]


async def all_submitted(
    client: Client, person: Person, events: Sequence[tuple[str, dict[str, object]]]
) -> list[dict[str, Any]]:
    """Submit one after the other and return what became of each."""
    return [await submitted(client, person.name, kind, data) for kind, data in events]


@pytest.mark.req("CR-7")
async def test_a_hash_gives_nobody_the_upload_of_another(
    system: System, operator: Chancery, scene: Scene, http: httpx.AsyncClient
) -> None:
    attacker, owner = scene.named(12), await invite(operator, scene, 21)
    desk = operator.acting_with(owner.token).workspace(owner.ids["ws"])
    await desk.declare_source(owner.ids["source"], "Uploads", visibility="private")
    headers = {"Content-Type": "application/octet-stream"}
    uploaded = await send(
        http, owner.token, "POST", "/v1/blobs", sent=Sent(content=UPLOAD, headers=headers)
    )
    assert uploaded.status == 201
    published = next(mark for mark in sorted(scene.named(11).marks) if len(mark) == 64)
    hashes = (sha256_hex(UPLOAD), published, "0" * 64)

    async with producer(await invited(system, attacker.name)) as client:
        told = [await published_as(client, attacker, sha256) for sha256 in hashes]
        kept = [await kept_as(client, attacker, sha256) for sha256 in hashes]
    async with producer(await invited(system, owner.name)) as client:
        mine = await published_as(client, owner, sha256_hex(UPLOAD))
        again = await send(
            http, owner.token, "POST", "/v1/blobs", sent=Sent(content=UPLOAD, headers=headers)
        )
        own = await kept_as(client, owner, sha256_hex(UPLOAD))

    for each in (told, kept):
        assert [verdict(one) for one in each] == [verdict(each[0])] * len(hashes)
        assert each[0]["data"]["code"] == "blob_not_found"
    assert again.status == 201
    assert mine["type"] == own["type"] == IntakeAccepted.TYPE


async def published_as(client: Client, person: Person, sha256: str) -> dict[str, Any]:
    """Submit a hash as the next revision of one's own source."""
    data = {
        "workspace_id": person.ids["ws"],
        "source_id": person.ids["source"],
        "media_type": "text/plain",
        "content_sha256": sha256,
    }
    return await submitted(client, person.name, RevisionSubmitted.TYPE, data)


async def kept_as(client: Client, person: Person, sha256: str) -> dict[str, Any]:
    """Submit a hash as a private file of one's own."""
    data = {"media_type": "text/plain", "content_sha256": sha256}
    return await submitted(client, person.name, FileSubmitted.TYPE, data)


def verdict(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what became of a submission, without its place on the stream."""
    return {name: each for name, each in told["data"].items() if name != "intake_sequence"}


@pytest.mark.req("CR-7", "CR-27")
async def test_a_producer_neither_sends_for_others_nor_hears_what_they_send(
    system: System, operator: Chancery, scene: Scene
) -> None:
    attacker, owner = scene.named(12), scene.named(11)
    heard: list[str] = []
    mine_heard: list[str] = []

    async def hear(message: Msg) -> None:
        heard.append(message.subject)

    async def hear_mine(message: Msg) -> None:
        mine_heard.append(message.data.decode())

    mine, theirs = await invited(system, attacker.name), await invited(system, owner.name)
    async with producer(mine) as client, producer(theirs) as victim:
        theirs_told = (outcome_subject(TENANT, name, "*") for name in (owner.name, "*"))
        for pattern in (*EVERYTHING, *theirs_told):
            await Connection(client).subscribe(pattern, hear)
        own = outcome_subject(TENANT, attacker.name, "*")
        await Connection(client).subscribe(own, hear_mine)
        await client.flush()
        stolen = {"workspace_id": owner.ids["ws"], "source_id": owner.ids["source"]}
        subject = intake_subject(TENANT, owner.name, WithdrawalSubmitted.TYPE)
        with pytest.raises(nats.errors.TimeoutError):
            await client.request(subject, json.dumps(stolen).encode(), timeout=0.5)
        letter = {"media_type": "text/plain", "text": f"The {owner.flavours['letter']} pump.\n"}
        file = await submitted(victim, owner.name, FileSubmitted.TYPE, letter)
        deletion = {"file_id": file["data"]["file_id"]}
        gone = await submitted(victim, owner.name, FileDeletionSubmitted.TYPE, deletion)
        title = {**stolen, "title": f"On {owner.flavours['title']}", "visibility": "restricted"}
        told = await submitted(victim, owner.name, SourceSubmitted.TYPE, title)
        # The control: the attacker does hear what becomes of its own submissions.
        await submitted(client, attacker.name, FileSubmitted.TYPE, letter)
        assert await eventually(lambda: bool(mine_heard))

    assert [each["type"] for each in (told, file, gone)] == [IntakeAccepted.TYPE] * 3
    assert heard == []
    assert len(mine_heard) == 1
    planted = {file["data"]["file_id"], file["id"], gone["id"], told["id"]}
    assert marks_in("".join(mine_heard), planted) == []
    desk = operator.acting_with(owner.token).workspace(owner.ids["ws"])
    assert (await desk.source(owner.ids["source"])).withdrawn is False
