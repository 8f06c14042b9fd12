"""Blobs that arrive piece by piece: one contract for the folder, object stores and the fake."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import LocalStore

from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Rejected, Unavailable
from chancery.store.blobs import REFRESH_AGE_S, Receiving, open_blobs
from chancery.store.local_blobs import LocalBlobs
from chancery.store.object_blobs import ObjectBlobs
from chancery.store.spool import SPOOL_BUFFER_BYTES, Spool
from chancery.testkit.blobs import MemoryBlobs
from tests.unit.store.test_blobs import damage

LIMIT = 64 * 1024 * 1024
LARGE = bytes(range(256)) * (11 * 1024 * 4)
"""Above the 5 MiB from which on an object store is sent pieces."""


async def receive(blobs: Receiving, *pieces: bytes, run: str | None = None) -> str:
    """Take the pieces in as one blob."""
    async with blobs.receiving("t1", run=run) as incoming:
        for piece in pieces:
            await incoming.write(piece)
        return await incoming.keep()


class ReceivingContract:
    """What every store does; a subclass's fixture `blobs` says which one is meant."""

    async def test_pieces_become_the_blob_that_they_are_together(self, blobs: Receiving) -> None:
        sha256 = await receive(blobs, b"some ", b"", b"text")

        assert sha256 == sha256_hex(b"some text")
        assert await blobs.get("t1", sha256, limit=LIMIT) == b"some text"
        assert not await blobs.exists("t2", sha256)

    async def test_a_large_blob_comes_back_whole(self, blobs: Receiving) -> None:
        pieces = (LARGE[start : start + 65_521] for start in range(0, len(LARGE), 65_521))

        sha256 = await receive(blobs, *pieces)

        assert sha256 == sha256_hex(LARGE)
        assert await blobs.get("t1", sha256, limit=len(LARGE)) == LARGE

    @pytest.mark.parametrize("run", [None, "r1"])
    @pytest.mark.parametrize("data", [b"original", LARGE])
    async def test_damaged_bytes_are_replaced_by_what_is_received(
        self, blobs: Receiving, data: bytes, run: str | None
    ) -> None:
        sha256 = await receive(blobs, data, run=run)
        place = "t1" if run is None else f"t1/runs/{run}"
        await damage(blobs, f"{place}/{sha256}", data[:-1] + b"?")
        assert not await blobs.is_intact("t1", sha256, run=run)

        await receive(blobs, data, run=run)

        assert await blobs.is_intact("t1", sha256, run=run)

    async def test_an_empty_blob_is_one(self, blobs: Receiving) -> None:
        sha256 = await receive(blobs)

        assert await blobs.get("t1", sha256, limit=0) == b""

    async def test_what_is_not_kept_is_nowhere(self, blobs: Receiving) -> None:
        async with blobs.receiving("t1") as incoming:
            await incoming.write(LARGE)
        with suppress(RuntimeError):
            async with blobs.receiving("t1") as incoming:
                await incoming.write(b"cut off")
                raise RuntimeError

        assert not await blobs.exists("t1", sha256_hex(LARGE))
        assert not await blobs.exists("t1", sha256_hex(b"cut off"))

    @pytest.mark.parametrize("data", [b"short", LARGE])
    async def test_it_can_be_read_and_added_to_before_it_is_kept(
        self, blobs: Receiving, data: bytes
    ) -> None:
        async with blobs.receiving("t1") as incoming:
            await incoming.write(data)
            first = await incoming.read()
            await incoming.write(b" and more")
            second = await incoming.read()
            size, sha256 = incoming.size, await incoming.keep()

        assert (first, second, size) == (data, data + b" and more", len(data) + 9)
        assert await blobs.get("t1", sha256, limit=LIMIT) == second

    async def test_what_is_there_already_is_recognised(self, blobs: Receiving) -> None:
        put = await blobs.put("t1", b"same")
        received = await receive(blobs, b"sa", b"me")
        again = await blobs.put("t1", b"same")

        assert put == received == again
        assert await blobs.get("t1", put, limit=LIMIT) == b"same"

    async def test_what_a_run_derived_is_its_own(self, blobs: Receiving) -> None:
        sha256 = await receive(blobs, b"preview", run="r1")

        assert await blobs.get_run("t1", "r1", sha256, limit=LIMIT) == b"preview"
        assert not await blobs.exists("t1", sha256)

    @pytest.mark.parametrize(
        ("tenant", "run"), [("..", None), ("", None), ("t1", ".."), ("t1", "")]
    )
    async def test_a_blob_cannot_leave_its_tenant(
        self, blobs: Receiving, tenant: str, run: str | None
    ) -> None:
        with pytest.raises(Rejected):
            async with blobs.receiving(tenant, run=run):
                pass

    async def test_many_arrive_beside_each_other(self, blobs: Receiving) -> None:
        hashes = await asyncio.gather(
            *(receive(blobs, b"%d" % number, b"same end") for number in range(20)),
            *(receive(blobs, b"the ", b"same") for _ in range(20)),
        )

        assert len(set(hashes)) == 21
        assert all([await blobs.exists("t1", each) for each in hashes])


