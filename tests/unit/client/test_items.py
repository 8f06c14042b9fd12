"""Files that can be published: which ones they are, and the id and title that each gets."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.authority.wording import REORDERING, check_name
from chancery.client.command.file_ids import earlier_ids, hashed_id, readable, source_id
from chancery.client.command.items import NothingToPublish, find_items, look_at
from chancery.client.command.outcomes import Published
from chancery.events.authority import LINE_PATTERN
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.ids import ID_PATTERN


@given(st.text(min_size=1) | st.from_regex(r"[a-z -]{0,80}\.(md|txt|csv)", fullmatch=True))
def test_every_file_name_becomes_a_valid_id(name: str) -> None:
    for identity in (source_id(name), hashed_id(name), *earlier_ids(name)):
        assert re.fullmatch(ID_PATTERN, identity)


def _earlier(names: list[str]) -> dict[str, str]:
    """Return the ids of a folder as earlier versions gave them."""
    ids: dict[str, str] = {}
    for name in sorted(names, key=Path):
        apart, alone = earlier_ids(name)
        ids[name] = apart if alone in ids.values() else alone
    return ids


def test_the_ids_of_earlier_versions_are_known() -> None:
    assert _earlier(["b/ümlaut page.md", "a.txt", "a.md"]) == {
        "a.md": "a",
        "a.txt": "a-18b7cb09",
        "b/ümlaut page.md": "b-uemlaut-page",
    }
    assert earlier_ids(f"{'long' * 20}.md")[1] == f"{('long' * 20)[:55]}-5aa1dce7"


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("handbook.md", "handbook"),
        ("orders.csv", "orders"),
        ("handbook.txt", "handbook--txt"),
        ("spare-pump_2.pdf", "spare-pump_2--pdf"),
        ("report-20240101.md", "report-20240101"),
        ("report-pdf.md", "report-pdf"),
    ],
)
def test_a_plain_name_is_its_id(name: str, identity: str) -> None:
    assert source_id(name) == identity


@pytest.mark.parametrize(
    ("name", "spelled"), [("ümlaut.md", "uemlaut"), ("Ca\u0301fé.md", "Cafe"), ("Maß.md", "Mass")]
)
def test_letters_of_other_alphabets_are_spelled_and_not_dropped(name: str, spelled: str) -> None:
    assert re.fullmatch(rf"{spelled}--[0-9a-f]{{12}}", source_id(name))


_NAMES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "b/", "a/", "a-"]),
    st.sampled_from(["a", "b", "a b", "a-b", "a_b", "a-txt", "ä", "a--", "-a", "txt", "ポ", "プ"]),
    st.sampled_from([".md", ".txt", ".MD", ".markdown", ".pdf", ".html", ".htm"]),
)


@given(_NAMES | st.text(min_size=1), _NAMES | st.text(min_size=1))
def test_two_files_never_get_one_id(one: str, other: str) -> None:
    assert (source_id(one) == source_id(other)) == (one == other)
    assert (hashed_id(one) == hashed_id(other)) == (one == other)
    assert one == other or source_id(one) != hashed_id(other)


def test_many_names_in_other_letters_get_as_many_ids() -> None:
    names = [f"{chr(0x3041 + each % 80)}{chr(0x4E00 + each // 80)}.md" for each in range(100_000)]

    assert len(set(map(source_id, names))) == len(names)


@given(st.lists(_NAMES, unique=True, min_size=1, max_size=6), st.data())
def test_what_stands_beside_a_file_does_not_change_its_id(
    names: list[str], data: st.DataObject
) -> None:
    fewer = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    with tempfile.TemporaryDirectory() as temporary:
        folder, part = Path(temporary, "all"), Path(temporary, "part")
        for place, chosen in ((folder, names), (part, fewer)):
            for name in chosen:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_text("text")
        ids = {item.path.relative_to(folder): item.id for item in find_items(folder)}
        assert {item.path.relative_to(part): item.id for item in find_items(part)} == {
            Path(name): ids[Path(name)] for name in fewer
        }


def test_a_folder_becomes_its_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/Second page.md", "a.txt", "c.csv", "ignored.png"):
        (tmp_path / name).write_text("text")

    items = list(find_items(tmp_path))

    assert [(item.id, item.media_type) for item in items] == [
        ("a--txt", "text/plain"),
        (source_id("b/Second page.md"), "text/markdown"),
        ("c", "text/csv"),
    ]


def test_hidden_files_and_links_out_of_the_folder_are_not_published(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for name in ("folder/.git/notes.md", "folder/.secret.md", "folder/own.md", "other.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    (folder / "within.md").symlink_to("own.md")
    (folder / "without.md").symlink_to(tmp_path / "other.md")
    (folder / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (folder / "round.md").symlink_to("round.md")
    (folder / "loop").symlink_to(folder)
    (folder / "movie.mp4").write_bytes(b"x")

    found = look_at(folder)

    assert [item.path.name for item in found.items] == ["own.md", "within.md"]
    assert found.skipped == {
        "gone.md": "no file",
        "loop": "a link to a folder",
        "movie.mp4": "of another kind",
        "round.md": "no file",
        "without.md": "a link out of the folder",
    }
    # Whoever names a file means it.
    assert [item.path.name for item in find_items(folder / ".secret.md")] == [".secret.md"]
    assert [item.path.name for item in find_items(folder / "without.md")] == ["without.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_name_that_is_no_text_is_published_under_a_readable_title(tmp_path: Path) -> None:
    name = os.fsdecode(b"na\xefve.md")
    (tmp_path / name).write_text("text")

    (item,) = find_items(tmp_path)

    assert re.fullmatch(r"na-ve--[0-9a-f]{12}", item.id)
    assert item.title == "na\N{REPLACEMENT CHARACTER}ve"
    told = Published(item, {}).to_json()
    assert str(told["path"]).endswith("na\N{REPLACEMENT CHARACTER}ve.md")
    assert canonical_bytes(told)


def test_a_name_with_signs_that_move_the_cursor_is_told_without_them(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.md").write_text("text")

    (item,) = find_items(tmp_path)

    assert item.title == "a\N{REPLACEMENT CHARACTER}[31m"


@pytest.mark.parametrize("sign", sorted(REORDERING))
def test_a_name_that_reorders_text_is_published_and_told_without_that(
    tmp_path: Path, sign: str
) -> None:
    (tmp_path / f"bill{sign}fdp.md").write_text("text")

    (item,) = find_items(tmp_path)

    check_name(item.title, field="title")
    assert item.title == "bill\N{REPLACEMENT CHARACTER}fdp"
    assert sign not in str(Published(item, {}).to_json()["path"])


@given(st.text(min_size=1, max_size=300))
def test_a_readable_name_is_a_title_and_text_stays_as_it_is(name: str) -> None:
    shown = readable(name)

    assert re.fullmatch(LINE_PATTERN, shown)
    assert shown.encode()
    assert len(shown) == len(name)
    assert readable("ポンプ\u3000手順 👩\u200d🔧\u00a0") == "ポンプ\u3000手順 👩\u200d🔧\u00a0"


def test_what_cannot_be_read_is_named_and_keeps_nothing_from_being_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    for name in ("a.md", "barred.md"):
        (tmp_path / name).write_text("text")
    scan, is_file = os.scandir, Path.is_file

    def scanned(place: str) -> object:
        if str(place).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(place))
        return scan(place)

    def seen(path: Path) -> bool:
        if path.name == "barred.md":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(os, "scandir", scanned)
    monkeypatch.setattr(Path, "is_file", seen)

    found = look_at(tmp_path)

    assert [item.id for item in found.items] == ["a"]
    assert found.skipped == {"barred.md": "unreadable", "closed": "unreadable"}


def test_files_that_would_get_one_id_are_told_apart_in_the_same_way_each_time(
    tmp_path: Path,
) -> None:
    for name in ("a b.md", "a-b.md", f"{'long' * 20}-one.md", f"{'long' * 20}-two.md"):
        (tmp_path / name).write_text("text")

    first, second = list(find_items(tmp_path)), list(find_items(tmp_path))

    assert first == second
    assert len({item.id for item in first}) == len(first)
    assert first[1].id == "a-b"
    assert all(len(item.id) <= 64 for item in first)


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NothingToPublish):
        list(find_items(tmp_path))
