"""Cutting a canonical text into parts, the unit that is cited, hashed and carried.

Offsets are code points of the raw text: neither bytes nor UTF-16 units, nothing normalised.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from chancery.events.envelope import Id, Sha256
from chancery.evidence.record import Record
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import derived_id

PART_CHARACTERS: Final = 4800
"""The length of every part but the last; changing it orphans every stored citation."""


class Part(Record):
    """[start, end) of a canonical text; `ordinal` is 1-based, `sha256` is over its UTF-8."""

    part_id: Id
    ordinal: int = Field(ge=1)
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    sha256: Sha256

    def slice(self, text: str) -> str:
        """Return this part of the whole canonical text."""
        return text[self.start : self.end]


def part_id(key: str, revision: int, extraction_sha256: str, ordinal: int) -> str:
    """Return the id of a part: bound to the revision, its extraction and the place in it."""
    return derived_id("part", extraction_sha256, key, str(revision), str(ordinal))


def split_parts(key: str, revision: int, extraction_sha256: str, text: str) -> tuple[Part, ...]:
    """Return the parts of `text` in order; concatenated they are exactly `text`."""
    starts = range(0, len(text), PART_CHARACTERS)
    return tuple(
        _part(part_id(key, revision, extraction_sha256, ordinal), ordinal, start, text)
        for ordinal, start in enumerate(starts, start=1)
    )


def _part(identity: str, ordinal: int, start: int, text: str) -> Part:
    piece = text[start : start + PART_CHARACTERS]
    return Part(
        part_id=identity,
        ordinal=ordinal,
        start=start,
        end=start + len(piece),
        sha256=sha256_hex(piece.encode()),
    )
