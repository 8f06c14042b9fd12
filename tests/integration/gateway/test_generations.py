"""Retry and cancel over HTTP, on the real release service: each is of one generation only."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from chancery.authority.names import principal_ref
from chancery.authority.tokens import build_token, proof_hash, proof_of, secret_for
from chancery.bus.load import last_message, read_subject
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.authority import CredentialIssued
from chancery.events.topology import RUNS, run_subject
from chancery.gateway.app import create_edge
from chancery.gateway.handlers.surface import create_surface
from chancery.kernel.ids import random_id
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.published import Published
from tests.integration.release.stage import playing
from tests.integration.release.world import TENANT, WORKSPACE, World

pytestmark = pytest.mark.integration

KEY = bytes(32)
TEXT = "Service reviews are owned by Mara Lindt. The invoices are kept in euro.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
OTHER = "The invoices are kept in euro."
CREDENTIAL = "c-http"
ENDED = 200


@dataclass(slots=True)
class Stage:
    """Release and the edge, and a caller over HTTP."""

    world: World
    http: httpx.AsyncClient
    source: Published

    async def ask(self) -> str:
        """Ask a question over HTTP and return the run's id."""
        path = f"/v1/workspaces/{WORKSPACE}/conversations"
        opened = await self.http.post(path)
        talk = opened.raise_for_status().json()["conversation_id"]
        asked = await self.http.post(
            f"/v1/conversations/{talk}/messages", json={"question": "Who owns reviews?"}
        )
        return asked.raise_for_status().json()["run_id"]

    async def play(self, run_id: str, quote: str, generation: int) -> dict[str, object]:
        """Play the stages of a generation and return its answer as HTTP tells it."""
        admitted = await self.world.admitted(run_id, generation=generation)
        await self.world.gather(admitted, self.source)
        await self.world.propose(admitted, self.source.quote(quote))
        return await self.answer(run_id)

    async def answer(self, run_id: str) -> dict[str, object]:
        """Wait for the run's end and return its answer."""

        async def ended() -> dict[str, object] | None:
            told = await self.http.get(f"/v1/runs/{run_id}/answer")
            return told.json() if told.status_code == ENDED else None

        found = await eventually(ended)
        assert found is not None
        return found

    async def retry(self, run_id: str, key: str = "") -> httpx.Response:
        """Ask for another generation."""
        headers = {"Idempotency-Key": key or random_id()}
        return await self.http.post(f"/v1/runs/{run_id}/retry", headers=headers)


@asynccontextmanager
async def staged(nats_url: str, database: Database, folder: Path) -> AsyncGenerator[Stage]:
    """Yield the edge over release, with anna's token."""
    secret = secret_for(KEY, CREDENTIAL)
    token = build_token(TENANT, "anna", CREDENTIAL, secret)
    async with playing(nats_url, database, folder) as world:
        issued = CredentialIssued(
            credential_id=CREDENTIAL, proof_sha256=proof_hash(proof_of(secret)), expires_at=None
        )
        await world.append(principal_ref("anna"), issued)
        surface = create_surface(
            create_edge(world.bus, world.blobs, KEY), upload_bytes_max=1_000_000
        )
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(surface),
            base_url="http://edge",
            headers={"Authorization": f"Bearer {token}"},
        ) as http:
            yield Stage(world, http, await world.publish_source("handbook", TEXT))


@pytest.mark.req("KO-14", "KO-8", "EV-14")
async def test_a_retry_over_http_answers_in_a_generation_of_its_own(
    nats_url: str, database: Database, tmp_path: Path
) -> None:
    async with staged(nats_url, database, tmp_path) as stage:
        run_id = await stage.ask()
        first = await stage.play(run_id, QUOTE, 1)

        begun = await stage.retry(run_id, "again")
        repeated = await stage.retry(run_id, "again")
        second = await stage.play(run_id, OTHER, 2)
        late = await stage.retry(run_id, "again")
        requested = await announced(stage.world, run_id, "requested")

    assert (begun.status_code, begun.json()) == (202, {"run_id": run_id, "generation": 2})
    assert repeated.json() == begun.json()
    assert late.json() == begun.json()
    assert (first["status"], first["generation"]) == ("sealed", 1)
    assert (second["status"], second["generation"]) == ("sealed", 2)
    assert OTHER in str(second)
    assert len(requested) == 2


async def announced(world: World, run_id: str, name: str) -> list[str | None]:
    """Return the ids of what was announced of a run."""
    subject = run_subject(TENANT, run_id, name)
    return [each.message_id async for each in read_subject(world.bus, RUNS, subject)]


@pytest.mark.req("KO-14", "EV-6")
async def test_a_cancel_that_comes_again_ends_no_later_generation(
    nats_url: str, database: Database, tmp_path: Path
) -> None:
    async with staged(nats_url, database, tmp_path) as stage:
        world, run_id = stage.world, await stage.ask()
        await world.admitted(run_id)
        await stage.http.post(f"/v1/runs/{run_id}/cancel")
        assert (await stage.answer(run_id))["generation"] == 1
        subject = run_subject(TENANT, run_id, "cancelled")
        cancelled = await last_message(world.bus, RUNS, subject)
        assert cancelled is not None
        await stage.retry(run_id)
        await world.admitted(run_id, generation=2)

        again = Outgoing(subject=subject, payload=cancelled.payload, message_id=random_id())
        await publish_message(world.bus, again)
        second = await stage.play(run_id, OTHER, 2)
        await stage.retry(run_id)
        await world.admitted(run_id, generation=3)
        # The control: a cancel of the generation that is open does end it, behind the first one.
        await stage.http.post(f"/v1/runs/{run_id}/cancel")
        third = await stage.answer(run_id)

    assert (second["status"], second["generation"]) == ("sealed", 2)
    assert (third["status"], third["outcome"]) == ("refused", "unavailable")
    assert third["generation"] == 3
