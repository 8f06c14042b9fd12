"""Blobs: one contract, kept by the folder, by the object store and by the fake."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import obstore
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import LocalStore

from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Corrupt, NotFound, Rejected, TooLarge, Unavailable
from chancery.store.blobs import BlobCorrupt, Blobs, open_blobs
from chancery.store.disk import PARTIAL_AGE_MAX_S
from chancery.store.local_blobs import LocalBlobs
from chancery.store.object_blobs import ObjectBlobs, open_object_blobs
from chancery.testkit.blobs import MemoryBlobs

ABSENT = sha256_hex(b"never stored")
LIMIT = 1_000_000


async def damage(blobs: Blobs, key: str, data: bytes) -> None:
    """Put other bytes under a key, behind the back of the store."""
    match blobs:
        case LocalBlobs():
            await asyncio.to_thread((blobs.root / key).write_bytes, data)
        case ObjectBlobs():
            await obstore.put_async(blobs.store, key, data)
        case MemoryBlobs():
            blobs.stored[key] = data
        case _:
            raise AssertionError(blobs)


class BlobsContract:
    """What every store of blobs does; a subclass's fixture `blobs` says which one is meant."""

    async def test_what_was_put_is_got_by_its_hash(self, blobs: Blobs) -> None:
        sha256 = await blobs.put("t1", b"some text")

        assert sha256 == sha256_hex(b"some text")
        assert await blobs.get("t1", sha256, limit=LIMIT) == b"some text"

    async def test_putting_twice_changes_nothing(self, blobs: Blobs) -> None:
        first = await blobs.put("t1", b"same")
        second = await blobs.put("t1", b"same")

        assert first == second
        assert await blobs.get("t1", first, limit=LIMIT) == b"same"

    async def test_damaged_bytes_are_told_from_those_that_have_their_hash(
        self, blobs: Blobs
    ) -> None:
        own = await blobs.put("t1", b"original")
        derived = await blobs.put_run("t1", "r1", b"original")
        assert await blobs.is_intact("t1", own)
        assert await blobs.is_intact("t1", derived, run="r1")

        await damage(blobs, f"t1/{own}", b"0riginal")

        assert not await blobs.is_intact("t1", own)
        assert await blobs.exists("t1", own)
        assert await blobs.is_intact("t1", derived, run="r1")
        assert not await blobs.is_intact("t1", ABSENT)

    @pytest.mark.parametrize("damaged", [b"0riginal", b"orig", b"", b"original and more"])
    async def test_damaged_bytes_are_replaced_by_the_next_put(
        self, blobs: Blobs, damaged: bytes
    ) -> None:
        own = await blobs.put("t1", b"original")
        derived = await blobs.put_run("t1", "r1", b"original")
        for key in (f"t1/{own}", f"t1/runs/r1/{derived}"):
            await damage(blobs, key, damaged)
        with pytest.raises(BlobCorrupt):
            await blobs.get("t1", own, limit=LIMIT)

        await blobs.put("t1", b"original")
        await blobs.put_run("t1", "r1", b"original")

        assert await blobs.get("t1", own, limit=LIMIT) == b"original"
        assert await blobs.get_run("t1", "r1", derived, limit=LIMIT) == b"original"

    async def test_tenants_share_nothing(self, blobs: Blobs) -> None:
        sha256 = await blobs.put("t1", b"mine")

        assert await blobs.exists("t1", sha256)
        assert not await blobs.exists("t2", sha256)
        with pytest.raises(NotFound):
            await blobs.get("t2", sha256, limit=LIMIT)

    async def test_what_a_run_derived_is_its_own(self, blobs: Blobs) -> None:
        sha256 = await blobs.put_run("t1", "r1", b"preview")

        assert await blobs.get_run("t1", "r1", sha256, limit=LIMIT) == b"preview"
        assert await blobs.exists("t1", sha256, run="r1")
        assert not await blobs.exists("t1", sha256)
        with pytest.raises(NotFound):
            await blobs.get_run("t1", "r2", sha256, limit=LIMIT)

    async def test_what_was_never_put_is_not_found(self, blobs: Blobs) -> None:
        assert not await blobs.exists("t1", ABSENT)
        with pytest.raises(NotFound):
            await blobs.get("t1", ABSENT, limit=LIMIT)

    async def test_more_than_the_limit_is_refused(self, blobs: Blobs) -> None:
        sha256 = await blobs.put("t1", b"12345")

        with pytest.raises(TooLarge, match="5 bytes; at most 4"):
            await blobs.get("t1", sha256, limit=4)
        assert await blobs.get("t1", sha256, limit=5) == b"12345"

    async def test_what_was_deleted_is_gone_and_can_be_put_again(self, blobs: Blobs) -> None:
        sha256 = await blobs.put("t1", b"erase me")
        derived = await blobs.put_run("t1", "r1", b"erase me")

        await blobs.delete("t1", sha256)

        assert not await blobs.exists("t1", sha256)
        assert await blobs.exists("t1", derived, run="r1")
        assert await blobs.put("t1", b"erase me") == sha256
        assert await blobs.exists("t1", sha256)

    async def test_deleting_what_is_not_there_changes_nothing(self, blobs: Blobs) -> None:
        kept = await blobs.put("t1", b"kept")

        await blobs.delete("t1", ABSENT)
        await blobs.delete("t1", ABSENT, run="r1")

        assert await blobs.exists("t1", kept)

    @pytest.mark.parametrize(
        ("tenant", "sha256", "run"),
        [
            ("../t1", ABSENT, None),
            ("t1", "../../etc/passwd", None),
            ("t1", ABSENT.upper(), None),
            ("t1", ABSENT[:-1], None),
            ("t1", ABSENT, ".."),
            ("t1", ABSENT, ""),
            ("", ABSENT, None),
        ],
    )
    async def test_a_key_cannot_leave_its_tenant(
        self, blobs: Blobs, tenant: str, sha256: str, run: str | None
    ) -> None:
        with pytest.raises(Rejected):
            await blobs.exists(tenant, sha256, run=run)
        with pytest.raises(Rejected):
            await blobs.delete(tenant, sha256, run=run)


