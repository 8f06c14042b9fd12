"""Uploads at the edge: proven first, streamed to a file, bounded in memory, size and time."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.tokens import build_token, secret_for
from chancery.events import commands, queries
from chancery.gateway.domain.digests import BodyDigest
from chancery.gateway.handlers.arriving import Pace
from chancery.gateway.handlers.room import ARRIVING_BYTES, COPIES, Room
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Denied
from chancery.store.blobs import open_blobs, upload_place
from chancery.testkit.waiting import eventually
from tests.unit.gateway.fakes import KEY, World
from tests.unit.gateway.sending import HUNG_UP, Sender

W = "/v1/workspaces/w"
REVISIONS = f"{W}/sources/s/revisions"
STREAMED = ("/v1/blobs", "/v1/files", REVISIONS, f"{W}/datasets/d/snapshots")
MIB = 1024 * 1024
PIECE = b"0123456789abcde\n" * 4096
"""64 KiB of text."""

MANY = 256
"""Pieces of 16 MiB."""

TABLE = {"/v1/files": "text/plain", f"{W}/datasets/d/snapshots": "text/csv"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Return an edge over a folder, at which anything may be published."""
    world = World(blobs=open_blobs(tmp_path.as_uri()), upload_bytes_max=16 * MIB)
    outcome = commands.Outcome(sequence=1, changed=True)
    world.owners.answers |= {
        "query.release.identity.v1": queries.Identity.model_construct(),
        "query.ingestion.upload-permission.v1": outcome,
        "command.ingestion.upload-file.v1": outcome,
        "command.ingestion.publish-revision.v1": commands.PublishedOutcome(
            key="k", revision=1, sequence=1, content_sha256="0" * 64, event_id="e", changed=True
        ),
    }
    return world


def refusing(world: World) -> World:
    """Let every owner say that the credential is none."""
    world.owners.answers |= dict.fromkeys(world.owners.answers, Denied("no"))
    return world


@pytest.mark.req("CL-8")
@pytest.mark.parametrize("path", [*STREAMED, f"{W}/sources", "/v1/conversations/c/messages"])
async def test_a_well_formed_token_that_is_false_makes_nothing_be_read_or_held(
    world: World, tmp_path: Path, path: str
) -> None:
    held: list[int] = []
    media_type = TABLE.get(path, "application/json" if path not in STREAMED else "text/plain")
    senders = [Sender(PIECE, MANY, seen=lambda: held.append(world.room.held)) for _ in range(50)]
    surface = refusing(world).surface()

    await asyncio.gather(*(each.call(surface, path, media_type) for each in senders))

    assert {each.status for each in senders} == {401}
    assert sum(each.taken for each in senders) == (0 if path in STREAMED else 50)
    assert set(held) <= {0}
    assert _files(tmp_path) == []


@pytest.mark.parametrize("path", [*STREAMED[:3], f"{W}/sources"])
async def test_the_control_with_a_true_token_is_read_to_its_end(world: World, path: str) -> None:
    sender = Sender(PIECE, 4)

    await sender.call(world.surface(), path, "text/plain")

    assert sender.taken == 4
    assert sender.status == (415 if path.endswith("sources") else 201 if "blobs" in path else 202)


async def test_parallel_uploads_stay_within_the_room_and_all_end(world: World) -> None:
    world.room = Room(whole_bytes=8 * MIB, arriving_max=4)
    held: list[int] = []
    senders = [
        Sender(b"%7d\n" % number * 8192, 16, seen=lambda: held.append(world.room.held))
        for number in range(40)
    ]
    surface = world.surface()

    await asyncio.gather(*(each.call(surface, REVISIONS) for each in senders))

    assert {each.status for each in senders} == {202}
    assert max(held) > ARRIVING_BYTES
    assert max(held) <= 8 * MIB + 4 * ARRIVING_BYTES
    assert world.room.held == 0
    for number in range(40):
        sha256 = sha256_hex(b"%7d\n" % number * 8192 * 16)
        assert await world.blobs.exists("default", sha256)


