"""Large and many uploads to the running system: what its gateway holds, and what stays."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from chancery.authority.tokens import build_token, secret_for
from chancery.client.errors import ProblemError
from chancery.client.http import Chancery
from chancery.client.workspace import Table
from chancery.kernel.canonical import sha256_hex
from chancery.testkit.waiting import eventually
from tests.e2e.running import System, command
from tests.e2e.world import World, send

MIB = 1024 * 1024
TEXT = {"Content-Type": "text/plain"}
LINE = b"The spare pump stands in hall seven. " * 4
AT_ONCE = 12
EACH = 15 * MIB


def memory_of(process: psutil.Process) -> int:
    found: int = process.memory_info().rss
    return found


async def uploading(sent: list[int], rest: asyncio.Event) -> AsyncIterator[bytes]:
    """Yield all but the end of a large text, wait, and yield the end."""
    piece = (LINE * (MIB // len(LINE)))[: MIB // 4]
    for _ in range(EACH // len(piece)):
        yield piece
        sent[0] += len(piece)
    await rest.wait()
    yield b"The end."


async def test_parallel_uploads_do_not_fill_the_memory_of_the_gateway(
    system: System, world: World
) -> None:
    gateway = system.child("gateway")
    assert gateway is not None
    # What is submitted later is not indexed, so that no other test waits for that.
    path = "/v1/blobs"
    sent, rest = [0], asyncio.Event()
    before = memory_of(gateway)

    async with asyncio.TaskGroup() as group:
        uploads = [
            group.create_task(
                send(world.publisher, "POST", path, content=uploading(sent, rest), headers=TEXT)
            )
            for _ in range(AT_ONCE)
        ]
        await eventually(lambda: sent[0] >= AT_ONCE * (EACH - MIB // 4), within_s=120)
        grown = memory_of(gateway) - before
        rest.set()
        statuses = {(await each).status_code for each in uploads}

    assert statuses == {201}
    assert grown < AT_ONCE * EACH / 3


@pytest.mark.parametrize("path", ["/v1/blobs", "/v1/files", "/v1/workspaces/w/sources"])
async def test_a_false_token_is_refused_while_its_body_is_still_on_its_way(
    system: System, path: str
) -> None:
    token = build_token("default", "admin", "never-issued", secret_for(bytes(32), "never-issued"))
    address = httpx.URL(system.url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {EACH}\r\n\r\n".encode())
    writer.write(b" " * 32 * 1024)
    try:
        async with asyncio.timeout(60):
            status = await reader.readline()
    finally:
        writer.close()

    assert b" 401 " in status


async def test_an_upload_that_breaks_off_leaves_no_file(system: System, world: World) -> None:
    await world.desk.declare_source("pumps", "Pumps")
    path = f"/v1/workspaces/{world.id}/sources/pumps/revisions"
    partial = system.folder / "blobs" / ".partial"
    sent, rest = [0], asyncio.Event()
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(
            send(world.publisher, "POST", path, content=uploading(sent, rest), headers=TEXT)
        )
        await eventually(lambda: _bytes_in(partial) > MIB)
        asked.cancel()

    await eventually(lambda: _bytes_in(partial) == 0)
    (declared,) = [each for each in await world.desk.sources() if each.id == "pumps"]
    assert declared.revision == 0


@pytest.mark.req("EV-14")
@pytest.mark.parametrize("path", ["sources/s/revisions", "datasets/d/snapshots", "/v1/files"])
async def test_an_upload_sent_again_under_its_key_has_its_first_outcome_and_no_other(
    world: World, path: str
) -> None:
    await world.desk.declare_source("s", "S")
    await world.desk.declare_dataset("d", Table(title="D"))
    place = path if path.startswith("/") else f"/v1/workspaces/{world.id}/{path}"
    media_type = "text/csv" if "datasets" in path else "text/plain"
    headers = {"Content-Type": media_type, "Idempotency-Key": f"{world.id}-once"}

    first, again, other = [
        await send(world.publisher, "POST", place, content=content, headers=headers)
        for content in (b"id\n1\n", b"id\n1\n", b"id\n2\n")
    ]

    assert first.is_success, first.text
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")


@pytest.mark.req("EV-14")
async def test_a_key_that_was_used_lets_nobody_upload_who_may_no_longer(
    system: System, world: World
) -> None:
    await world.desk.declare_source("s", "S")
    path = f"/v1/workspaces/{world.id}/sources/s/revisions"
    headers = {**TEXT, "Idempotency-Key": f"{world.id}-once"}
    blobs = system.folder / "blobs"

    first = await send(world.publisher, "POST", path, content=b"first", headers=headers)
    await world.operator.workspace(world.id).remove_member(f"publisher-{world.id}")
    late = f"A text that only this test has, {world.id}.".encode()
    refused = await send(world.publisher, "POST", path, content=late, headers=headers)

    assert first.status_code == 202
    assert refused.status_code == 404
    assert not list(blobs.rglob(sha256_hex(late)))
    assert list(blobs.rglob(sha256_hex(b"first")))


async def test_a_large_file_is_sent_and_stored_piece_by_piece_and_recognised_again(
    system: System, world: World, tmp_path: Path
) -> None:
    file = tmp_path / "large.txt"
    data = LINE * (2 * MIB // len(LINE))
    await asyncio.to_thread(file.write_bytes, data)
    await world.desk.declare_source("large", "Large")

    first = await world.desk.publish("large", file, "text/plain")
    again = await world.desk.publish("large", file, "text/plain")
    token = world.publisher.transport.token or ""
    environment = {"CHANCERY_URL": system.url, "CHANCERY_TOKEN": token}
    added = await asyncio.to_thread(command, ["file", "add", str(file), "--json"], environment)

    assert (first.revision, again.revision, again.content_sha256) == (1, 1, first.content_sha256)
    assert first.content_sha256 == hashlib.sha256(data).hexdigest()
    assert added.returncode == 0, added.stderr


async def test_a_file_that_is_too_large_is_refused_by_its_size(
    operator: Chancery, tmp_path: Path
) -> None:
    file = tmp_path / "huge.txt"
    await asyncio.to_thread(file.write_bytes, b"a" * (17 * MIB))

    with pytest.raises(ProblemError, match="at most") as refused:
        await operator.files.upload(file, "text/plain")

    assert refused.value.status == 413


def _bytes_in(folder: Path) -> int:
    total = 0
    for each in folder.iterdir():
        with suppress(FileNotFoundError):
            total += each.stat().st_size
    return total
