"""Another service submits over the real bus, with its own NATS user and nothing but contracts/."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import nats.errors
import pytest
from nats.aio.msg import Msg

from chancery.bus.accounts import SERVICE_API_PREFIX
from chancery.bus.connection import Connection, connect
from chancery.bus.load import last_sequence, read_subject
from chancery.embedded.producers import Invitation, add_producer
from chancery.events.intake import (
    DatasetSubmitted,
    DraftSubmitted,
    PublicationSubmitted,
    ResourceWithdrawalSubmitted,
    RevisionSubmitted,
    SnapshotSubmitted,
    SourceSubmitted,
)
from chancery.events.topology import (
    AUTHORITY,
    INTAKE,
    OUTCOMES,
    STREAMS,
    intake_subject,
    outcome_subject,
)
from chancery.kernel.canonical import sha256_hex
from chancery.store.blobs import open_blobs, upload_place
from chancery.testkit.nats import NatsAccess
from chancery.testkit.producers import producer
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.integration.ingestion.submitting import (
    TENANT,
    event_of,
    outcome,
    submit,
    who_holds,
)

pytestmark = pytest.mark.integration

TEXT = "Reviews are owned by the platform team, says the edge."
ITEM = {"kind": "item", "resource_id": "i1"}


def source_event(event_id: str = "e1", **data: object) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": "/desk",
        "type": SourceSubmitted.TYPE,
        "data": {"workspace_id": "ws", "source_id": "s1", "title": "Handbook", **data},
    }


@pytest.mark.req("EV-9")
async def test_a_service_submits_with_its_own_user_and_reads_what_became_of_it(
    desk: Invitation, nats_access: NatsAccess, tmp_path: Path
) -> None:
    errors: list[str] = []
    async with producer(desk, errors) as client:
        heard: list[str] = []

        async def hear(message: Any) -> None:
            heard.append(message.subject)

        await Connection(client).subscribe(outcome_subject(TENANT, "desk", "*"), hear)
        await submit(client, source_event("e1"))
        revision = {
            "specversion": "1.0", "id": "e2", "source": "/desk", "type": RevisionSubmitted.TYPE,
        }  # fmt: skip
        data = {"workspace_id": "ws", "source_id": "s1", "media_type": "text/plain", "text": TEXT}
        await client.request(
            intake_subject(TENANT, "desk", RevisionSubmitted.TYPE),
            json.dumps(data).encode(),
            headers={f"ce-{name}": value for name, value in revision.items()},
            timeout=20,
        )
        first, second = await outcome(client, "e1"), await outcome(client, "e2")
        wrong = await submit(client, source_event("e3", title=7))
        third = await outcome(client, "e3")
        await eventually(lambda: len(heard) == 3)

    assert first["type"] == second["type"] == "chancery.intake.accepted.v1"
    assert second["data"]["revision"] == 1
    assert third["type"] == "chancery.intake.rejected.v1"
    assert third["data"]["field"] == "data.title"
    assert third["data"]["intake_sequence"] == wrong
    assert [path.read_bytes() for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == [
        TEXT.encode()
    ]
    assert await who_holds(nats_access, TEXT.encode()) == {INTAKE}
    assert errors == []


@pytest.mark.req("EV-9")
@pytest.mark.req("EV-14")
async def test_a_service_submits_a_dataset_and_an_item_to_their_end(
    desk: Invitation, nats_access: NatsAccess, tmp_path: Path
) -> None:
    blobs = open_blobs((tmp_path / "blobs").as_uri())
    table, more = b"customer,cost\nada,3\n", "customer,cost\nbob,4\n"
    foreign = await blobs.put_run(TENANT, upload_place("admin"), b"customer,cost\nzoe,9\n")
    own = await blobs.put_run(TENANT, upload_place("desk"), table)
    dataset = {"workspace_id": "ws", "dataset_id": "d1"}
    csv = {**dataset, "media_type": "text/csv"}
    draft = {"workspace_id": "ws", "item_id": "i1", "draft_id": "first"}
    words = {"title": "Costs", "kind": "note", "domain": "works", "text": "Ada costs three."}
    roots = {"evidence": [{"kind": "dataset", "id": "d1", "revision": 1}]}
    exact = {"content_sha256": sha256_hex(b"Ada costs three.")}
    sent = [
        event_of("k1", DatasetSubmitted.TYPE, {**dataset, "title": "Orders"}),
        event_of("k2", SnapshotSubmitted.TYPE, {**csv, "content_sha256": foreign}),
        event_of("k3", SnapshotSubmitted.TYPE, {**csv, "content_sha256": own}),
        event_of("k4", DraftSubmitted.TYPE, {**draft, **words, **roots}),
        event_of("k5", PublicationSubmitted.TYPE, {**draft, **exact}),
        event_of("k6", PublicationSubmitted.TYPE, {**draft, **exact, **roots}),
        event_of("k7", SnapshotSubmitted.TYPE, {**csv, "text": more, "mode": "append"}),
        event_of("k8", ResourceWithdrawalSubmitted.TYPE, {"workspace_id": "ws", **ITEM}),
    ]
    async with producer(desk) as client, connect(nats_access.url, name="tests") as admin:
        for event in sent:
            await submit(client, event)
        told = {event["id"]: (await outcome(client, event["id"]))["data"] for event in sent}
        position = (await last_sequence(admin, AUTHORITY)).last
        for event in sent:
            await submit(client, event)
        await submit(client, event_of("end", DatasetSubmitted.TYPE, {}))
        await outcome(client, "end")
        again = (await last_sequence(admin, AUTHORITY)).last

    refused = {name: (each["code"], each["field"]) for name, each in told.items() if "code" in each}
    assert refused == {
        "k2": ("blob_not_found", "data.content_sha256"),
        "k5": ("draft_changed", "data.evidence"),
    }
    assert [told[name]["revision"] for name in ("k3", "k6", "k7")] == [1, 1, 2]
    joined = await blobs.get(TENANT, told["k7"]["content_sha256"], limit=1000)
    assert joined == table + b"bob,4\n"
    assert told["k6"]["evidence_sha256"] == told["k4"]["evidence_sha256"]
    assert again == position


def foreign_subjects() -> list[str]:
    """Return subjects that no producer may reach."""
    direct = f"{SERVICE_API_PREFIX}.DIRECT.GET.{OUTCOMES}"
    return [
        intake_subject("other", "desk", SourceSubmitted.TYPE),
        intake_subject(TENANT, "admin", SourceSubmitted.TYPE),
        "authority.default.source.s1",
        "cut.default",
        "fence",
        "command.ingestion.create-workspace.v1",
        outcome_subject(TENANT, "desk", "e1"),
        outcome_subject(TENANT, "admin", "e1"),
        f"{direct}.{outcome_subject('other', 'desk', 'e1')}",
        f"{direct}.{outcome_subject(TENANT, 'admin', 'e1')}",
        f"{direct}.{outcome_subject(TENANT, '*', '*')}",
        f"{SERVICE_API_PREFIX}.STREAM.MSG.GET.{INTAKE}",
        f"$JS.API.STREAM.MSG.GET.{INTAKE}",
        f"$JS.API.STREAM.PURGE.{INTAKE}",
    ]


@pytest.mark.req("EV-9")
async def test_a_producer_reaches_no_other_prefix_inbox_or_outcome(
    desk: Invitation, nats_access: NatsAccess
) -> None:
    errors: list[str] = []
    overheard: list[str] = []

    async def overhear(message: Msg) -> None:
        overheard.append(message.subject)

    foreign = foreign_subjects()
    async with (
        connect(nats_access.url, name="tests") as admin,
        producer(desk, errors) as client,
    ):
        before = {each.name: (await last_sequence(admin, each.name)).last for each in STREAMS}
        for subject in foreign:
            await client.publish(subject, b"{}")
        others = (outcome_subject("other", "desk", "*"), outcome_subject(TENANT, "*", "*"))
        for pattern in ("_INBOX.>", *others, ">"):
            await Connection(client).subscribe(pattern, overhear)
        own = intake_subject(TENANT, "desk", SourceSubmitted.TYPE)
        for target in foreign:
            await client.publish(own, b"{}", reply=target)
        await client.flush()
        with pytest.raises(nats.errors.TimeoutError):
            await client.request(foreign[0], b"{}", timeout=0.2)
        count = before[INTAKE] + len(foreign)

        async def settled() -> bool:
            told = (await last_sequence(admin, OUTCOMES)).last
            return told == before[OUTCOMES] + len(foreign)

        assert await eventually(settled)
        after = {each.name: (await last_sequence(admin, each.name)).last for each in STREAMS}
        subjects = {each.subject async for each in read_subject(admin, INTAKE, ">")}

    assert overheard == []
    assert subjects == {own}
    assert after == {**before, INTAKE: count, OUTCOMES: before[OUTCOMES] + len(foreign)}
    assert await eventually(lambda: len(errors) >= len(foreign) + 4)
    assert all("permissions violation" in error for error in errors)


@pytest.mark.req("EV-9")
async def test_another_workspace_or_tenant_is_a_visible_rejection(
    desk: Invitation, nats_access: NatsAccess
) -> None:
    async with producer(desk) as client, connect(nats_access.url, name="tests") as admin:
        before = (await last_sequence(admin, AUTHORITY)).last
        await submit(client, source_event("w1", workspace_id="elsewhere"))
        await submit(client, {**source_event("w2"), "tenant": "other"})
        first, second = await outcome(client, "w1"), await outcome(client, "w2")
        after = (await last_sequence(admin, AUTHORITY)).last

    assert (first["data"]["code"], first["data"]["field"]) == ("not_found", "data.workspace_id")
    assert (second["data"]["code"], second["data"]["field"]) == ("foreign_tenant", "tenant")
    assert after == before


@pytest.mark.req("EV-9", "CR-11")
async def test_a_date_that_is_no_day_of_the_calendar_is_refused(
    desk: Invitation, nats_access: NatsAccess
) -> None:
    async with producer(desk) as client, connect(nats_access.url, name="tests") as admin:
        before = (await last_sequence(admin, AUTHORITY)).last
        for number, day in enumerate(
            ("202\N{FULLWIDTH DIGIT FOUR}-01-01", "2024-02-31", "0000-00-00")
        ):
            await submit(client, source_event(f"n{number}", date=day))
        told = [await outcome(client, f"n{number}") for number in range(3)]
        after = (await last_sequence(admin, AUTHORITY)).last
        await submit(client, source_event("n9", date="2024-02-29"))
        taken = await outcome(client, "n9")

    assert [each["data"].get("field") for each in told] == ["data.date"] * 3
    assert after == before
    assert taken["type"] == "chancery.intake.accepted.v1"


@pytest.mark.req("EV-9")
async def test_a_submission_sent_again_is_applied_once(
    desk: Invitation, nats_access: NatsAccess
) -> None:
    async with producer(desk) as client, connect(nats_access.url, name="tests") as admin:
        await submit(client, source_event("r1"))
        first = await outcome(client, "r1")
        position = (await last_sequence(admin, AUTHORITY)).last
        await submit(client, source_event("r1"))
        await submit(client, source_event("r2", title=""))
        await outcome(client, "r2")

        assert await outcome(client, "r1") == first
        assert (await last_sequence(admin, AUTHORITY)).last == position


async def test_adding_a_producer_again_ends_the_login_before(
    desk: Invitation, nats_folder: Path
) -> None:
    again = await add_producer(nats_folder, run=nats_folder, tenant=TENANT, principal="desk")

    async with producer(again) as client:
        assert client.is_connected
    with pytest.raises(nats.errors.Error, match="Authorization"):
        async with asyncio.timeout(WITHIN_S), producer(desk):
            pass
    assert desk.url not in repr(desk)
    assert (nats_folder / "users.json").stat().st_mode & 0o777 == 0o600