async def test_what_uploads_really_take_of_memory_is_within_the_room(world: World) -> None:
    world.room = Room(whole_bytes=12 * MIB, arriving_max=8)
    senders = [Sender(PIECE, 64) for _ in range(24)]
    surface = world.surface()
    tracemalloc.start()
    try:
        await asyncio.gather(*(each.call(surface, REVISIONS) for each in senders))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert {each.status for each in senders} == {202}
    assert peak < 12 * MIB + 8 * ARRIVING_BYTES + 8 * MIB < 24 * 64 * len(PIECE) / 2


@pytest.mark.parametrize("path", [REVISIONS, f"{W}/sources"])
async def test_a_room_that_stays_full_is_a_refusal_that_says_when_to_come_back(
    world: World, tmp_path: Path, path: str
) -> None:
    world.room = Room(arriving_max=1, wait_s=0.05)
    surface, sender, after = world.surface(), Sender(PIECE, 4), Sender(PIECE, 4)

    async with asyncio.TaskGroup() as group:
        silent = group.create_task(Sender(PIECE, 4, ending=None).call(surface, REVISIONS))
        await eventually(lambda: world.room.arriving_now == 1)
        await sender.call(surface, path, "application/json" if path != REVISIONS else "text/plain")
        silent.cancel()
    await after.call(surface, REVISIONS)

    assert sender.status == 503
    assert sender.problem["code"] == "bodies_full"
    assert int(sender.header["retry-after"]) >= 1
    assert sender.header["content-type"] == "application/problem+json"
    assert after.status == 202
    assert [path.parent.name for path in _files(tmp_path)] == ["default"]


async def test_one_caller_cannot_take_every_place(world: World) -> None:
    world.room = Room(arriving_max=3, of_one_max=2, wait_s=0.05)
    surface = world.surface()
    token = build_token("default", "bob", "c2", secret_for(KEY, "c2"))
    silent = [Sender(PIECE, 1, ending=None) for _ in range(2)]
    again, other = Sender(PIECE, 1), Sender(PIECE, 1, token=token)
    async with asyncio.TaskGroup() as group:
        holding = [group.create_task(each.call(surface, REVISIONS)) for each in silent]
        await eventually(lambda: world.room.arriving_now == 2)
        await again.call(surface, REVISIONS)
        await other.call(surface, REVISIONS)
        for each in holding:
            each.cancel()

    assert (again.status, other.status) == (503, 202)
    assert world.room.held == 0


@pytest.mark.req("CL-8")
@pytest.mark.parametrize("path", STREAMED)
async def test_an_upload_that_is_cut_off_leaves_nothing(
    world: World, tmp_path: Path, path: str
) -> None:
    on_disk: list[Path] = []
    sender = Sender(PIECE, 40, ending=HUNG_UP, seen=lambda: on_disk.extend(_files(tmp_path)))

    await sender.call(world.surface(), path, TABLE.get(path, "text/plain"))

    assert sender.taken == 40
    assert {path.parent.name for path in on_disk} == {".partial"}
    assert sender.sent == []
    assert _files(tmp_path) == []
    assert not [subject for subject, _ in world.owners.asked if subject.startswith("command.")]
    assert world.room.held == 0


@pytest.mark.parametrize("path", [*STREAMED, f"{W}/sources"])
async def test_who_falls_silent_is_refused_and_leaves_nothing(
    world: World, tmp_path: Path, path: str
) -> None:
    world.pace = Pace(pause_max_s=0.3)
    sender = Sender(PIECE, 8, ending=None)

    await sender.call(world.surface(), path, TABLE.get(path, "text/plain"))

    assert (sender.status, sender.problem["code"], sender.taken) == (408, "body_timeout", 8)
    assert _files(tmp_path) == []
    assert world.room.held == 0


