"""Digests that a request states of its body: a false one stores nothing and does nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events import commands, queries
from chancery.gateway.domain.sent_digests import FIELDS, SentDigests, sent_digests
from chancery.kernel.errors import Rejected
from chancery.store.blobs import open_blobs
from tests.unit.gateway.fakes import World

W = "/v1/workspaces/w"
DATA = b"Some text, and more of it.\n"
FORM = (
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\nSome text.\r\n--b--\r\n"
)
ALGORITHMS: dict[str, Callable[[bytes], bytes]] = {
    "sha-256": lambda data: hashlib.sha256(data).digest(),
    "sha-512": lambda data: hashlib.sha512(data).digest(),
}


def stated(data: bytes, *algorithms: str) -> str:
    """Return what a field says of `data`."""
    return ", ".join(
        f"{each}=:{b64encode(ALGORITHMS[each](data)).decode()}:" for each in algorithms
    )


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Return an edge over a folder, at which anything may be published."""
    world = World(blobs=open_blobs(tmp_path.as_uri()))
    outcome = commands.Outcome(sequence=1, changed=True)
    world.owners.answers |= {
        "query.release.identity.v1": queries.Identity.model_construct(),
        "query.ingestion.upload-permission.v1": outcome,
        "command.ingestion.upload-file.v1": outcome,
        "command.ingestion.create-workspace.v1": outcome,
        "command.ingestion.publish-revision.v1": commands.PublishedOutcome(
            key="k", revision=1, sequence=1, content_sha256="0" * 64, event_id="e", changed=True
        ),
    }
    return world


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.req("CL-8")
@pytest.mark.parametrize("path", ["/v1/blobs", "/v1/files", f"{W}/sources/s/revisions"])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
async def test_an_upload_with_a_false_digest_is_refused_and_nothing_is_stored(
    world: World, tmp_path: Path, path: str, field: str, algorithm: str
) -> None:
    headers = {"Content-Type": "text/plain", field: stated(DATA + b"!", algorithm)}
    params = {"title": "T"} if path == "/v1/files" else {}

    async with world.client() as client:
        refused = await client.post(path, content=DATA, headers=headers, params=params)
        left = files(tmp_path)
        sent = [subject for subject, _ in world.owners.asked if subject.startswith("command.")]
        headers[field] = stated(DATA, algorithm)
        taken = await client.post(path, content=DATA, headers=headers, params=params)

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, "digest_mismatch")
    assert (problem["field"], algorithm in problem["detail"]) == (field, True)
    assert (left, sent) == ([], [])
    assert taken.is_success, taken.text
    assert len(files(tmp_path)) == 1


@pytest.mark.req("CL-8")
@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", b'{"media_type": "text/plain", "text": "Some text."}'),
        ("multipart/form-data; boundary=b", FORM),
    ],
)
async def test_the_digest_is_of_the_body_as_it_is_sent(
    world: World, tmp_path: Path, media_type: str, body: bytes
) -> None:
    path, headers = f"{W}/sources/s/revisions", {"Content-Type": media_type}

    async with world.client() as client:
        headers["Content-Digest"] = stated(b"Some text.", "sha-256")
        refused = await client.post(path, content=body, headers=headers)
        left = files(tmp_path)
        headers["Content-Digest"] = stated(body, "sha-256")
        taken = await client.post(path, content=body, headers=headers)

    assert (refused.status_code, refused.json()["code"], left) == (422, "digest_mismatch", [])
    assert taken.is_success, taken.text
    assert [path.read_bytes() for path in files(tmp_path)] == [b"Some text."]


async def test_any_body_with_a_false_digest_is_refused(world: World) -> None:
    body = b'{"workspace_id": "w", "title": "W"}'
    headers = {"Content-Type": "application/json", "Content-Digest": stated(DATA, "sha-256")}

    async with world.client() as client:
        refused = await client.post("/v1/workspaces", content=body, headers=headers)
        sent = [subject for subject, _ in world.owners.asked if subject.startswith("command.")]
        headers["Content-Digest"] = stated(body, "sha-256")
        taken = await client.post("/v1/workspaces", content=body, headers=headers)

    assert (refused.status_code, refused.json()["code"], sent) == (422, "digest_mismatch", [])
    assert taken.is_success, taken.text


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("md5=:AAAA:, unixsum=30637", None),
        ("crc32c=:AAAA:, {true}", None),
        ("{true}, {false512}", "digest_mismatch"),
        ("{false}, {true}", None),  # A name that is there twice counts as it is there last.
        ("sha-256=:AAAA:", "digest_mismatch"),
        ("sha-256=::", "digest_mismatch"),
        ("sha-256=:AAA:", "invalid_digest"),
        ("sha-256=AAAA", "invalid_digest"),
        ("sha-256", "invalid_digest"),
        ("SHA-256=:AAAA:", "invalid_digest"),
        ("{true},", "invalid_digest"),
        ("{true} {true}", "invalid_digest"),
        ("{true}; q=1, md5=:AAAA:;a", None),
        ("", None),
    ],
)
async def test_what_is_known_is_verified_and_what_is_not_is_passed_over(
    world: World, tmp_path: Path, value: str, code: str | None
) -> None:
    field = value.format(
        true=stated(DATA, "sha-256"),
        false=stated(b"other", "sha-256"),
        false512=stated(b"other", "sha-512"),
    )
    headers = {"Content-Type": "text/plain", "Content-Digest": field}

    async with world.client() as client:
        response = await client.post("/v1/blobs", content=DATA, headers=headers)

    told = None if response.is_success else response.json()["code"]
    assert (told, len(files(tmp_path))) == (code, int(code is None))
    assert response.status_code == (201 if code is None else 422)


async def test_a_field_in_several_lines_is_one_field(world: World) -> None:
    lines = [
        ("Content-Type", "text/plain"),
        ("Content-Digest", stated(DATA, "sha-256")),
        ("Content-Digest", stated(b"other", "sha-512")),
    ]

    async with world.client() as client:
        refused = await client.post("/v1/blobs", content=DATA, headers=lines)
        taken = await client.post("/v1/blobs", content=DATA, headers=lines[:2])

    assert (refused.status_code, refused.json()["code"]) == (422, "digest_mismatch")
    assert taken.is_success


@given(st.lists(st.binary(max_size=50), max_size=5), st.sampled_from(sorted(ALGORITHMS)))
def test_pieces_have_the_digest_that_they_have_together(pieces: list[bytes], name: str) -> None:
    whole = b"".join(pieces)
    true = SentDigests(sent_digests("Content-Digest", stated(whole, name)))
    false = SentDigests(sent_digests("Repr-Digest", stated(whole + b"x", name)))
    for piece in pieces:
        true.add(piece)
        false.add(piece)

    true.check()
    with pytest.raises(Rejected) as refused:
        false.check()
    assert refused.value.field == "Repr-Digest"
