"""Sweeping uploads: what any event names stays, what is young stays, and doubt removes nothing."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chancery.bus.load import Stored, StreamState
from chancery.client.command.named import LogIncomplete, hashes_in
from chancery.client.command.output import WrongUsage
from chancery.client.command.sweep import Sweep, Swept, parse_age
from chancery.events.topology import AUTHORITY, INDEX, INTAKE, RUNS, STREAMS
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import FixedClock
from chancery.kernel.errors import Corrupt, Unavailable
from chancery.store.blobs import upload_place
from chancery.store.local_blobs import LocalBlobs

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CREATED = NOW - timedelta(days=30)
DAY = timedelta(days=1)
TENANT = "acme"
PLACE = upload_place("anna")


@dataclass(slots=True)
class Log:
    """Streams in lists; a hole is None, and `away` cannot be read."""

    streams: dict[str, list[Stored | None]] = field(
        default_factory=lambda: {stream.name: [] for stream in STREAMS}
    )
    firsts: dict[str, int] = field(default_factory=dict[str, int])
    created: datetime = CREATED
    away: tuple[str, int] | None = None

    def append(self, stream: str, subject: str, payload: bytes = b"{}") -> None:
        """Append a message."""
        held = self.streams[stream]
        held.append(Stored(len(held) + 1, subject, payload, NOW, None))

    async def state(self, stream: str) -> StreamState:
        """Return the state, as `Streams` does."""
        first = self.firsts.get(stream, 1)
        return StreamState(first, len(self.streams[stream]), self.created, None)

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """Return a message, as `Streams` does."""
        if self.away == (stream, sequence):
            message = "the leader does not answer"
            raise Unavailable(message)
        return self.streams[stream][sequence - 1]


@dataclass(slots=True)
class World:
    """A log that knows a tenant with a principal, and blobs in a folder."""

    folder: Path
    log: Log = field(default_factory=Log)
    blobs: LocalBlobs = field(init=False)

    def __post_init__(self) -> None:
        self.blobs = LocalBlobs.at(self.folder)
        self.log.append(AUTHORITY, f"authority.{TENANT}.tenant.{TENANT}")
        self.log.append(AUTHORITY, f"authority.{TENANT}.principal.anna")

    def name(self, sha256: str, stream: str = AUTHORITY) -> None:
        """Append an event that names a blob."""
        subject = f"authority.{TENANT}.source.s1" if stream == AUTHORITY else f"x.{TENANT}.y"
        self.log.append(stream, subject, json.dumps({"content_sha256": sha256}).encode())

    async def store(self, data: bytes, *, age: timedelta = 2 * DAY, run: str | None = None) -> str:
        """Store a blob of this age."""
        if run is None:
            sha256 = await self.blobs.put(TENANT, data)
            path = self.folder / TENANT / sha256
        else:
            sha256 = await self.blobs.put_run(TENANT, run, data)
            path = self.folder / TENANT / "runs" / run / sha256
        moment = (NOW - age).timestamp()
        os.utime(path, (moment, moment))
        return sha256

    async def sweep(self, older_than: timedelta = DAY, *, dry_run: bool = False) -> Swept:
        """Sweep."""
        work = Sweep(
            streams=self.log,
            stock=self.blobs,
            clock=FixedClock(NOW),
            tell=lambda step, done, total: None,
        )
        return await work.run(older_than, dry_run=dry_run)

    async def is_there(self, sha256: str, run: str | None = None) -> bool:
        """Tell whether a blob is there."""
        return await self.blobs.exists(TENANT, sha256, run=run)


def hashes(swept: Swept) -> set[str]:
    return {place.held.sha256 for place in swept.removed}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "blobs")


async def test_an_upload_that_no_event_names_goes_and_a_named_one_stays(world: World) -> None:
    lost = await world.store(b"lost", run=PLACE)
    lost_too = await world.store(b"lost too")
    kept = await world.store(b"kept", run=PLACE)
    world.name(kept)

    swept = await world.sweep()

    assert hashes(swept) == {lost, lost_too}
    assert (swept.seen, swept.size) == (3, len(b"lost") + len(b"lost too"))
    assert not await world.is_there(lost, PLACE)
    assert not await world.is_there(lost_too)
    assert await world.is_there(kept, PLACE)


@pytest.mark.parametrize("stream", [stream.name for stream in STREAMS])
async def test_one_word_on_any_stream_keeps_a_blob(world: World, stream: str) -> None:
    named, lost = await world.store(b"named"), await world.store(b"lost")
    world.name(named, stream)

    assert hashes(await world.sweep()) == {lost}
    assert await world.is_there(named)


async def test_what_a_named_manifest_names_stays_however_deep(world: World) -> None:
    layout = await world.store(b"layout")
    inner = await world.store(json.dumps({"layout_sha256": layout}).encode())
    outer = await world.store(json.dumps({"inner": inner}).encode())
    unnamed = await world.store(json.dumps({"layout_sha256": sha256_hex(b"?")}).encode())
    world.name(outer, INDEX)

    assert hashes(await world.sweep()) == {unnamed}
    assert await world.is_there(layout)


async def test_what_is_young_or_older_than_the_log_stays(world: World) -> None:
    young = await world.store(b"young", age=DAY - timedelta(seconds=1))
    foreign = await world.store(b"older than the log", age=31 * DAY)
    old = await world.store(b"old", age=DAY + timedelta(seconds=1))

    assert hashes(await world.sweep()) == {old}
    assert await world.is_there(young)
    assert await world.is_there(foreign)


async def test_what_runs_derived_and_unknown_places_are_left_alone(world: World) -> None:
    derived = await world.store(b"question", run="r1")
    nobody = await world.store(b"upload", run=upload_place("nobody"))
    lost = await world.store(b"lost", run=PLACE)

    assert hashes(await world.sweep()) == {lost}
    assert await world.is_there(derived, "r1")
    assert await world.is_there(nobody, upload_place("nobody"))


async def test_a_dry_run_tells_the_same_and_removes_nothing(world: World) -> None:
    lost = await world.store(b"lost")

    told = await world.sweep(dry_run=True)
    is_there = await world.is_there(lost)
    swept = await world.sweep()

    assert hashes(told) == hashes(swept) == {lost}
    assert is_there
    assert (await world.sweep()).removed == ()


async def test_what_was_named_while_it_was_listed_stays(world: World) -> None:
    late, lost = await world.store(b"late"), await world.store(b"lost")
    tenants = world.blobs.tenants

    class Listing(LocalBlobs):
        async def tenants(self) -> tuple[str, ...]:
            world.name(late)
            return await tenants()

    world.blobs = Listing(world.folder)

    assert hashes(await world.sweep()) == {lost}
    assert await world.is_there(late)


async def test_what_is_stored_again_before_it_is_removed_stays(world: World) -> None:
    again, lost = await world.store(b"again"), await world.store(b"lost")

    class Removing(LocalBlobs):
        async def remove_older(
            self, tenant: str, sha256: str, *, before: datetime, run: str | None = None
        ) -> bool:
            await self.put(TENANT, b"again")
            return await LocalBlobs.remove_older(self, tenant, sha256, before=before, run=run)

    world.blobs = Removing(world.folder)

    assert hashes(await world.sweep()) == {lost}
    assert await world.is_there(again)


@pytest.mark.parametrize("stream", [AUTHORITY, INDEX, RUNS, INTAKE])
async def test_a_stream_that_cannot_be_read_removes_nothing(world: World, stream: str) -> None:
    lost = await world.store(b"lost")
    for _ in range(100):
        world.log.append(stream, "x.y.z")
    world.log.away = (stream, 70)

    with pytest.raises(Unavailable):
        await world.sweep()
    is_there = await world.is_there(lost)
    world.log.away = None

    assert is_there
    assert hashes(await world.sweep()) == {lost}


@pytest.mark.parametrize("damage", ["hole", "head", "empty", "tenant", "again"])
async def test_a_log_that_does_not_account_for_everything_removes_nothing(
    world: World, damage: str
) -> None:
    lost = await world.store(b"lost")
    world.log.append(INDEX, "index.acme.source.s1")
    world.log.append(INDEX, "index.acme.source.s1")
    sound = hashes(await world.sweep(dry_run=True))
    match damage:
        case "hole":
            world.log.streams[INDEX][0] = None
        case "head":
            world.log.firsts[INDEX] = 2
        case "empty":
            world.log.streams[AUTHORITY].clear()
        case "tenant":
            await world.blobs.put("globex", b"another's")
        case _:
            state, seen = world.log.state, list[str]()

            class Remade(Log):
                async def state(self, stream: str) -> StreamState:
                    seen.append(stream)
                    found = await state(stream)
                    is_later = seen.count(stream) > 1
                    return replace(found, created=NOW) if is_later else found

            world.log = Remade(world.log.streams)

    with pytest.raises(LogIncomplete):
        await world.sweep()

    assert sound == {lost}
    assert await world.is_there(lost)


async def test_an_expired_fence_or_run_is_no_hole(world: World) -> None:
    lost = await world.store(b"lost")
    for stream in (AUTHORITY, RUNS):
        world.log.streams[stream].append(None)
        world.log.append(stream, "run.acme.r1.sealed")
    world.log.firsts[RUNS] = 2

    assert hashes(await world.sweep()) == {lost}


async def test_a_damaged_manifest_removes_nothing(world: World) -> None:
    lost = await world.store(b"lost")
    manifest = await world.store(b'{"layout_sha256": ""}')
    world.name(manifest, INDEX)
    (world.folder / TENANT / manifest).write_bytes(b'{"layout_sha256": "?"}')

    with pytest.raises(Corrupt):
        await world.sweep()

    assert await world.is_there(lost)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    blobs=st.lists(
        st.tuples(
            st.sampled_from([None, PLACE, "r1"]),
            st.integers(0, 72),
            st.sampled_from([None, *(stream.name for stream in STREAMS)]),
        ),
        max_size=8,
    )
)
async def test_exactly_what_is_unnamed_and_old_is_removed(
    tmp_path_factory: pytest.TempPathFactory, blobs: list[tuple[str | None, int, str | None]]
) -> None:
    world = World(tmp_path_factory.mktemp("blobs"))
    expected: set[str] = set()
    for number, (run, hours, stream) in enumerate(blobs):
        sha256 = await world.store(b"%d" % number, age=timedelta(hours=hours), run=run)
        if stream is not None:
            world.name(sha256, stream)
        elif hours > 24 and run != "r1":
            expected.add(sha256)

    assert hashes(await world.sweep()) == expected


@given(before=st.binary(max_size=70), after=st.binary(max_size=70), content=st.binary())
def test_a_hash_is_seen_wherever_it_stands(before: bytes, after: bytes, content: bytes) -> None:
    sha256 = sha256_hex(content)

    assert sha256 in set(hashes_in(before + sha256.encode() + after))


@pytest.mark.parametrize(
    ("written", "expected"),
    [("24h", DAY), ("60m", timedelta(hours=1)), ("7d", 7 * DAY), ("1h", timedelta(hours=1))],
)
def test_an_age_is_written_in_minutes_hours_or_days(written: str, expected: timedelta) -> None:
    assert parse_age(written) == expected


@pytest.mark.parametrize("written", ["59m", "0h", "1", "h", "-2h", "1.5h", "24 h", "1w", ""])
def test_another_age_or_one_below_an_hour_is_wrong_usage(written: str) -> None:
    with pytest.raises(WrongUsage, match="--older-than"):
        parse_age(written)
