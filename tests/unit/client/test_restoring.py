"""Publishing tells what is withdrawn, and lets it serve again only with an option of its own."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from chancery.client.command import app as commands
from chancery.client.command import item_publishing, publish
from chancery.client.command.declaring import Wanted
from chancery.client.http import connect
from chancery.client.workspace import Document
from chancery.kernel.canonical import Json
from tests.unit.client.test_publish import ORDERS, Server, published

RUN = CliRunner()
REFUSAL: Json = {"status": 409, "code": "withdrawn", "detail": "it is withdrawn: --restore"}
GONE: Json = {"kind": "source", "id": "gone", "title": "Gone", "visibility": "workspace",
              "revision": 1, "withdrawn": True}  # fmt: skip


class Withdrawn(Server):
    """Refuses what is withdrawn unless it is asked for by name."""

    def __init__(self, *names: str) -> None:
        """Know what is withdrawn."""
        super().__init__({"sources/gone": GONE, "datasets/orders": ORDERS})
        self.names = frozenset(names)
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer as the gateway does."""
        parts = request.url.path.split("/")
        is_publication = parts[-1] in {"revisions", "snapshots"}
        if is_publication and parts[-2] in self.names and not _asks(request):
            return httpx.Response(409, json=REFUSAL)
        return super().__call__(request)

    def take(self, documents: list[dict[str, str]]) -> httpx.Response:
        """Publish a batch but what is withdrawn."""
        kept = {each["source_id"] for each in documents if not each.get("restore")} & self.names
        taken = super().take([each for each in documents if each["source_id"] not in kept])
        told = {each["source"]: each for each in json.loads(taken.content)["documents"]}
        error = {"code": "withdrawn", "detail": "it is withdrawn: --restore", "field": "restore"}
        told |= {name: {"source": name, "error": error} for name in kept}
        answers = [told[each["source_id"]] for each in documents]
        return httpx.Response(202, json={"documents": answers})


def _asks(request: httpx.Request) -> bool:
    return request.url.params.get("restore") == "true"


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("restore", [False, True])
async def test_in_a_folder_what_is_withdrawn_is_told_and_the_rest_published(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    restore: bool,
) -> None:
    for name in ("gone.md", "kept.md"):
        (tmp_path / name).write_text("A page.", "utf-8")
    (tmp_path / "orders.csv").write_text("id,amount\n1,2\n", "utf-8")
    server = Withdrawn("gone", "orders")
    wanted = Wanted(restore=restore)

    code = await published(server, tmp_path, wanted, monkeypatch)
    told = json.loads(capsys.readouterr().out)
    await published(server, tmp_path, wanted, monkeypatch, as_json=False)
    shown = capsys.readouterr().err

    refused = [each["error"]["code"] for each in told["published"] if "error" in each]
    count = 0 if restore else 2
    assert refused == ["withdrawn"] * count
    assert (told["summary"]["failed"], told["summary"]["withdrawn"]) == (count, count)
    assert code == (0 if restore else 1)
    assert ("2 failed (2 withdrawn; with --restore they serve again)" in shown) is not restore


@pytest.mark.req("CR-27")
async def test_a_single_file_asks_by_its_option_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "gone.md"
    page.write_text("A page.", "utf-8")
    server = Withdrawn("gone")

    assert await published(server, page, Wanted(), monkeypatch) == 1
    assert server.sent == []
    assert await published(server, page, Wanted(restore=True), monkeypatch) == 0
    assert [place for _, place, _ in server.sent] == ["sources/gone/revisions"]


async def test_only_who_says_so_asks_for_it() -> None:
    urls = list[str]()
    reply = {"revision": 1, "snapshot": 1, "sequence": 1, "content_sha256": "0" * 64,
             "event_id": "e", "state": "ready"}  # fmt: skip

    def answer(request: httpx.Request) -> httpx.Response:
        urls.append(str(request.url).rpartition("/")[2])
        return httpx.Response(202, json=reply)

    async with connect("http://c", "tok", transport=httpx.MockTransport(answer)) as client:
        desk = client.workspace("plant")
        await desk.publish("s", b"a", "text/plain")
        await desk.publish("s", b"a", "text/plain", restore=True)
        await desk.publish_snapshot("d", b"a\n1\n")
        await desk.publish_snapshot("d", b"a\n1\n", append=True, restore=True)

    assert urls == ["revisions", "revisions?restore=true", "snapshots",
                    "snapshots?mode=append&restore=true"]  # fmt: skip
    plain = Document(source_id="s", data=b"a", media_type="text/plain")
    asking = Document(source_id="s", data=b"a", media_type="text/plain", restore=True)
    assert asking.body() == {**plain.body(), "restore": True}


@pytest.mark.parametrize("restore", [False, True])
def test_the_commands_hand_the_option_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, restore: bool
) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.", "utf-8")
    asked = list[bool]()

    async def publishing(_path: Path, _ws: str, wanted: Wanted, *, as_json: bool) -> int:
        asked.append(wanted.restore)
        return int(as_json)

    async def of_item(
        _ws: str, _id: str, _said: object, how: item_publishing.Publishing, *, as_json: bool
    ) -> None:
        assert not as_json
        asked.append(how.restore)

    monkeypatch.setattr(publish, "run_publish", publishing)
    monkeypatch.setattr(item_publishing, "publish_item", of_item)
    option = ["--restore"] if restore else []
    RUN.invoke(commands.app, ["publish", str(page), "-w", "w", *option], catch_exceptions=False)
    words = ["item", "publish", "guide", str(page), "-w", "w", *option]
    RUN.invoke(commands.app, words, catch_exceptions=False)

    assert asked == [restore, restore]