class TestLocal(ReceivingContract):
    """The folder."""

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Receiving:
        return open_blobs((tmp_path / "blobs").as_uri())

    @pytest.mark.parametrize("fate", ["left", "failed", "cancelled"])
    async def test_a_blob_that_was_cut_off_leaves_no_file(self, tmp_path: Path, fate: str) -> None:
        blobs = LocalBlobs.at(tmp_path)
        seen: list[Path] = []
        begun = asyncio.Event()

        async def arrive() -> None:
            async with blobs.receiving("t1") as incoming:
                await incoming.write(LARGE)
                seen.extend(_files(tmp_path))
                begun.set()
                if fate == "failed":
                    raise Unavailable("away")
                if fate == "cancelled":
                    await asyncio.Event().wait()

        with suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                arriving = group.create_task(arrive())
                await begun.wait()
                if fate == "cancelled":
                    arriving.cancel()

        assert [path.parent.name for path in seen] == [".partial"]
        assert not _files(tmp_path)

    async def test_few_of_the_bytes_are_in_memory(self, tmp_path: Path) -> None:
        blobs = LocalBlobs.at(tmp_path)

        async with blobs.receiving("t1") as incoming:
            for start in range(0, len(LARGE), 65_536):
                await incoming.write(LARGE[start : start + 65_536])
                on_disk = sum(path.stat().st_size for path in _files(tmp_path))
                assert incoming.size - on_disk < SPOOL_BUFFER_BYTES

    async def test_the_file_and_its_folder_are_synced_before_it_is_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blobs = LocalBlobs.at(tmp_path)
        synced: list[int] = []
        sync = os.fsync

        def record(descriptor: int) -> None:
            synced.append(os.fstat(descriptor).st_ino)
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", record)
        sha256 = await receive(blobs, b"data")
        once = set(synced)
        synced.clear()
        await receive(blobs, b"da", b"ta")

        root, folder, file = (_number(tmp_path / each) for each in ("", "t1", f"t1/{sha256}"))
        assert once == {root, folder, file}
        assert synced == [folder]

    async def test_a_disk_that_is_full_is_said_so_and_nothing_stays(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blobs = LocalBlobs.at(tmp_path)

        def fail(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        (tmp_path / "t1").mkdir()
        with pytest.raises(Unavailable, match="No space left on device"):
            await receive(blobs, b"data")

        assert not _files(tmp_path)

    async def test_what_is_received_again_is_not_old_any_more(self, tmp_path: Path) -> None:
        blobs = LocalBlobs.at(tmp_path)
        path = tmp_path / "t1" / await receive(blobs, b"data")
        long_ago = path.stat().st_mtime - REFRESH_AGE_S - 60
        os.utime(path, (long_ago, long_ago))

        await receive(blobs, b"data")

        assert path.stat().st_mtime > long_ago + REFRESH_AGE_S


class TestObject(ReceivingContract):
    """The object store, with obstore's own memory under it."""

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Receiving:
        return open_blobs("memory:///")


class TestObstoreLocalStore(ReceivingContract):
    """The object store's code over obstore's own folder, which no setting asks for."""

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Receiving:
        return ObjectBlobs(LocalStore(tmp_path))


class TestFake(ReceivingContract):
    """The fake."""

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Receiving:
        return MemoryBlobs()


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=30,
)
@given(pieces=st.lists(st.binary(max_size=400), max_size=8), scale=st.sampled_from([1, 1000]))
async def test_any_pieces_are_read_and_hashed_as_one(pieces: list[bytes], scale: int) -> None:
    spool, written = Spool(), b""
    try:
        for piece in pieces:
            await spool.write(piece * scale)
            written += piece * scale
            assert await spool.sha256() == sha256_hex(written)
        assert await spool.read() == written
        assert (spool.size, await spool.sha256()) == (len(written), sha256_hex(written))
    finally:
        await spool.close()


def _number(path: Path) -> int:
    return path.stat().st_ino


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
