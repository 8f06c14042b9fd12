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
    path = f"/v1/workspaces/{world.id}/sources/pumps/revisions"
    await world.document("pumps", "A pump.")
    sent, rest = [0], asyncio.Event()
    before = memory_of(gateway)

    uploads = [
        asyncio.ensure_future(
            send(world.publisher, "POST", path, content=uploading(sent, rest), headers=TEXT)
        )
        for _ in range(AT_ONCE)
    ]
    try:
        await eventually(lambda: sent[0] >= AT_ONCE * (EACH - MIB // 4), within_s=120)
        grown = memory_of(gateway) - before
        rest.set()
        statuses = {(await each).status_code for each in uploads}
    finally:
        for each in uploads:
            each.cancel()

    assert statuses == {202}
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
        async with asyncio.timeout(10):
            status = await reader.readline()
    finally:
        writer.close()

    assert b" 401 " in status


async def test_an_upload_that_breaks_off_leaves_no_file(system: System, world: World) -> None:
    await world.desk.declare_source("pumps", "Pumps")
    path = f"/v1/workspaces/{world.id}/sources/pumps/revisions"
    partial = system.folder / "blobs" / ".partial"
    sent, rest = [0], asyncio.Event()
    asked = asyncio.ensure_future(
        send(world.publisher, "POST", path, content=uploading(sent, rest), headers=TEXT)
    )
    await eventually(lambda: _bytes_in(partial) > MIB)
    asked.cancel()
    await asyncio.wait([asked])

    await eventually(lambda: _bytes_in(partial) == 0)
    (declared,) = [each for each in await world.desk.sources() if each.id == "pumps"]
    assert declared.revision == 0


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
