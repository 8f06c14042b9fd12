"""Another service submits over the real bus, with its own NATS user and nothing but contracts/."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from chancery.bus.accounts import SERVICE_API_PREFIX
from chancery.bus.connection import Connection, connect
from chancery.bus.load import last_sequence, read_subject
from chancery.bus.request import ask
from chancery.embedded.producers import Invitation, add_producer
from chancery.events import commands
from chancery.events.intake import (
    DatasetSubmitted,
    DraftSubmitted,
    PublicationSubmitted,
    ResourceWithdrawalSubmitted,
    RevisionSubmitted,
    SnapshotSubmitted,
    SourceSubmitted,
)
from chancery.events.requests import Message, Request
from chancery.events.topology import (
    AUTHORITY,
    INTAKE,
    OUTCOMES,
    STREAMS,
    command_subject,
    intake_subject,
    outcome_subject,
)
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import random_id
from chancery.store.blobs import open_blobs, upload_place
from chancery.testkit.nats import NatsAccess
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.integration.ingestion.harness import ADMIN, TOKEN_KEY

pytestmark = pytest.mark.integration

TENANT = "default"
TEXT = "Reviews are owned by the platform team, says the edge."
ITEM = {"kind": "item", "resource_id": "i1"}


@pytest.fixture
def ingestion(nats_access: NatsAccess, tmp_path: Path) -> Generator[None]:
    """Run ingestion as a process with its own login."""
    environment = {
        **os.environ,
        "CHANCERY_NATS_URL": nats_access.service_urls["ingestion"],
        "CHANCERY_NATS_API_PREFIX": nats_access.api_prefix,
        "CHANCERY_DATA_DIR": str(tmp_path),
        "CHANCERY_BLOBS_URL": (tmp_path / "blobs").as_uri(),
        "CHANCERY_TOKEN_KEY": TOKEN_KEY.decode(),
    }
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "chancery.ingestion"], env=environment, stderr=log
        )
        try:
            yield
        finally:
            process.kill()
            process.wait(10)


async def command(access: NatsAccess, verb: str, body: Message) -> None:
    """Send a command of the operator from the gateway's account, once ingestion answers."""
    request = Request[type(body)](
        caller=ADMIN,
        route=verb,
        idempotency_key=random_id(),
        request_sha256="0" * 64,
        body=body,
    )

    async def sent() -> bool:
        try:
            await ask(
                gateway, command_subject("ingestion", verb), request, commands.Outcome, timeout_s=20
            )
        except Exception:  # noqa: BLE001 - it has not started yet.
            return False
        return True

    async with connect(
        access.service_urls["gateway"], name="tests", api_prefix=access.api_prefix
    ) as gateway:
        assert await eventually(sent, within_s=20)


@pytest.fixture
async def desk(nats_access: NatsAccess, nats_folder: Path, ingestion: None) -> Invitation:
    """Return the login of a producer who is a publisher of the workspace ws."""
    del ingestion
    workspace = commands.CreateWorkspace(workspace_id="ws", title="Works")
    await command(nats_access, "create-workspace", workspace)
    member = commands.AddMember(workspace_id="ws", principal="desk", role="publisher")
    await command(nats_access, "add-member", member)
    return await add_producer(nats_folder, run=nats_folder, tenant=TENANT, principal="desk")


@asynccontextmanager
async def client_of(invitation: Invitation, errors: list[str]) -> AsyncGenerator[Client]:
    async def note(error: Exception) -> None:
        errors.append(str(error))

    client = Client()
    try:
        await client.connect(
            invitation.url,
            inbox_prefix=invitation.inbox_prefix.encode(),
            error_cb=note,
            allow_reconnect=False,
        )
        yield client
    finally:
        await client.close()


def source_event(event_id: str = "e1", **data: object) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": "/desk",
        "type": SourceSubmitted.TYPE,
        "data": {"workspace_id": "ws", "source_id": "s1", "title": "Handbook", **data},
    }


def event_of(event_id: str, type_: str, data: Mapping[str, object]) -> dict[str, Any]:
    return {"specversion": "1.0", "id": event_id, "source": "/desk", "type": type_, "data": data}


async def submit(client: Client, event: Mapping[str, Any], principal: str = "desk") -> int:
    """Publish with an acknowledgement and return the sequence."""
    subject = intake_subject(TENANT, principal, event["type"])
    reply = await client.request(subject, json.dumps(event).encode(), timeout=20)
    return json.loads(reply.data)["seq"]


