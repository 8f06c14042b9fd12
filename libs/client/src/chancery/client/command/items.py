"""Files that can be published: what each becomes, and whether a server could take it."""

from __future__ import annotations

import os
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
_USUAL: Final = frozenset({".md", ".csv"})
"""Suffixes that the id leaves out."""

_ID_CHARACTERS = 64
_HASH_CHARACTERS = 8
_TITLE_CHARACTERS = 300
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_LIKE_ANOTHER = re.compile(
    rf"(?:.*-)?(?:[0-9a-f]{{{_HASH_CHARACTERS}}}|{'|'.join(each[1:] for each in MEDIA_TYPES)})"
)
"""Plain names that end as the ids of other files do."""

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
        message = f"{readable(path)} does not exist"
        raise NothingToPublish(message, field="path")
    if path.is_dir():
        found = [each for each in _files(path) if _fits(each) and _stays_in(path, each)]
    else:
        found = [path] if _fits(path) else []
    if not found:
        message = f"{readable(path)} is no {', '.join(MEDIA_TYPES)} file and no folder with any"
        raise NothingToPublish(message, field="path")
    folder = path if path.is_dir() else path.parent
    for each in found:
        title = readable(each.stem)[:_TITLE_CHARACTERS]
        yield Item(each, source_id(each.relative_to(folder).as_posix()), title)


def skipped_in(path: Path) -> list[str]:
    """Return which files of a folder are not published: of other kinds, or links that lead out.

    Hidden ones do not count.
    """
    if not path.is_dir():
        return []
    return [
        readable(each.relative_to(path))
        for each in _files(path)
        if not (_fits(each) and _stays_in(path, each))
    ]


def source_id(name: str) -> str:
    """Return the id of the file `name` of a folder: letters, digits, dashes and underscores.

    It depends on the name alone, whatever stands beside the file, so that no file ever takes the
    place of another one; two names that are spelled alike are told apart by a hash.
    """
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, which may hold any byte.
    spelled = _spelled(stem if suffix in _USUAL else f"{stem}-{suffix[1:]}")
    is_plain = _PLAIN_NAME.fullmatch(stem) and suffix in MEDIA_TYPES
    is_like_another = suffix in _USUAL and _LIKE_ANOTHER.fullmatch(stem)
    if is_plain and not is_like_another and len(spelled) <= _ID_CHARACTERS:
        return spelled
    digest = sha256_hex(name.encode("utf-8", "surrogatepass"))[:_HASH_CHARACTERS]
    return f"{spelled[: _ID_CHARACTERS - _HASH_CHARACTERS - 1]}-{digest}"


def readable(name: str | Path) -> str:
    """Return a name of the file system as text: what is no text, or no sign, is replaced."""
    signs = str(name)
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in signs)


def _spelled(name: str) -> str:
    spelled = unicodedata.normalize("NFC", name).translate(_SPELLED)
    plain = "".join(
        each for each in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(each)
    )
    return re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-") or "document"


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


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in the order of their names, without hidden ones."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        found += [Path(place, each) for each in names if not each.startswith(".")]
    yield from sorted(each for each in found if each.is_file())


def _fits(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in MEDIA_TYPES


def _stays_in(folder: Path, path: Path) -> bool:
    """Tell whether a file is the folder's own: a link may lead to what nobody meant to publish."""
    return path.resolve().is_relative_to(folder.resolve())
