"""Files that can be published: what each becomes, and whether a server could take it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
from chancery.kernel.canonical import sha256_hex
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
_ID_CHARACTERS = 64
_TITLE_CHARACTERS = 300
_SPELLED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue",
                          "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa"})  # fmt: skip


class NothingToPublish(Rejected):
    """The path holds no file that can be published."""

    code = "nothing_to_publish"


@dataclass(frozen=True, slots=True)
class Item:
    """A file with the id and the title that it gets when it is new."""

    path: Path
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


def find_items(path: Path) -> Iterator[Item]:
    """Yield what can be published at `path`, in the order of the names.

    Raises:
        NothingToPublish: when nothing can.
    """
    if not path.exists():
        message = f"{path} does not exist"
        raise NothingToPublish(message, field="path")
    folder = path if path.is_dir() else path.parent
    found = sorted(each for each in path.rglob("*") if _fits(each)) if path.is_dir() else [path]
    if not found or not all(map(_fits, found)):
        message = f"{path} is no {', '.join(MEDIA_TYPES)} file and no folder with any"
        raise NothingToPublish(message, field="path")
    taken: set[str] = set()
    for each in found:
        name = each.relative_to(folder).as_posix()
        identity = source_id(each.relative_to(folder).with_suffix("").as_posix())
        if identity in taken:
            identity = _told_apart(identity, name)
        taken.add(identity)
        yield Item(each, identity, each.stem[:_TITLE_CHARACTERS])


def skipped_in(path: Path) -> list[str]:
    """Return which files of a folder are of no kind that is published; hidden ones do not count."""
    if not path.is_dir():
        return []
    names = (each.relative_to(path) for each in path.rglob("*") if each.is_file())
    return sorted(
        name.as_posix()
        for name in names
        if name.suffix.lower() not in MEDIA_TYPES
        and not any(part.startswith(".") for part in name.parts)
    )


def _told_apart(identity: str, name: str) -> str:
    """Return another id for the file `name` of the folder, since a file before it has this one."""
    return f"{identity[: _ID_CHARACTERS - 9]}-{sha256_hex(name.encode())[:8]}"


def source_id(name: str) -> str:
    """Return the id that a name becomes: letters, digits, dashes and underscores."""
    spelled = unicodedata.normalize("NFC", name).translate(_SPELLED)
    plain = "".join(
        each for each in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(each)
    )
    identity = re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-") or "document"
    return identity if len(identity) <= _ID_CHARACTERS else _told_apart(identity, name)


def check_item(item: Item, data: bytes, *, bytes_max: int) -> None:
    """Refuse what a server would refuse, so that nothing is declared for it.

    Raises:
        Rejected: saying what is wrong with the file.
    """
    if not data.strip():
        message = "the file is empty"
        raise Rejected(message, field="content", code="empty_content")
    if len(data) > bytes_max:
        message = f"the file has {len(data):,} bytes, the most are {bytes_max:,}"
        raise Rejected(message, field="content", code="too_large")
    if item.is_table:
        check_csv(data)
    elif item.media_type in RAW_TYPES | {HTML}:
        _check_text(data)
    else:
        check_signature(item.media_type, data)


def _check_text(data: bytes) -> None:
    if b"\x00" in data:
        message = "the file has a NUL byte; save it as text"
        raise Rejected(message, field="content", code="nul_byte")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8: byte {error.start} cannot be decoded"
        raise Rejected(message, field="content", code="invalid_utf8") from error


def _fits(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in MEDIA_TYPES
