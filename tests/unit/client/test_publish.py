"""Publishing again never widens who may read, and one bad file does not stop the others."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.client.command import bulk, publish
from chancery.client.command.declaring import Wanted
from chancery.client.command.items import Item, check_item, find_items
from chancery.client.command.publish import run_publish
from chancery.client.http import connect
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Rejected

HIDDEN: Json = {"kind": "source", "id": "safe", "title": "The safe", "visibility": "restricted",
                "authority": "normative", "date": "2024-01-01", "revision": 1,
                "withdrawn": False}  # fmt: skip
ORDERS: Json = {"kind": "dataset", "id": "orders", "title": "Orders", "visibility": "workspace",
                "revision": 1, "withdrawn": False}  # fmt: skip
PUBLISHED: Mapping[str, Json] = {"revision": 2, "snapshot": 2, "sequence": 9, "event_id": "e",
                                 "content_sha256": "0" * 64, "state": "ready"}  # fmt: skip


class Server:
    """Knows what was declared before, and keeps what is sent to it."""

    def __init__(self, existing: Mapping[str, Json]) -> None:
        """Know the resources of `existing` by their paths below the workspace."""
        self.existing = existing
        self.sent: list[tuple[str, str, Json]] = []
        self.bulk: dict[str, Json] = {}
        self.failing: frozenset[str] = frozenset()
        self.refusing: frozenset[str] = frozenset()
        self.published: Mapping[str, Json] = PUBLISHED
        self.away = 0
        self.listed = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer as the gateway does."""
        place = request.url.path.removeprefix("/v1/workspaces/plant/")
        if request.method == "GET" and place.endswith("/status"):
            if self.away > 0:
                self.away -= 1
                # Any other sign of absence is waited out below, in the transport.
                return httpx.Response(500, json={"status": 500})
            failed = place.split("/")[1] in self.failing
            status = {"state": "failed", "reason": "timeout"} if failed else {"state": "ready"}
            return httpx.Response(200, json={"revision": 2, **status})
        if request.method == "GET" and place == "sources":
            self.listed += 1
            return httpx.Response(200, json={"resources": list(self.bulk.values())})
        if request.method == "GET":
            found = self.existing.get(place)
            status = 404 if found is None else 200
            return httpx.Response(status, json=found or {"status": 404})
        if request.method == "POST" and place == "sources":
            return self.take(json.loads(request.content)["documents"])
        body = json.loads(request.content) if request.method == "PUT" else None
        self.sent.append((request.method, place, body))
        if request.method == "PUT":
            return httpx.Response(200, json={"sequence": 8, "changed": True})
        return httpx.Response(201, json=self.published)

    def take(self, documents: list[dict[str, str]]) -> httpx.Response:
        """Publish a batch: all are indexed at once but those that fail, none that is refused."""
        told: list[Json] = []
        for document in documents:
            name = document["source_id"]
            self.sent.append(("POST", f"sources/{name}", document["media_type"]))
            if name in self.refusing:
                told.append({"source": name, "error": {"code": "not_permitted", "detail": "no"}})
                continue
            is_new = name not in self.bulk
            state = "failed" if name in self.failing else "ready"
            self.bulk[name] = {"kind": "source", "id": name, "title": name, "revision": 1,
                               "visibility": "workspace", "withdrawn": False,
                               "state": state}  # fmt: skip
            told.append({"source": name, "revision": 1, "visibility": "workspace",
                         "changed": is_new})  # fmt: skip
        return httpx.Response(202, json={"documents": told})

    def declared(self) -> list[Json]:
        """Return the declarations that came."""
        return [body for method, _, body in self.sent if method == "PUT"]


async def published(
    server: Server,
    path: Path,
    wanted: Wanted,
    monkeypatch: pytest.MonkeyPatch,
    *,
    as_json: bool = True,
) -> int:
    def client(_: object) -> object:
        return connect("http://chancery", "tok", transport=httpx.MockTransport(server))

    monkeypatch.setattr(publish, "server_client", client)
    return await run_publish(path, "plant", wanted, as_json=as_json)


def counts(told: dict[str, dict[str, int]]) -> tuple[int, ...]:
    names = ("files", "ready", "failed", "unchanged", "withdrawn")
    return tuple(told["summary"][name] for name in names)


async def test_publishing_again_keeps_a_restricted_source_restricted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "safe.md"
    page.write_text("The code is 4711.", "utf-8")
    server = Server({"sources/safe": HIDDEN})

    code = await published(server, page, Wanted(), monkeypatch)

    assert code == 0
    assert server.declared() == []
    assert [place for _, place, _ in server.sent] == ["sources/safe/revisions"]


