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

from chancery.client.command.items import NothingToPublish, find_items, skipped_in, source_id
from chancery.client.command.outcomes import Published
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.ids import ID_PATTERN


@given(st.text(min_size=1))
def test_every_file_name_becomes_a_valid_id(name: str) -> None:
    assert re.fullmatch(ID_PATTERN, source_id(name))


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("handbook.md", "handbook"),
        ("orders.csv", "orders"),
        ("handbook.txt", "handbook-txt"),
        ("spare-pump_2.pdf", "spare-pump_2-pdf"),
    ],
)
def test_a_plain_name_is_its_id(name: str, identity: str) -> None:
    assert source_id(name) == identity


@pytest.mark.parametrize(
    ("name", "spelled"), [("ümlaut.md", "uemlaut"), ("Ca\u0301fé.md", "Cafe"), ("Maß.md", "Mass")]
)
def test_letters_of_other_alphabets_are_spelled_and_not_dropped(name: str, spelled: str) -> None:
    assert re.fullmatch(rf"{spelled}-[0-9a-f]{{8}}", source_id(name))


_NAMES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "b/", "a/", "a-"]),
    st.sampled_from(["a", "b", "a b", "a-b", "a_b", "a-txt", "ä", "a-12345678", "12345678", "txt"]),
    st.sampled_from([".md", ".txt", ".MD", ".markdown", ".pdf", ".html"]),
)


@given(_NAMES | st.text(min_size=1), _NAMES | st.text(min_size=1))
def test_two_files_never_get_one_id(one: str, other: str) -> None:
    assert (source_id(one) == source_id(other)) == (one == other)


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
        ("a-txt", "text/plain"),
        ("b-Second-page-68dc7a66", "text/markdown"),
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
    (folder / "loop").symlink_to(folder)

    assert [item.path.name for item in find_items(folder)] == ["own.md", "within.md"]
    assert skipped_in(folder) == ["without.md"]
    # Whoever names a file means it.
    assert [item.path.name for item in find_items(folder / ".secret.md")] == [".secret.md"]
    assert [item.path.name for item in find_items(folder / "without.md")] == ["without.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_name_that_is_no_text_is_published_under_a_readable_title(tmp_path: Path) -> None:
    name = os.fsdecode(b"na\xefve.md")
    (tmp_path / name).write_text("text")

    (item,) = find_items(tmp_path)

    assert re.fullmatch(r"na-ve-[0-9a-f]{8}", item.id)
    assert item.title == "na\N{REPLACEMENT CHARACTER}ve"
    told = Published(item, {}).to_json()
    assert str(told["path"]).endswith("na\N{REPLACEMENT CHARACTER}ve.md")
    assert canonical_bytes(told)


def test_a_name_with_signs_that_move_the_cursor_is_told_without_them(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.md").write_text("text")

    (item,) = find_items(tmp_path)

    assert item.title == "a\N{REPLACEMENT CHARACTER}[31m"


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
