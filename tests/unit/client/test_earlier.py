"""Files that were published before keep the ids that they have, and none takes that of another."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import httpx
from hypothesis import given
from hypothesis import strategies as st

from chancery.client.command.earlier import with_kept_ids
from chancery.client.command.file_ids import earlier_ids, hashed_id, source_id
from chancery.client.command.items import Item
from chancery.client.http import connect
from chancery.client.replies import Resource
from chancery.kernel.canonical import Json

_NAMES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "b/", "b-", "c d/"]),
    st.sampled_from(["a", "a b", "a-b", "ä", "a-txt", "long" * 20]),
    st.sampled_from([".md", ".txt", ".pdf", ".csv"]),
)
_FOLDERS = st.lists(_NAMES, unique=True, min_size=1, max_size=7)


def _item(name: str) -> Item:
    return Item(Path(name), name, source_id(name), PurePosixPath(name).stem)


@dataclass(slots=True)
class _Place:
    """A workspace: what serves under each id, and which file it came from."""

    serving: dict[tuple[bool, str], Item] = field(default_factory=dict[tuple[bool, str], Item])
    titles: dict[str, str] = field(default_factory=dict[str, str])
    tells_media_types: bool = True
    asked: int = 0

    def before(self, *names: str) -> None:
        """Publish a folder as earlier versions did."""
        taken: set[str] = set()
        for item in map(_item, sorted(names, key=Path)):
            apart, alone = earlier_ids(item.name)
            identity = apart if alone in taken else alone
            taken.add(identity)
            self.serving[item.is_table, identity] = item

    def now(self, *names: str) -> dict[str, str]:
        """Publish a folder, and return the ids of its files."""
        items = asyncio.run(self._kept([_item(name) for name in sorted(names, key=Path)]))
        for item in items:
            self.serving[item.is_table, item.id] = item
        assert len({(item.is_table, item.id) for item in items}) == len(items)
        return {item.name: item.id for item in items}

    def owner(self, identity: str, *, is_table: bool = False) -> str:
        """Return the file that serves under an id."""
        return self.serving[is_table, identity].name

    async def _kept(self, items: list[Item]) -> list[Item]:
        known = {
            identity: Resource.model_validate(self._resource(identity, item))
            for (is_table, identity), item in self.serving.items()
            if not is_table
        }
        transport = httpx.MockTransport(self._answer)
        async with connect("http://chancery", "tok", transport=transport) as client:
            return await with_kept_ids(client.workspace("plant"), items, known)

    def _resource(self, identity: str, item: Item) -> dict[str, Json]:
        return {"kind": "dataset" if item.is_table else "source", "id": identity,
                "title": self.titles.get(identity, item.title), "visibility": "workspace",
                "media_type": item.media_type if self.tells_media_types else None,
                "revision": 1, "withdrawn": False}  # fmt: skip

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        kind, identity, *rest = request.url.path.removeprefix("/v1/workspaces/plant/").split("/")
        item = self.serving.get((kind == "datasets", identity))
        if item is None:
            return httpx.Response(404, json={"status": 404})
        told = self._resource(identity, item)
        if rest:
            told |= {"content_sha256": "0" * 64, "media_type": item.media_type, "state": "ready"}
        return httpx.Response(200, json=told)


@given(_FOLDERS)
def test_what_an_earlier_version_published_keeps_its_id(names: list[str]) -> None:
    place = _Place()
    place.before(*names)
    before = {item.name: identity for (_, identity), item in place.serving.items()}

    assert place.now(*names) == before
    assert place.now(*names) == before


@given(_FOLDERS, _FOLDERS)
def test_a_new_file_never_takes_the_place_of_another_one(
    names: list[str], added: list[str]
) -> None:
    place = _Place()
    place.before(*names)
    before = {key: item.name for key, item in place.serving.items()}

    ids = place.now(*{*names, *added})

    assert {key: place.serving[key].name for key in before} == before
    assert {name: ids[name] for name in before.values()} == {
        name: identity for (_, identity), name in before.items()
    }


@given(_FOLDERS, _FOLDERS, _FOLDERS)
def test_adding_and_removing_files_changes_no_id(
    first: list[str], second: list[str], third: list[str]
) -> None:
    place = _Place()
    place.before(*first)
    ids: dict[str, str] = {}

    for names in ({*first, *second}, {*first, *second, *third}, {*second, *third}, set(second)):
        told = place.now(*names)
        assert {name: ids.get(name, told[name]) for name in told} == told
        ids |= told


@given(_FOLDERS)
def test_a_new_folder_gets_the_ids_of_its_paths(names: list[str]) -> None:
    assert _Place().now(*names) == {name: source_id(name) for name in names}


def test_a_document_beside_one_of_another_kind_does_not_become_its_revision() -> None:
    place = _Place()
    place.before("a.txt")

    ids = place.now("a.txt", "a.md")

    assert ids == {"a.txt": "a", "a.md": hashed_id("a.md")}
    assert place.owner("a") == "a.txt"
    assert place.now("a.md") == {"a.md": hashed_id("a.md")}


def test_a_file_by_itself_does_not_become_the_revision_of_another_kind_of_file() -> None:
    place = _Place()
    place.before("handbook.pdf")

    assert place.now("handbook.md") == {"handbook.md": hashed_id("handbook.md")}
    assert place.now("handbook.pdf") == {"handbook.pdf": "handbook"}


def test_a_document_does_not_take_the_place_of_one_of_another_kind_that_is_gone() -> None:
    place = _Place()
    place.before("handbook.pdf", "other.md")

    ids = place.now("handbook.md", "other.md")

    assert ids == {"handbook.md": hashed_id("handbook.md"), "other.md": "other"}
    assert place.owner("handbook") == "handbook.pdf"
    assert place.asked == 0


def test_a_server_that_tells_no_media_types_is_asked_where_it_matters() -> None:
    place = _Place(tells_media_types=False)
    place.before("a.txt")

    ids = place.now("a.txt", "a.md")

    assert ids == {"a.txt": "a", "a.md": hashed_id("a.md")}
    assert place.asked > 0


def test_a_file_whose_rival_is_gone_does_not_take_its_place() -> None:
    place = _Place()
    place.before("c d.md", "other.md")

    assert place.now("c-d.md", "other.md") == {"c-d.md": hashed_id("c-d.md"), "other.md": "other"}
    assert place.owner("c-d") == "c d.md"


def test_a_table_in_a_folder_does_not_become_the_snapshot_of_another_one() -> None:
    place = _Place()
    place.before("b/a.csv")

    ids = place.now("b/a.csv", "b-a.csv")

    assert ids == {"b/a.csv": "b-a", "b-a.csv": hashed_id("b-a.csv")}
    assert place.owner("b-a", is_table=True) == "b/a.csv"


def test_files_that_cannot_be_told_apart_get_new_ids() -> None:
    place = _Place()
    place.before("b/c/a.txt")

    ids = place.now("b/c/a.txt", "b-c/a.txt")

    assert ids == {name: source_id(name) for name in ids}
    assert place.owner("b-c-a") == "b/c/a.txt"


def test_a_document_with_another_title_keeps_its_id_where_the_id_is_still_the_usual_one() -> None:
    place = _Place()
    place.before("a.md")
    place.titles["a"] = "The handbook"

    assert place.now("a.md", "a.txt") == {"a.md": "a", "a.txt": "a--txt"}


def test_documents_with_usual_ids_cost_no_further_call() -> None:
    place = _Place()
    names = [f"page-{number}.md" for number in range(50)]
    place.before(*names)

    place.now(*names)

    assert place.asked == 0