async def test_access_is_widened_by_its_own_option_only_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "safe.md"
    page.write_text("The code is 4711.", "utf-8")
    server = Server({"sources/safe": HIDDEN})

    await published(server, page, Wanted(visibility="workspace"), monkeypatch)

    kept = {"title": "The safe", "authority": "normative", "date": "2024-01-01"}
    assert server.declared() == [{"visibility": "workspace", **kept}]
    told = json.loads(capsys.readouterr().out)["published"][0]
    assert (told["visibility_before"], told["visibility"]) == ("restricted", "workspace")


async def test_a_new_title_keeps_who_may_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "safe.md"
    page.write_text("The code is 4711.", "utf-8")
    server = Server({"sources/safe": HIDDEN})

    await published(server, page, Wanted(title="Vault"), monkeypatch)

    (declared,) = server.declared()
    assert isinstance(declared, dict)
    assert (declared["title"], declared["visibility"]) == ("Vault", "restricted")


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("wanted", [Wanted(visibility="restricted"), Wanted(title="Other")])
async def test_what_is_asked_for_of_a_dataset_is_all_that_is_declared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: Wanted
) -> None:
    table = tmp_path / "orders.csv"
    table.write_text("id,amount\n1,2\n", "utf-8")
    server = Server({"datasets/orders": ORDERS})

    assert await published(server, table, wanted, monkeypatch) == 0

    title, visibility = wanted.title or "Orders", wanted.visibility or "workspace"
    assert server.declared() == [{"title": title, "visibility": visibility}]


async def test_a_dataset_that_has_what_is_asked_for_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "orders.csv"
    table.write_text("id,amount\n1,2\n", "utf-8")
    server = Server({"datasets/orders": ORDERS})

    code = await published(server, table, Wanted("Orders", "workspace"), monkeypatch)

    assert code == 0
    assert [place for _, place, _ in server.sent] == ["datasets/orders/snapshots"]


async def test_a_bad_file_is_named_declared_nowhere_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_bytes(b"caf\xe9")
    (tmp_path / "b.md").write_text("A page.", "utf-8")
    server = Server({})

    code = await published(server, tmp_path, Wanted(), monkeypatch)

    first, second = json.loads(capsys.readouterr().out)["published"]
    assert code == 1
    assert (first["path"], first["error"]["code"]) == (str(tmp_path / "a.md"), "invalid_utf8")
    assert (second["source"], second["state"]) == ("b", "ready")
    assert {place.split("/")[1] for _, place, _ in server.sent} == {"b"}


async def test_each_file_of_a_folder_ends_ready_or_failed_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.md", "b.txt", "c.html", "d.md"):
        (tmp_path / name).write_text("A page.", "utf-8")
    server = Server({})
    server.failing, server.refusing = frozenset({"b--txt"}), frozenset({"c--html"})

    code = await published(server, tmp_path, Wanted(), monkeypatch)

    told = json.loads(capsys.readouterr().out)
    assert code == 1
    assert [each.get("state") for each in told["published"]] == ["ready", "failed", None, "ready"]
    reasons = [each["error"]["code"] for each in told["published"] if "error" in each]
    assert reasons == ["not_indexed", "not_permitted"]
    assert counts(told) == (4, 2, 2, 0, 0)


@pytest.mark.parametrize("files", [1, bulk.FEW + 1])
async def test_a_server_that_is_away_for_a_moment_fails_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], files: int
) -> None:
    for number in range(files):
        (tmp_path / f"{number}.md").write_text("A page.", "utf-8")
    server = Server({})
    server.failing, server.away = frozenset({"0"}), 2

    code = await published(server, tmp_path, Wanted(), monkeypatch)

    told = json.loads(capsys.readouterr().out)
    assert (code, server.away) == (1, 0)
    assert [each["error"]["code"] for each in told["published"] if "error" in each] == [
        "not_indexed"
    ]
    assert counts(told) == (files, files - 1, 1, 0, 0)


async def test_the_last_few_documents_are_asked_after_without_listing_all_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(bulk.FEW):
        (tmp_path / f"{number}.md").write_text("A page.", "utf-8")
    few, many = Server({}), Server({})

    await published(few, tmp_path, Wanted(), monkeypatch)
    (tmp_path / "more.md").write_text("A page.", "utf-8")
    await published(many, tmp_path, Wanted(), monkeypatch)

    assert (few.listed, many.listed) == (1, 2)


@given(st.floats(0, 10), st.floats(0, 10))
def test_a_pause_is_ten_times_as_long_as_the_look_before_it(look_s: float, idle_s: float) -> None:
    pause_s = bulk.pause_after(look_s, idle_s)

    assert pause_s <= 2
    assert pause_s == 2 or pause_s >= max(10 * look_s, idle_s)
    assert bulk.pause_after(0.001, 0.25) == 0.25