async def outcome(client: Client, event_id: str) -> dict[str, Any]:
    """Ask for the outcome until it is there."""
    subject = f"{SERVICE_API_PREFIX}.DIRECT.GET.{OUTCOMES}.{outcome_subject(TENANT, event_id)}"

    async def found() -> dict[str, Any] | None:
        reply = await client.request(subject, b"", timeout=5)
        return json.loads(reply.data) if reply.data else None

    told = await eventually(found, within_s=20)
    assert told is not None
    return told


@pytest.mark.req("EV-9")
async def test_a_service_submits_with_its_own_user_and_reads_what_became_of_it(
    desk: Invitation, nats_access: NatsAccess, tmp_path: Path
) -> None:
    errors: list[str] = []
    async with client_of(desk, errors) as client:
        heard: list[str] = []

        async def hear(message: Any) -> None:
            heard.append(message.subject)

        await Connection(client).subscribe(outcome_subject(TENANT, "*"), hear)
        await submit(client, source_event("e1"))
        revision = {
            "specversion": "1.0", "id": "e2", "source": "/desk", "type": RevisionSubmitted.TYPE,
        }  # fmt: skip
        data = {"workspace_id": "ws", "source_id": "s1", "media_type": "text/plain", "text": TEXT}
        await client.request(
            intake_subject(TENANT, "desk", RevisionSubmitted.TYPE),
            json.dumps(data).encode(),
            headers={f"ce-{name}": value for name, value in revision.items()},
            timeout=5,
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


async def who_holds(access: NatsAccess, text: bytes) -> set[str]:
    """Return the streams that hold the text anywhere."""
    async with connect(access.url, name="tests") as admin:
        return {
            stream.name
            for stream in STREAMS
            for payload in [each.payload async for each in read_subject(admin, stream.name, ">")]
            if text in payload
        }


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
    async with client_of(desk, []) as client, connect(nats_access.url, name="tests") as admin:
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
    direct = f"{SERVICE_API_PREFIX}.DIRECT.GET.{OUTCOMES}.{outcome_subject('other', 'e1')}"
    return [
        intake_subject("other", "desk", SourceSubmitted.TYPE),
        intake_subject(TENANT, "admin", SourceSubmitted.TYPE),
        "authority.default.source.s1",
        "cut.default",
        "fence",
        "command.ingestion.create-workspace.v1",
        outcome_subject(TENANT, "e1"),
        direct,
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
        client_of(desk, errors) as client,
    ):
        before = {each.name: (await last_sequence(admin, each.name)).last for each in STREAMS}
        for subject in foreign:
            await client.publish(subject, b"{}")
        for pattern in ("_INBOX.>", outcome_subject("other", "*"), ">"):
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

        assert await eventually(settled, within_s=20)
        after = {each.name: (await last_sequence(admin, each.name)).last for each in STREAMS}
        subjects = {each.subject async for each in read_subject(admin, INTAKE, ">")}

    assert overheard == []
    assert subjects == {own}
    assert after == {**before, INTAKE: count, OUTCOMES: before[OUTCOMES] + len(foreign)}
    assert await eventually(lambda: len(errors) >= len(foreign) + 3)
    assert all("permissions violation" in error for error in errors)


@pytest.mark.req("EV-9")
async def test_another_workspace_or_tenant_is_a_visible_rejection(
    desk: Invitation, nats_access: NatsAccess
) -> None:
    async with client_of(desk, []) as client, connect(nats_access.url, name="tests") as admin:
        before = (await last_sequence(admin, AUTHORITY)).last
        await submit(client, source_event("w1", workspace_id="elsewhere"))
        await submit(client, {**source_event("w2"), "tenant": "other"})
        first, second = await outcome(client, "w1"), await outcome(client, "w2")
        after = (await last_sequence(admin, AUTHORITY)).last

    assert (first["data"]["code"], first["data"]["field"]) == ("not_found", "data.workspace_id")
    assert (second["data"]["code"], second["data"]["field"]) == ("foreign_tenant", "tenant")
    assert after == before


@pytest.mark.req("EV-9")
async def test_a_submission_sent_again_is_applied_once(
    desk: Invitation, nats_access: NatsAccess
) -> None:
    async with client_of(desk, []) as client, connect(nats_access.url, name="tests") as admin:
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

    async with client_of(again, []) as client:
        assert client.is_connected
    with pytest.raises(nats.errors.Error, match="Authorization"):
        async with asyncio.timeout(WITHIN_S), client_of(desk, []):
            pass
    assert desk.url not in repr(desk)
    assert (nats_folder / "users.json").stat().st_mode & 0o777 == 0o600
