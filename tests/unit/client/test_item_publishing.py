"""An item is published once for what it says, by who may, and a draft of others as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx
import pytest

from chancery.client.command import item_publishing
from chancery.client.command.item_publishing import (
    NoSuchDraft,
    NotPublisher,
    Publishing,
    publish_draft,
    publish_item,
)
from chancery.client.command.versions import NewVersion
from chancery.client.errors import ProblemError
from chancery.client.http import connect
from chancery.client.knowledge import Evidence
from chancery.events.authority import Role
from chancery.kernel.canonical import Json, sha256_hex

TEXT = "The room opens at nine."
SHA256 = sha256_hex(TEXT.encode())
ROOT: Json = {"kind": "source", "id": "law", "revision": 2}
SAID: Mapping[str, Json] = {
    "title": "Hours",
    "kind": "article",
    "domain": "general",
    "tags": ["a"],
    "author": "cora",
    "content_sha256": SHA256,
    "evidence": [ROOT],
    "evidence_sha256": "e" * 64,
}
SERVING: Mapping[str, Json] = {**SAID, "version": 1, "version_id": "v1", "operation_id": "o1"}
DRAFT: Mapping[str, Json] = {**SAID, "draft_id": "d1"}
SAME = NewVersion(text=TEXT)


class Server:
    """Knows an item and keeps what is sent."""

    def __init__(self, role: Role = "publisher", **item: Json) -> None:
        """Know the caller's role, and what is otherwise of the item."""
        self.role = role
        self.sent: list[tuple[str, Json]] = []
        self.refusal: Mapping[str, Json] | None = None
        self.versions: list[Json] = [dict(SERVING)]
        self.item: dict[str, Json] = {
            "id": "guide",
            "title": "Hours",
            "kind": "article",
            "domain": "general",
            "visibility": "workspace",
            "version": 1,
            "withdrawn": False,
            "state": "ready",
            **item,
        }

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer as the gateway does."""
        if request.url.path == "/v1/workspaces":
            held: Json = [{"workspace_id": "w", "role": self.role}]
            return httpx.Response(200, json={"workspaces": held})
        if request.method == "GET":
            drafts: Json = [dict(DRAFT)]
            told: Json = {"item": self.item, "versions": self.versions, "drafts": drafts}
            return httpx.Response(200, json=told)
        place = str(request.url).partition("/items/")[2]
        self.sent.append((place, json.loads(request.content)))
        if not place.endswith("/drafts"):
            if self.refusal is not None:
                return httpx.Response(409, json=self.refusal)
            published = {"version": 2, "version_id": "v2", "operation_id": "o2"}
            return httpx.Response(202, json={**saved(), **published})
        return httpx.Response(201, json=saved())


def saved() -> dict[str, Json]:
    """Return what saving a draft tells."""
    return {
        "draft_id": "d2",
        "content_sha256": SHA256,
        "evidence_sha256": "e" * 64,
        "sequence": 1,
        "changed": True,
    }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """Return the server that is called."""
    found = Server()

    def client(_: object) -> object:
        return connect("http://chancery", "t", transport=httpx.MockTransport(found))

    monkeypatch.setattr(item_publishing, "server_client", client)
    return found


async def published(
    wanted: NewVersion = SAME, how: Publishing | None = None, *, as_json: bool = True
) -> None:
    await publish_item("w", "guide", wanted, how or Publishing(), as_json=as_json)


@pytest.mark.req("CR-2")
async def test_what_serves_already_is_not_published_again(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Evidence("source", "law", 2)
    whole = NewVersion(
        text=TEXT, title="Hours", tags=["a"], evidence=[root], visibility="workspace"
    )
    for wanted in (SAME, whole):
        await published(wanted)
    await published(as_json=False)

    *told, sentence = capsys.readouterr().out.splitlines()
    assert server.sent == []
    for each in map(json.loads, told):
        assert (each["version"], each["changed"], each["state"]) == (1, False, "ready")
    assert sentence == "guide version 1 is ready, unchanged (--force publishes it again)"


@pytest.mark.req("CR-2")
@pytest.mark.parametrize(
    "wanted",
    [
        NewVersion(text=f"{TEXT} "),
        NewVersion(text=TEXT, title="Other"),
        NewVersion(text=TEXT, kind="note"),
        NewVersion(text=TEXT, domain="legal"),
        NewVersion(text=TEXT, tags=()),
        NewVersion(text=TEXT, evidence=()),
        NewVersion(text=TEXT, evidence=[Evidence("source", "law", 1)]),
        NewVersion(text=TEXT, visibility="restricted"),
    ],
)
async def test_what_differs_in_anything_is_the_next_version(
    server: Server, wanted: NewVersion
) -> None:
    await published(wanted)

    assert [place for place, _ in server.sent] == ["guide/drafts", "guide/drafts/d2/publish"]


@pytest.mark.parametrize(
    ("how", "item"),
    [
        (Publishing(force=True), {}),
        (Publishing(restore=True), {"withdrawn": True}),
        (Publishing(), {"state": "failed"}),
        (Publishing(), {"version": 2}),
        (Publishing(only_draft=True), {}),
    ],
    ids=str,
)
async def test_the_same_is_saved_when_forced_or_when_it_does_not_serve(
    server: Server, how: Publishing, item: Mapping[str, Json]
) -> None:
    server.item |= item

    await published(how=how)

    assert server.sent[0][0] == "guide/drafts"
    assert len(server.sent) == (1 if how.only_draft else 2)


@pytest.mark.req("CR-2")
async def test_a_curator_saves_no_draft_by_publishing(server: Server) -> None:
    server.role = "curator"
    with pytest.raises(NotPublisher, match="a draft, which a publisher publishes") as refused:
        await published(NewVersion(text="other"))
    with pytest.raises(NotPublisher):
        await publish_draft("w", "guide", "d1", Publishing(), as_json=True)
    nothing = list(server.sent)
    await published(NewVersion(text="other"), Publishing(only_draft=True))

    assert (nothing, refused.value.code) == ([], "not_permitted")
    assert [place for place, _ in server.sent] == ["guide/drafts"]


@pytest.mark.req("CR-2")
async def test_a_draft_of_somebody_else_is_published_as_it_is(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    await publish_draft("w", "guide", "d1", Publishing(), as_json=False)

    body: Json = {"content_sha256": SHA256, "evidence": [ROOT]}
    assert server.sent == [("guide/drafts/d1/publish", body)]
    said = capsys.readouterr()
    assert said.out == "guide version 2 is ready\n"
    for part in ("by cora", "source:law:2", f"content {SHA256}"):
        assert part in said.err


async def test_a_draft_that_is_not_there_is_named(server: Server) -> None:
    with pytest.raises(NoSuchDraft) as refused:
        await publish_draft("w", "guide", "d9", Publishing(), as_json=True)

    assert (refused.value.field, server.sent) == ("--from-draft", [])


async def test_what_is_not_published_leaves_a_draft_that_is_named(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refusal = {"status": 409, "code": "withdrawn", "detail": "it is withdrawn"}
    with pytest.raises(ProblemError):
        await published(NewVersion(text="other"))

    assert "chancery item publish guide --from-draft d2 -w" in capsys.readouterr().err
