"""Files that can be published: what each becomes, and whether a server could take it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chancery.client.command.file_ids import readable, source_id
from chancery.client.command.recognising import WRONG_MEDIA_TYPE, misnamed
from chancery.extract.encoding import misencoding
from chancery.extract.media import (
    DOCX,
    HTML,
    MARKDOWN,
    PDF,
    PLAIN,
    RAW_TYPES,
    XLSX,
    check_signature,
)
from chancery.extract.refusals import UnreadableDocument
from chancery.kernel.blank import is_blank
from chancery.kernel.errors import Rejected
from chancery.tabular.csv import check_csv

CSV: Final = "text/csv"
MEDIA_TYPES: Final = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": PLAIN,
    ".html": HTML,
    ".htm": HTML,
    ".pdf": PDF,
    ".docx": DOCX,
    ".xlsx": XLSX,
    ".csv": CSV,
}
_TITLE_CHARACTERS = 300

OTHER_KIND: Final = "of another kind"
LINKED_FOLDER: Final = "a link to a folder"
LEADS_OUT: Final = "a link out of the folder"
NO_FILE: Final = "no file"
UNREADABLE: Final = "unreadable"


class NothingToPublish(Rejected):
    """The path holds no file that can be published."""

    code = "nothing_to_publish"


@dataclass(frozen=True, slots=True)
class Item:
    """A file with its path below the folder, and the id and the title that it gets when new."""

    path: Path
    name: str
    id: str
    title: str

    @property
    def media_type(self) -> str:
        """Return its media type, by its name."""
        return MEDIA_TYPES[self.path.suffix.lower()]

    @property
    def is_table(self) -> bool:
        """Tell whether it becomes a dataset."""
        return self.media_type == CSV


@dataclass(frozen=True, slots=True)
class Found:
    """What can be published at a path, in the order of the names, and what is left out and why."""

    items: tuple[Item, ...]
    skipped: Mapping[str, str]


def look_at(path: Path) -> Found:
    """Return what can be published at `path`; whoever names a file means it, a link too.

    Raises:
        NothingToPublish: when nothing can.
    """
    check_there(path)
    if path.is_dir():
        reasons = _looked_through(path)
    else:
        reasons = {path: None if _is_of_a_kind(path) and path.is_file() else OTHER_KIND}
    folder = path if path.is_dir() else path.parent
    items = tuple(_item(folder, each) for each in sorted(reasons) if reasons[each] is None)
    if not items:
        message = f"{readable(path)} is no {', '.join(MEDIA_TYPES)} file and no folder with any"
        raise NothingToPublish(message, field="path")
    return Found(
        items,
        {
            readable(each.relative_to(folder).as_posix()): reason
            for each, reason in sorted(reasons.items())
            if reason is not None
        },
    )


def check_there(path: Path) -> None:
    """Refuse a path at which there is neither a file nor a folder.

    Raises:
        NothingToPublish: saying what there is.
    """
    if not path.exists():
        message = f"{readable(path)} does not exist"
        raise NothingToPublish(message, field="path")
    if not path.is_dir() and not path.is_file():
        message = f"{readable(path)} is no regular file"
        raise NothingToPublish(message, field="path")


def find_items(path: Path) -> Iterator[Item]:
    """Yield what can be published at `path`.

    Raises:
        NothingToPublish: when nothing can.
    """
    yield from look_at(path).items


def _item(folder: Path, path: Path) -> Item:
    name = path.relative_to(folder).as_posix()
    return Item(path, name, source_id(name), readable(path.stem)[:_TITLE_CHARACTERS])


def _looked_through(folder: Path) -> dict[Path, str | None]:
    """Return what is below a folder and not hidden, each with why it is not published, if so."""
    found: dict[Path, str | None] = {}

    def note(error: OSError) -> None:
        found[Path(error.filename)] = UNREADABLE

    for place, folders, names in os.walk(folder, onerror=note):
        folders[:] = [each for each in folders if not each.startswith(".")]
        linked = (Path(place, each) for each in folders)
        found |= {each: LINKED_FOLDER for each in linked if each.is_symlink()}
        shown = (Path(place, each) for each in names if not each.startswith("."))
        found |= {each: _why_not(folder, each) for each in shown}
    return found


def _why_not(folder: Path, path: Path) -> str | None:
    if not _is_of_a_kind(path):
        return OTHER_KIND
    try:
        if not path.is_file():
            return NO_FILE
        # A link may lead to what nobody meant to publish.
        is_own = not path.is_symlink() or path.resolve().is_relative_to(folder.resolve())
    except OSError:
        return UNREADABLE
    return None if is_own else LEADS_OUT


def _is_of_a_kind(path: Path) -> bool:
    return path.suffix.lower() in MEDIA_TYPES


def check_item(item: Item, data: bytes) -> None:
    """Refuse what a server would refuse, so that nothing is declared for it.

    Raises:
        Rejected: saying what is wrong with the file.
    """
    if not data.strip():
        raise _empty()
    if item.is_table:
        check_csv(data)
    elif item.media_type in RAW_TYPES | {HTML}:
        _check_text(data)
    else:
        _check_signature(item, data)


def _check_signature(item: Item, data: bytes) -> None:
    try:
        check_signature(item.media_type, data)
    except UnreadableDocument as error:
        if error.code != WRONG_MEDIA_TYPE:
            raise
        raise misnamed(item.path, item.media_type, data) from error


def _check_text(data: bytes) -> None:
    fault = misencoding(data)
    if fault is not None:
        raise Rejected(f"the file {fault.reason}", field="content", code=fault.code)
    if is_blank(data.decode()):
        raise _empty()


def _empty() -> Rejected:
    message = "the file is empty; publish at least one character that a reader sees"
    return Rejected(message, field="content", code="empty_content")