@pytest.mark.parametrize("path", STREAMED)
@pytest.mark.parametrize("is_declared", [True, False])
async def test_too_much_is_refused_before_it_is_read(
    world: World, tmp_path: Path, path: str, *, is_declared: bool
) -> None:
    world.upload_bytes_max = 10 * len(PIECE)
    headers = {"content-length": str(MANY * len(PIECE))} if is_declared else {}
    sender = Sender(PIECE, MANY, headers=headers)

    await sender.call(world.surface(), path, TABLE.get(path, "text/plain"))

    assert sender.status == 413
    assert sender.taken == (0 if is_declared else 11)
    assert _files(tmp_path) == []


async def test_a_media_type_that_no_document_has_is_refused_before_it_is_read(
    world: World,
) -> None:
    sender = Sender(PIECE, MANY)

    await sender.call(world.surface(), REVISIONS, "video/mp4")

    assert (sender.status, sender.taken) == (415, 0)


@pytest.mark.req("CR-18")
async def test_content_that_could_never_be_quoted_is_not_stored(
    world: World, tmp_path: Path
) -> None:
    sender = Sender(b"\xff" * 65_536, 8)

    await sender.call(world.surface(), REVISIONS)

    assert (sender.status, sender.problem["code"]) == (422, "invalid_utf8")
    assert _files(tmp_path) == []


async def test_a_large_file_in_a_form_is_the_same_as_in_a_raw_body(world: World) -> None:
    data = PIECE * 48

    async with world.client() as client:
        formed = await client.post(REVISIONS, files={"file": ("a.txt", data, "text/plain")})
        raw = await client.post(REVISIONS, content=data, headers={"Content-Type": "text/plain"})

    assert (formed.status_code, raw.status_code) == (202, 202)
    sent = [
        request.body.content_sha256
        for _, request in world.owners.asked
        if isinstance(request.body, commands.PublishRevision)
    ]
    assert sent == [sha256_hex(data)] * 2
    assert world.room.held == 0


async def test_a_blob_is_streamed_to_the_place_of_its_sender(world: World) -> None:
    sender = Sender(PIECE, 100)

    await sender.call(world.surface(), "/v1/blobs", "application/octet-stream")

    assert sender.status == 201
    assert sender.problem == {"sha256": sha256_hex(PIECE * 100), "size_bytes": 100 * len(PIECE)}
    place = upload_place("ada")
    assert await world.blobs.exists("default", sha256_hex(PIECE * 100), run=place)


@given(data=st.data(), boundary=st.sampled_from([b"b", b"--a", b"aba", b"abab"]))
def test_the_hash_of_a_form_does_not_depend_on_its_pieces_or_boundary(
    data: st.DataObject, boundary: bytes
) -> None:
    inner = data.draw(st.lists(st.sampled_from([b"a", b"b", b"-", boundary, b"x"]), max_size=30))
    body = b"".join(inner)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    digest = BodyDigest(f'multipart/form-data; boundary="{boundary.decode()}"', b"q=1")

    for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
        digest.add(body[start:end])

    expected = b"multipart/form-data?q=1\n" + body.replace(boundary, b"")
    assert digest.sha256() == sha256_hex(expected)


@given(pieces=st.lists(st.binary(max_size=20)))
def test_the_hash_of_a_body_does_not_depend_on_its_pieces(pieces: list[bytes]) -> None:
    digest = BodyDigest("Text/Plain; charset=utf-8", b"")

    for piece in pieces:
        digest.add(piece)

    assert digest.sha256() == sha256_hex(b"text/plain\n" + b"".join(pieces))


async def test_bytes_are_given_in_the_order_of_asking_and_one_body_always_fits() -> None:
    room = Room(whole_bytes=10 * COPIES)
    order: list[int] = []

    async def take(size: int) -> None:
        async with room.whole(size):
            order.append(size)
            assert room.whole_now <= max(10 * COPIES, size * COPIES)
            turn = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(turn.cancel)
            await asyncio.wait([turn])

    await asyncio.gather(*(take(size) for size in (4, 6, 50, 1, 2, 10, 3)))

    assert order == [4, 6, 50, 1, 2, 10, 3]
    assert room.held == 0


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
