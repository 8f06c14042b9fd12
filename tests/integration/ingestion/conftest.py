"""Ingestion as a process with its own login, and the login of a producer before it."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from chancery.bus.connection import connect
from chancery.bus.request import ask
from chancery.embedded.producers import Invitation, add_producer
from chancery.events import commands
from chancery.events.requests import Message, Request
from chancery.events.topology import command_subject
from chancery.kernel.ids import random_id
from chancery.testkit.nats import NatsAccess
from chancery.testkit.waiting import eventually
from tests.integration.forking import fork
from tests.integration.ingestion.harness import ADMIN, TOKEN_KEY
from tests.integration.ingestion.submitting import TENANT


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
    process = fork("ingestion", environment, tmp_path / "log")
    try:
        yield
    finally:
        process.kill()
        process.join(10)


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
        assert await eventually(sent, within_s=60)


@pytest.fixture
async def desk(nats_access: NatsAccess, nats_folder: Path, ingestion: None) -> Invitation:
    """Return the login of a producer who is a publisher of the workspace ws."""
    del ingestion
    workspace = commands.CreateWorkspace(workspace_id="ws", title="Works")
    await command(nats_access, "create-workspace", workspace)
    member = commands.AddMember(workspace_id="ws", principal="desk", role="publisher")
    await command(nats_access, "add-member", member)
    return await add_producer(nats_folder, run=nats_folder, tenant=TENANT, principal="desk")


@pytest.fixture
async def clerk(nats_access: NatsAccess, nats_folder: Path, desk: Invitation) -> Invitation:
    """Return the login of a second publisher of the workspace."""
    del desk
    member = commands.AddMember(workspace_id="ws", principal="clerk", role="publisher")
    await command(nats_access, "add-member", member)
    return await add_producer(nats_folder, run=nats_folder, tenant=TENANT, principal="clerk")
