"""Files on their way to the server: a piece at a time, whole, and again when they have to be."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chancery.client.http import connect
from chancery.client.pieces import PIECE_BYTES, FileChanged, pieces_of

UPLOADED = {"file_id": "f", "content_sha256": "0" * 64, "sequence": 1}


class Server(httpx.AsyncBaseTransport):
    """Takes uploads; the first ones meet a server that is away."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.bodies: list[bytes] = []
        self.requests: list[httpx.Request] = []
        self.largest = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Read the body piece by piece, as the network does."""
        assert isinstance(request.stream, httpx.AsyncByteStream)
        pieces = [piece async for piece in request.stream]
        self.largest = max(self.largest, *map(len, pieces), 0)
        self.bodies.append(b"".join(pieces))
        self.requests.append(request)
        if len(self.bodies) <= self.away:
            return httpx.Response(503, json={})
        return httpx.Response(202, json=UPLOADED)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=20,
)
@given(size=st.integers(0, 3 * PIECE_BYTES))
async def test_a_file_arrives_whole_in_bounded_pieces_with_its_length(
    tmp_path: Path, size: int
) -> None:
    file, server = tmp_path / "file.txt", Server()
    data = (b"0123456789" * (size // 10 + 1))[:size]
    await asyncio.to_thread(file.write_bytes, data)

    async with connect("http://chancery", "tok", transport=server) as client:
        await client.files.upload(file, "text/plain")

    (request,) = server.requests
    assert server.bodies == [data]
    assert server.largest <= PIECE_BYTES
    assert request.headers["Content-Length"] == str(size)
    assert "Transfer-Encoding" not in request.headers


async def test_a_repeat_sends_the_file_from_its_beginning_under_the_same_key(
    tmp_path: Path,
) -> None:
    file, server = tmp_path / "file.txt", Server(away=2)
    await asyncio.to_thread(file.write_bytes, b"text")

    async with connect("http://chancery", "tok", transport=server) as client:
        await client.files.upload(file, "text/plain")

    assert server.bodies == [b"text"] * 3
    assert len({each.headers["Idempotency-Key"] for each in server.requests}) == 1


@pytest.mark.parametrize("size", [3, 5])
async def test_a_file_that_changes_while_it_is_sent_is_refused(tmp_path: Path, size: int) -> None:
    file = tmp_path / "file.txt"
    await asyncio.to_thread(file.write_bytes, b"text")

    with pytest.raises(FileChanged):
        [piece async for piece in pieces_of(file, size)]
    assert [piece async for piece in pieces_of(file, 4)] == [b"text"]
