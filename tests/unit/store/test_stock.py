"""What an operator sees of a store: what is there, how old it is, and that only old blobs go."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Rejected
from chancery.store.blobs import REFRESH_AGE_S, Stock, open_blobs
from chancery.store.local_blobs import LocalBlobs

LATER = timedelta(minutes=1)


def now() -> datetime:
    return datetime.now(UTC)


class StockContract:
    """What every store does; a subclass's fixture `stock` says which one is meant."""

    async def test_it_tells_what_is_there_by_tenant_and_run(self, stock: Stock) -> None:
        begun = now() - timedelta(seconds=2)
        own = await stock.put("t1", b"own")
        derived = await stock.put_run("t1", "r1", b"derived")
        await stock.put("t2", b"another's")

        (found,) = await stock.held("t1")
        (of_run,) = await stock.held("t1", run="r1")

        assert await stock.tenants() == ("t1", "t2")
        assert (found.sha256, found.size, of_run.sha256) == (own, 3, derived)
        assert begun < found.stored_at < now() + timedelta(seconds=2)
        assert await stock.held("t3") == await stock.held("t1", run="r2") == ()

    async def test_only_what_is_older_is_removed(self, stock: Stock) -> None:
        sha256 = await stock.put("t1", b"old")
        kept = await stock.remove_older("t1", sha256, before=now() - LATER)
        is_there = await stock.exists("t1", sha256)

        removed = await stock.remove_older("t1", sha256, before=now() + LATER)

        assert (kept, is_there, removed) == (False, True, True)
        assert not await stock.exists("t1", sha256)
        assert not await stock.remove_older("t1", sha256, before=now() + LATER)

    async def test_what_a_run_derived_is_removed_alone(self, stock: Stock) -> None:
        own = await stock.put("t1", b"same")
        await stock.put_run("t1", "r1", b"same")

        assert await stock.remove_older("t1", own, before=now() + LATER, run="r1")

        assert await stock.exists("t1", own)
        assert not await stock.exists("t1", own, run="r1")

    async def test_what_was_uploaded_again_after_a_moment_is_kept_from_its_removal(
        self, stock: Stock
    ) -> None:
        sha256 = await stock.put_run("t1", "r1", b"upload")
        (first,) = await stock.held("t1", run="r1")
        between = first.stored_at + timedelta(microseconds=1)

        async with stock.receiving("t1", run="r1") as incoming:
            await incoming.write(b"upload")
            await incoming.keep()
        received = await stock.remove_older("t1", sha256, before=between, run="r1")
        (second,) = await stock.held("t1", run="r1")
        await stock.put_run("t1", "r1", b"upload")
        later = second.stored_at + timedelta(microseconds=1)
        stored = await stock.remove_older("t1", sha256, before=later, run="r1")

        assert (received, stored) == (False, False)
        assert await stock.remove_older("t1", sha256, before=now() + LATER, run="r1")

    async def test_names_cannot_leave_the_store(self, stock: Stock) -> None:
        with pytest.raises(Rejected):
            await stock.held("..")
        with pytest.raises(Rejected):
            await stock.remove_older("t1", "../x", before=now())


class TestLocalStock(StockContract):
    """The folder."""

    @pytest.fixture
    def stock(self, tmp_path: Path) -> Stock:
        return open_blobs((tmp_path / "blobs").as_uri())

    async def test_other_files_are_neither_told_nor_tenants(self, tmp_path: Path) -> None:
        stock = LocalBlobs.at(tmp_path)
        sha256 = await stock.put("t1", b"text")
        (tmp_path / "t1" / "notes.txt").write_text("no blob")
        (tmp_path / "t1" / sha256_hex(b"folder")).mkdir()

        assert [each.sha256 for each in await stock.held("t1")] == [sha256]
        assert await stock.tenants() == ("t1",)

    async def test_storing_an_old_blob_again_makes_it_new(self, tmp_path: Path) -> None:
        stock = LocalBlobs.at(tmp_path)
        sha256 = await stock.put("t1", b"old")
        age(tmp_path / "t1" / sha256, 2 * REFRESH_AGE_S)
        limit = now() - timedelta(seconds=1.5 * REFRESH_AGE_S)
        was_old = (await stock.held("t1"))[0].stored_at < limit

        await stock.put("t1", b"old")

        assert was_old
        assert not await stock.remove_older("t1", sha256, before=limit)
        assert await stock.exists("t1", sha256)

    async def test_what_is_stored_while_it_is_removed_stays(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stock = LocalBlobs.at(tmp_path)
        path = tmp_path / "t1" / await stock.put("t1", b"old")
        age(path, 2 * REFRESH_AGE_S)
        replace = Path.replace

        def renewed_at_the_last_moment(self: Path, target: Path) -> Path:
            monkeypatch.setattr(Path, "replace", replace)
            os.utime(self)
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", renewed_at_the_last_moment)

        removed = await stock.remove_older("t1", path.name, before=now() - LATER)

        assert not removed
        assert path.read_bytes() == b"old"
        assert list((tmp_path / ".partial").iterdir()) == []

    async def test_a_young_blob_is_not_touched_by_storing_it_again(self, tmp_path: Path) -> None:
        stock = LocalBlobs.at(tmp_path)
        path = tmp_path / "t1" / await stock.put("t1", b"young")
        age(path, REFRESH_AGE_S / 2)
        before = path.stat().st_mtime_ns

        await stock.put("t1", b"young")

        assert path.stat().st_mtime_ns == before


class TestObjectStock(StockContract):
    """The object store, with the memory of its driver."""

    @pytest.fixture
    def stock(self) -> Stock:
        return open_blobs("memory://")

    async def test_storing_an_old_object_again_makes_it_new(
        self, stock: Stock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await stock.put("t1", b"old")
        (first,) = await stock.held("t1")
        await stock.put("t1", b"old")
        (young,) = await stock.held("t1")
        monkeypatch.setattr("chancery.store.blobs.REFRESH_AGE_S", -1.0)
        await stock.put("t1", b"old")
        (renewed,) = await stock.held("t1")

        assert first.stored_at == young.stored_at < renewed.stored_at


def age(path: Path, seconds: float) -> None:
    """Make a file as old as this."""
    then = now().timestamp() - seconds
    os.utime(path, (then, then))
