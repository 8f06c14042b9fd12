"""Sweeping uploads of the running system: its whole log is read, and what it names is known."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from chancery.client.command.named import BusStreams
from chancery.client.command.operator import operator_bus
from chancery.client.command.settings import CommandSettings
from chancery.client.command.sweep import Sweep
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import FixedClock, SystemClock
from chancery.store.blobs import open_blobs
from tests.e2e.running import System
from tests.e2e.test_operating import told
from tests.e2e.world import World, send
from tests.unit.extract.files import lines, pdf_file

LOST = b"An upload whose command never came."
TEXT_AND_MANIFEST = 2
CONTENT_TEXT_LAYOUT_AND_MANIFEST = 4


def own_blobs(system: System) -> set[str]:
    """Return the hashes of the tenant's own blobs."""
    folder = system.folder / "blobs" / "default"
    return {path.name for path in folder.iterdir() if path.is_file()} if folder.exists() else set()


async def unnamed(system: System, hours: int) -> tuple[set[str], int]:
    """Return what a sweep so many hours from now would remove, and how many blobs it looked at."""
    async with operator_bus(CommandSettings(), system.folder) as bus:
        sweep = Sweep(
            streams=BusStreams(bus),
            stock=open_blobs((system.folder / "blobs").absolute().as_uri()),
            clock=FixedClock(SystemClock().now() + timedelta(hours=hours)),
            tell=lambda step, done, total: None,
        )
        swept = await sweep.run(timedelta(hours=1), dry_run=True)
    return {place.held.sha256 for place in swept.removed}, swept.seen


async def test_only_an_upload_without_a_command_would_go(system: System, world: World) -> None:
    before = own_blobs(system)
    text = f"The keys of {world.id} hang beside the door.\n"
    pdf = pdf_file(lines(f"The halls of {world.id} are heated."))
    await world.document("text", text)
    await world.desk.declare_source("pdf", "Halls")
    published = await world.desk.publish("pdf", pdf, "application/pdf")
    await world.desk.wait_until_ready("pdf", published.revision)
    form = {"content-type": "application/octet-stream"}
    uploaded = await send(world.publisher, "POST", "/v1/blobs", content=LOST, headers=form)
    uploaded.raise_for_status()

    soon, _ = await unnamed(system, 0)
    later, seen = await unnamed(system, 3)

    needed = own_blobs(system) - before
    assert {sha256_hex(text.encode()), sha256_hex(pdf)} <= needed
    # What an earlier test published may be indexed only now.
    assert len(needed) >= TEXT_AND_MANIFEST + CONTENT_TEXT_LAYOUT_AND_MANIFEST
    assert soon == set()
    assert sha256_hex(LOST) in later
    assert seen > len(needed)
    assert not needed & later


async def test_the_command_reads_everything_and_says_what_it_did(
    system: System, world: World
) -> None:
    await world.document("text", "The keys hang beside the door.\n")

    done = await asyncio.to_thread(told, ["blobs", "sweep"], system.folder)
    dry = await asyncio.to_thread(told, ["blobs", "sweep", "--dry-run"], system.folder)
    wrong = await asyncio.to_thread(told, ["blobs", "sweep", "--older-than", "5m"], system.folder)

    assert (done[0], done[1]["removed"], done[1]["dry_run"]) == (0, 0, False)
    assert (dry[0], dry[1]["dry_run"]) == (0, True)
    assert dry[1]["seen"] > 0
    assert (wrong[0], wrong[1]["error"]["field"]) == (2, "--older-than")


@pytest.mark.parametrize("set_alone", ["CHANCERY_BLOBS_URL", "CHANCERY_NATS_URL"])
async def test_a_log_and_blobs_of_two_installations_are_refused(
    system: System, monkeypatch: pytest.MonkeyPatch, set_alone: str
) -> None:
    elsewhere = {
        "CHANCERY_BLOBS_URL": (system.folder / "blobs").absolute().as_uri(),
        "CHANCERY_NATS_URL": "nats://127.0.0.1:1",
    }
    monkeypatch.setenv(set_alone, elsewhere[set_alone])

    code, said = await asyncio.to_thread(told, ["blobs", "sweep"], system.folder)

    assert code != 0
    assert "removed" not in said