async def test_a_repeated_run_tells_what_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(230):
        (tmp_path / f"{number}.md").write_text(f"Page {number}.", "utf-8")
    server = Server({})

    first = await published(server, tmp_path, Wanted(), monkeypatch)
    capsys.readouterr()
    second = await published(server, tmp_path, Wanted(), monkeypatch)

    told = json.loads(capsys.readouterr().out)
    assert (first, second) == (0, 0)
    assert counts(told) == (230, 230, 0, 230, 0)


async def test_what_travels_alone_is_counted_as_unchanged_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(publish, "SINGLE_BYTES", 1)
    (tmp_path / "orders.csv").write_text("id,amount\n1,5\n", "utf-8")
    (tmp_path / "safe.md").write_text("The code is 4711.", "utf-8")
    server = Server({"sources/safe": HIDDEN, "datasets/orders": ORDERS})
    unchanged = list[int]()
    for reply in ({"changed": False}, {"changed": True}, {}):
        server.published = {**PUBLISHED, **reply}
        await published(server, tmp_path, Wanted(), monkeypatch)
        unchanged.append(json.loads(capsys.readouterr().out)["summary"]["unchanged"])

    assert unchanged == [2, 0, 0]


async def test_one_title_for_a_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("A page.", "utf-8")

    with pytest.raises(Rejected) as refused:
        await published(Server({}), tmp_path, Wanted(title="All"), monkeypatch)

    assert refused.value.code == "title_for_folder"


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.md", b"\xef\xbb\xbf \xe2\x80\x8b\n", "empty_content"),
        ("a.txt", b"a\x00b", "nul_byte"),
        ("a.pdf", b"no document", "wrong_media_type"),
        ("a.csv", b"id;amount\n1;2\n", "csv_separator"),
        ("a.csv", b"id,amount\n1\n", "csv_ragged_row"),
        ("a.csv", b"amount\n1\n", None),
        ("a.html", b"<p>A page", None),
    ],
)
def test_what_a_server_would_refuse_is_refused_here(
    tmp_path: Path, name: str, data: bytes, code: str | None
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    (item,) = find_items(path)

    assert refusal(item, data) == code


def refusal(item: Item, data: bytes) -> str | None:
    try:
        check_item(item, data)
    except Rejected as error:
        return error.code
    return None


async def test_files_of_other_kinds_are_counted_and_named_as_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "page.md").write_text("The pump stands here.", "utf-8")
    for name in ("deep/movie.mp4", "notes", ".hidden", ".hidden.md"):
        (folder / name).write_bytes(b"x")
    (tmp_path / "other.md").write_text("A page of somebody else.", "utf-8")
    (folder / "linked.md").symlink_to(tmp_path / "other.md")

    code = await published(Server({}), folder, Wanted(), monkeypatch)
    told = json.loads(capsys.readouterr().out)
    await published(Server({}), folder, Wanted(), monkeypatch, as_json=False)
    said = capsys.readouterr().err

    assert (code, told["summary"]["files"]) == (0, 1)
    assert told["skipped"] == ["deep/movie.mp4", "linked.md", "notes"]
    assert told["skipped_why"]["linked.md"] == "a link out of the folder"
    assert "skipped, a link out of the folder: 1 (linked.md)" in said
    assert "skipped, of another kind: 2 (deep/movie.mp4, notes)" in said


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
@pytest.mark.parametrize("as_json", [True, False])
async def test_a_name_that_is_no_text_is_published_beside_the_others(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    as_json: bool,
) -> None:
    for name in (b"na\xefve.md", b"bell\x07.md", b"b\xefd.md", b"t\xefble.csv", b"plain.md"):
        data = b"" if name.startswith(b"b\xefd") else b"id,amount\n1,2\n"
        (tmp_path / os.fsdecode(name)).write_bytes(data)
    (tmp_path / os.fsdecode(b"sk\xefpped")).write_bytes(b"x")
    server = Server({})

    code = await published(server, tmp_path, Wanted(), monkeypatch, as_json=as_json)

    printed = capsys.readouterr()
    assert code == 1
    assert (printed.out + printed.err).encode()
    assert "plain" in server.bulk
    assert len(server.bulk) == 3
    assert "b\N{REPLACEMENT CHARACTER}d.md" in printed.out + printed.err
    if as_json:
        told = json.loads(printed.out)
        assert counts(told) == (5, 4, 1, 0, 0)
        assert told["skipped"] == ["sk\N{REPLACEMENT CHARACTER}pped"]


@pytest.mark.parametrize("title", ["two\nlines", "\udcff", "\x1b[31m"])
async def test_a_title_that_is_no_line_of_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    (tmp_path / "a.md").write_text("A page.", "utf-8")
    server = Server({})

    with pytest.raises(Rejected) as refused:
        await published(server, tmp_path / "a.md", Wanted(title=title), monkeypatch)

    assert (refused.value.code, refused.value.field) == ("title_not_text", "--title")
    assert server.sent == []
