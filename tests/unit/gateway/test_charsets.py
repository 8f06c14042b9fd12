"""A text that says that it is not UTF-8 is refused, in whichever form it is sent."""

from __future__ import annotations

import httpx
import pytest

from chancery.events import commands
from chancery.events.commands_bulk import BulkPublished, DocumentsPublished
from chancery.kernel.canonical import sha256_hex
from tests.unit.gateway.fakes import World

W = "/v1/workspaces/w"
OTHERS = ("utf-16", "iso-8859-1", '"windows-1252"', "UTF-16LE", "utf-8; charset=utf-16")
SAME = ("utf-8", "UTF-8", '"utf-8"', "utf8", "US-ASCII")
FORMS = ("raw", "part", "json", "dataset", "file")


@pytest.fixture
def world() -> World:
    """Return an edge at which anything may be published."""
    world = World()
    published = commands.PublishedOutcome(
        key="k", revision=1, sequence=1, content_sha256="0" * 64, event_id="e", changed=True
    )
    world.owners.answers |= {
        "query.ingestion.upload-permission.v1": commands.Outcome(sequence=1, changed=True),
        "query.ingestion.bulk-permission.v1": commands.Outcome(sequence=1, changed=False),
        "command.ingestion.publish-revision.v1": published,
        "command.ingestion.publish-snapshot.v1": published,
        "command.ingestion.upload-file.v1": commands.Outcome(sequence=1, changed=True),
    }
    return world


async def send(client: httpx.AsyncClient, form: str, charset: str) -> httpx.Response:
    """Send a text as such a form, and say that it is in `charset`."""
    url, kind = f"{W}/sources/s/revisions", f"text/html ; Charset = {charset}"
    match form:
        case "raw":
            return await client.post(url, content=b"<p>a", headers={"Content-Type": kind})
        case "part":
            return await client.post(url, files={"file": ("a.html", b"<p>a", kind)})
        case "json":
            return await client.post(url, json={"media_type": kind, "text": "<p>a"})
        case "dataset":
            headers = {"Content-Type": f"text/csv;charset={charset}"}
            return await client.post(
                f"{W}/datasets/d/snapshots", content=b"a\n1\n", headers=headers
            )
        case _:
            headers = {"Content-Type": f"text/plain;charset={charset}"}
            return await client.post("/v1/files", content=b"a", headers=headers)


@pytest.mark.req("CR-18")
@pytest.mark.parametrize("form", FORMS)
async def test_another_charset_than_utf_8_is_refused_and_nothing_is_stored(
    world: World, form: str
) -> None:
    async with world.client() as client:
        replies = [await send(client, form, each) for each in OTHERS]

    told = {(each.status_code, each.json()["code"], each.json()["field"]) for each in replies}
    assert told == {(422, "unsupported_charset", "media_type")}
    assert not [subject for subject, _ in world.owners.asked if subject.startswith("command.")]


@pytest.mark.parametrize("form", FORMS)
async def test_utf_8_may_be_said_in_every_spelling(world: World, form: str) -> None:
    async with world.client() as client:
        codes = {(await send(client, form, each)).json().get("code") for each in SAME}

    assert codes <= {None, "unavailable"}
    sent = [subject for subject, _ in world.owners.asked if subject.startswith("command.")]
    assert len(sent) == len(SAME)


async def test_a_charset_of_one_of_many_documents_refuses_that_one(world: World) -> None:
    done = BulkPublished(
        source_id="a", revision=1, content_sha256=sha256_hex(b"a"), event_id="e", sequence=7,
        visibility="workspace", changed=True,
    )  # fmt: skip
    world.owners.answers["command.ingestion.publish-documents.v1"] = DocumentsPublished(
        documents=(done,)
    )
    documents = [
        {"source_id": name, "media_type": f"text/plain; charset={charset}", "text": "a"}
        for name, charset in (("a", "UTF-8"), ("b", "utf-16"))
    ]

    async with world.client() as client:
        told = (await client.post(f"{W}/sources", json={"documents": documents})).json()

    errors = [each["error"] and each["error"]["code"] for each in told["documents"]]
    assert errors == [None, "unsupported_charset"]


async def test_what_is_no_text_has_no_charset(world: World) -> None:
    headers = {"Content-Type": "application/pdf; charset=binary"}

    async with world.client() as client:
        told = await client.post(
            f"{W}/sources/s/revisions", content=b"%PDF-1.7 a %%EOF", headers=headers
        )

    assert told.status_code == 202


async def test_a_corpus_is_declared_in_utf_8(world: World) -> None:
    written = b"corpus Handbook Revision parent.parent title body live revision"

    async with world.client() as client:
        told = [
            (
                await client.put(
                    f"{W}/corpora/Handbook", content=written, headers={"Content-Type": kind}
                )
            ).json()["code"]
            for kind in ("text/plain; charset=latin-1", "text/plain; charset=UTF-8")
        ]

    assert told[0] == "unsupported_charset"
    assert told[1] != "unsupported_charset"