class TestLocalBlobs(BlobsContract):
    """The folder."""

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return open_blobs((tmp_path / "deep" / "blobs").as_uri())

    async def test_changed_bytes_are_never_returned(self, tmp_path: Path) -> None:
        blobs = LocalBlobs.at(tmp_path)
        sha256 = await blobs.put("t1", b"original")
        (tmp_path / "t1" / sha256).write_bytes(b"0riginal")

        with pytest.raises(BlobCorrupt):
            await blobs.get("t1", sha256, limit=LIMIT)

    async def test_who_reads_a_damaged_file_goes_on_reading_it_when_it_is_replaced(
        self, tmp_path: Path
    ) -> None:
        blobs = LocalBlobs.at(tmp_path)
        path = tmp_path / "t1" / await blobs.put("t1", b"original")
        path.write_bytes(b"0riginal")

        with path.open("rb") as reader:
            await blobs.put("t1", b"original")

            assert reader.read() == b"0riginal"
        assert path.read_bytes() == b"original"

    async def test_a_file_that_the_disk_does_not_give_is_replaced_by_the_next_put(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blobs = LocalBlobs.at(tmp_path)
        path = tmp_path / "t1" / await blobs.put("t1", b"original")
        before = path.stat().st_ino

        def fail(*_: object) -> None:
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as broken:
            broken.setattr(hashlib, "file_digest", fail)
            await blobs.put("t1", b"original")

        assert path.stat().st_ino != before
        assert path.read_bytes() == b"original"

    async def test_the_file_and_each_new_folder_are_synced_before_put_returns(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blobs = LocalBlobs.at(tmp_path / "blobs")
        synced = _record_syncs(monkeypatch)

        sha256 = await blobs.put_run("t1", "r1", b"derived")

        root = tmp_path / "blobs"
        target = root / "t1" / "runs" / "r1" / sha256
        before = (root, root / "t1", root / "t1" / "runs", target)
        assert sorted(synced[:-1]) == sorted(path.stat().st_ino for path in before)
        assert synced[-1] == target.parent.stat().st_ino

    async def test_a_second_put_still_waits_for_the_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blobs = LocalBlobs.at(tmp_path)
        await blobs.put("t1", b"data")
        synced = _record_syncs(monkeypatch)

        await blobs.put("t1", b"data")

        assert synced == [(tmp_path / "t1").stat().st_ino]

    async def test_blobs_that_come_together_are_each_synced_and_share_their_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blobs = LocalBlobs.at(tmp_path)
        (tmp_path / "t1").mkdir()
        synced = _record_syncs(monkeypatch)

        hashes = await asyncio.gather(*(blobs.put("t1", b"%d" % n) for n in range(100)))

        files = {(tmp_path / "t1" / each).stat().st_ino for each in hashes}
        assert len(files) == 100
        assert files <= set(synced)
        folder = (tmp_path / "t1").stat().st_ino
        assert synced[-1] == folder
        assert synced.count(folder) < 50

    async def test_a_failed_write_leaves_nothing_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blobs = LocalBlobs.at(tmp_path)

        def fail(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        (tmp_path / "t1").mkdir()
        with pytest.raises(Unavailable, match="No space left on device"):
            await blobs.put("t1", b"data")

        assert not _files(tmp_path)

    def test_what_a_crash_left_is_cleared_when_it_is_old(self, tmp_path: Path) -> None:
        partial = tmp_path / ".partial"
        partial.mkdir()
        (partial / "old").touch()
        (partial / "new").touch()
        long_ago = (partial / "new").stat().st_mtime - PARTIAL_AGE_MAX_S - 60
        os.utime(partial / "old", (long_ago, long_ago))

        LocalBlobs.at(tmp_path)

        assert [path.name for path in partial.iterdir()] == ["new"]

    def test_a_partial_file_that_ends_while_it_is_looked_at_stops_no_start(
        self, tmp_path: Path
    ) -> None:
        partial = tmp_path / ".partial"
        partial.mkdir()
        # Listed, and gone by the time that its age is asked for.
        (partial / "ended").symlink_to(tmp_path / "nowhere")

        assert LocalBlobs.at(tmp_path).root == tmp_path

    def test_a_folder_that_cannot_be_made_is_said_so(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(Unavailable, match="blob folder cannot be used"):
            LocalBlobs.at(tmp_path / "file" / "blobs")


class TestObjectBlobs(BlobsContract):
    """The object store, with obstore's own memory under it."""

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return open_blobs("memory:///")

    async def test_changed_bytes_are_never_returned(self) -> None:
        blobs = open_object_blobs("memory:///")
        sha256 = await blobs.put("t1", b"original")
        await obstore.put_async(blobs.store, f"t1/{sha256}", b"0riginal")

        with pytest.raises(Corrupt):
            await blobs.get("t1", sha256, limit=LIMIT)


class TestMemoryBlobs(BlobsContract):
    """The fake."""

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return MemoryBlobs()

    async def test_changed_bytes_are_never_returned(self) -> None:
        blobs = MemoryBlobs()
        sha256 = await blobs.put("t1", b"original")
        blobs.stored[f"t1/{sha256}"] = b"0riginal"

        with pytest.raises(Corrupt):
            await blobs.get("t1", sha256, limit=LIMIT)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=20,
)
@given(data=st.binary(max_size=4096))
async def test_any_bytes_come_back_unchanged(tmp_path: Path, data: bytes) -> None:
    stores: tuple[Blobs, ...] = (LocalBlobs.at(tmp_path), open_blobs("memory:///"), MemoryBlobs())

    for blobs in stores:
        sha256 = await blobs.put("t1", data)
        assert await blobs.get("t1", sha256, limit=len(data)) == data


@pytest.mark.parametrize("url", ["", "blobs", "/srv/blobs", "http://x/y", "file://host/x", "file:"])
def test_any_other_url_is_refused_by_its_setting(url: str) -> None:
    with pytest.raises(Rejected, match="blobs_url must be") as caught:
        open_blobs(url)

    assert caught.value.field == "blobs_url"


def test_credentials_in_a_url_are_refused_and_not_told() -> None:
    with pytest.raises(Rejected, match="set them in the environment") as caught:
        open_blobs("s3://key:secret@bucket")

    assert "secret" not in caught.value.detail


class TestObstoreLocalStore(BlobsContract):
    """The object store's code over obstore's own folder, which no setting asks for."""

    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return ObjectBlobs(LocalStore(tmp_path))


def test_a_folder_url_may_hold_spaces(tmp_path: Path) -> None:
    blobs = open_blobs((tmp_path / "my blobs").as_uri())

    assert isinstance(blobs, LocalBlobs)
    assert blobs.root == tmp_path / "my blobs"


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _record_syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    synced: list[int] = []
    sync: Callable[[int], None] = os.fsync

    def record(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    return synced
