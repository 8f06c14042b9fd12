"""Ingestion as a process: it begins the log, answers on the bus, and ends on SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chancery.authority.tokens import parse_token, proof_of
from chancery.bus.connection import Connection, connect
from chancery.bus.request import ask
from chancery.events.commands import CreateWorkspace, Outcome
from chancery.events.requests import Caller, Request
from chancery.events.topology import command_subject
from chancery.kernel.canonical import canonical_hash
from chancery.kernel.errors import Denied, Unavailable
from chancery.testkit.waiting import eventually

pytestmark = pytest.mark.integration

SUBJECT = command_subject("ingestion", "create-workspace")


@asynccontextmanager
async def running(nats_url: str, folder: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run the service on `folder` and end it with SIGTERM."""
    environment = {
        **os.environ,
        "CHANCERY_NATS_URL": nats_url,
        "CHANCERY_DATA_DIR": str(folder),
        "CHANCERY_BLOBS_URL": (folder / "blobs").as_uri(),
        "CHANCERY_TOKEN_KEY": "token key of this test, long enough",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chancery.ingestion", env=environment
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            await process.wait()


def request(caller: Caller, workspace_id: str) -> Request[CreateWorkspace]:
    body = CreateWorkspace(workspace_id=workspace_id, title="Works")
    return Request[CreateWorkspace](
        caller=caller,
        route="POST /v1/workspaces",
        idempotency_key="k",
        request_sha256=canonical_hash(body.model_dump(mode="json")),
        body=body,
    )


@pytest.mark.req("EV-1", "EV-14")
async def test_the_operator_token_works_and_survives_a_restart(
    provisioned_nats_url: str, tmp_path: Path
) -> None:
    first = await _one_life(provisioned_nats_url, tmp_path)
    second = await _one_life(provisioned_nats_url, tmp_path)

    assert first == second
    assert first[0].changed
    assert first[1] == 0


async def _one_life(nats_url: str, folder: Path) -> tuple[Outcome, int | None]:
    """Start, ask as the operator, be refused with a forged proof, end; return what was seen."""
    path = folder / "operator.token"
    async with (
        connect(nats_url, name="test") as connection,
        running(nats_url, folder) as process,
    ):
        await eventually(path.exists, within_s=60)
        token = parse_token(path.read_text(encoding="ascii").strip())
        caller = Caller(
            tenant=token.tenant,
            principal=token.principal,
            credential_id=token.credential_id,
            proof=proof_of(token.secret),
        )
        outcome = await _asked(connection, caller)
        forged = caller.model_copy(update={"proof": "0" * 64})
        with pytest.raises(Denied):
            await ask(connection, SUBJECT, request(forged, "other"), Outcome)
    return outcome, process.returncode


async def _asked(connection: Connection, caller: Caller) -> Outcome:
    async def once() -> Outcome | None:
        try:
            return await ask(connection, SUBJECT, request(caller, "ws"), Outcome)
        except Unavailable:
            return None

    found = await eventually(once, within_s=60)
    assert found is not None
    return found


async def test_without_a_token_key_it_says_so_and_ends(
    provisioned_nats_url: str, tmp_path: Path
) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if "TOKEN_KEY" not in name},
        "CHANCERY_NATS_URL": provisioned_nats_url,
        "CHANCERY_DATA_DIR": str(tmp_path),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "chancery.ingestion",
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )

    async with asyncio.timeout(60):
        output, _ = await process.communicate()

    assert process.returncode == 1
    assert b"CHANCERY_TOKEN_KEY" in output
    assert not await asyncio.to_thread((tmp_path / "operator.token").exists)
