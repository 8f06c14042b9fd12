"""The ids of files: each follows from the file's own path alone, and no two paths share one."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path, PurePath
from typing import Final

from chancery.authority.wording import REORDERING
from chancery.kernel.canonical import sha256_hex

USUAL: Final = frozenset({".md", ".csv"})
"""Suffixes that an id leaves out; a document and a table may be called the same."""

TOLD: Final = frozenset({".markdown", ".txt", ".html", ".htm", ".pdf", ".docx", ".xlsx"})
"""Suffixes that an id ends in, after two hyphens."""

_CHARACTERS: Final = 64
_HASH_CHARACTERS: Final = 12
_EARLIER_HASH_CHARACTERS: Final = 8
_PLAIN: Final = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")

_SPELLED: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue",
                                 "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa"})  # fmt: skip
_UNREADABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def source_id(name: str) -> str:
    """Return the id of the file `name` of a folder: letters, digits, dashes and underscores.

    It depends on the name alone, whatever stands beside the file, so that no file ever takes the
    place of another one. After two hyphens in a row, which no name gives by itself, it ends in the
    suffix, or in a hash where the name is no id.
    """
    stem, suffix = _parts(name)
    identity = stem if suffix in USUAL else f"{stem}--{suffix[1:]}"
    is_plain = suffix in USUAL | TOLD and _PLAIN.fullmatch(stem) is not None
    return identity if is_plain and len(identity) <= _CHARACTERS else hashed_id(name)


def hashed_id(name: str) -> str:
    """Return an id of the file `name` that ends in a hash of the name."""
    stem, suffix = _parts(name)
    spelled = _spelled(stem if suffix in USUAL else f"{stem}-{suffix[1:]}")
    readable_part = spelled[: _CHARACTERS - _HASH_CHARACTERS - 2].rstrip("-")
    return f"{readable_part}--{_digest(name)[:_HASH_CHARACTERS]}"


def earlier_ids(name: str) -> tuple[str, str]:
    """Return what earlier versions called the file `name`: told apart from another one, and alone.

    The first one comes from the whole name; the second may have been that of another file.
    """
    stem, _ = _parts(name)
    alone = _spelled(stem)
    if len(alone) > _CHARACTERS:
        alone = _earlier_hashed(alone, stem)
    return _earlier_hashed(alone, name), alone


def readable(name: str | Path) -> str:
    """Return a name that somebody else gave as one line of text.

    What is no text is replaced, and so is what would show the text behind it in another order.
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if _is_unreadable(each) else each for each in str(name)
    )


def _is_unreadable(sign: str) -> bool:
    return unicodedata.category(sign) in _UNREADABLE or sign in REORDERING


def _parts(name: str) -> tuple[str, str]:
    suffix = PurePath(name).suffix
    return name[: len(name) - len(suffix)] if suffix else name, suffix


def _spelled(name: str) -> str:
    spelled = unicodedata.normalize("NFC", name).translate(_SPELLED)
    plain = "".join(
        each for each in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(each)
    )
    return re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-") or "document"


def _earlier_hashed(identity: str, name: str) -> str:
    kept = identity[: _CHARACTERS - _EARLIER_HASH_CHARACTERS - 1]
    return f"{kept}-{_digest(name)[:_EARLIER_HASH_CHARACTERS]}"


def _digest(name: str) -> str:
    return sha256_hex(name.encode("utf-8", "surrogatepass"))
