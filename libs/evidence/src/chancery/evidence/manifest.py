"""What an extraction consists of: the parts of a document, the columns and cards of a dataset."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from chancery.events.authority import Aggregate
from chancery.events.envelope import Id, Many, Sha256
from chancery.evidence.layout import Offset, page_of
from chancery.evidence.parts import PART_CHARACTERS, Part, part_id, split_parts
from chancery.evidence.record import Record
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Corrupt

COLUMNS_MAX: Final = 2000
PAGES_MAX: Final = 2000

RAW_EXTRACTOR: Final = "text/1"
"""The extractor that keeps Markdown and plain text as they are: the text is the published bytes."""


class AlteredText(Corrupt):
    """A canonical text or part is not the one that its manifest describes."""

    code = "altered_text"


class Manifest(Record):
    """The parts of one revision's canonical text; `length` counts code points.

    A manifest whose parts are missing, reordered, duplicated, truncated or misnamed does not parse.
    `pages` are the offsets at which the pages of a paged document begin, `layout_sha256` names the
    blob that tells where its pieces stand; documents without them leave them out.
    """

    format: Literal["chancery.manifest/1"] = "chancery.manifest/1"
    key: Id
    revision: int = Field(ge=1)
    content_sha256: Sha256
    extraction_sha256: Sha256
    extractor: str = Field(min_length=1, max_length=100)
    length: int = Field(ge=0)
    parts: Many[Part]
    pages: Many[Offset] = Field(
        default=(), max_length=PAGES_MAX, exclude_if=lambda pages: not pages
    )
    layout_sha256: Sha256 | None = Field(default=None, exclude_if=lambda sha256: sha256 is None)

    @model_validator(mode="after")
    def _parts_are_the_text(self) -> Self:
        expected = tuple(
            (
                part_id(self.key, self.revision, self.extraction_sha256, ordinal),
                ordinal,
                start,
                min(start + PART_CHARACTERS, self.length),
            )
            for ordinal, start in enumerate(range(0, self.length, PART_CHARACTERS), start=1)
        )
        found = tuple((part.part_id, part.ordinal, part.start, part.end) for part in self.parts)
        if found != expected:
            message = "parts must be all the parts of the text, each once and in order"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _pages_are_in_order(self) -> Self:
        bounds = (0, *self.pages, self.length)
        if self.pages[:1] not in {(), (0,)} or tuple(sorted(bounds)) != bounds:
            message = "pages must begin at 0, in order, and within the text"
            raise ValueError(message)
        return self

    @property
    def sha256(self) -> str:
        """Return the hash of the canonical bytes, the `manifest_sha256` of events and receipts."""
        return sha256_hex(self.to_bytes())

    def part(self, wanted: str) -> Part | None:
        """Return the part with the id `wanted`, or None when this text has no such part."""
        return next((part for part in self.parts if part.part_id == wanted), None)

    def page(self, offset: int) -> int | None:
        """Return the page on which `offset` stands (the first is 1), or None without pages."""
        return page_of(self.pages, offset)


class MeasureCard(Record):
    """A declared measure as it is searched; `sql` is its canonical statement over the dataset."""

    name: str = Field(min_length=1, max_length=64)
    description: str = Field(default="", max_length=500)
    synonyms: Many[str] = Field(default=(), max_length=20)
    label: str = Field(min_length=1, max_length=4000)
    sql: str = Field(min_length=1, max_length=8192)
    aggregate: Aggregate
    column: str | None = Field(default=None, min_length=1, max_length=64)


class DatasetManifest(Record):
    """The schema and the measure cards of one snapshot; never shown to a caller as it is.

    It names every column, hidden ones too, so no bundle, reply or error carries it.
    """

    format: Literal["chancery.dataset-manifest/1"] = "chancery.dataset-manifest/1"
    key: Id
    snapshot: int = Field(ge=1)
    content_sha256: Sha256
    extraction_sha256: Sha256
    extractor: str = Field(min_length=1, max_length=100)
    rows: int = Field(ge=0)
    columns: Many[tuple[str, str]] = Field(max_length=COLUMNS_MAX)
    cards: Many[MeasureCard] = Field(default=(), max_length=50)

    @property
    def sha256(self) -> str:
        """Return the hash of the canonical bytes, the `manifest_sha256` of events and receipts."""
        return sha256_hex(self.to_bytes())

    def card(self, name: str) -> MeasureCard | None:
        """Return the card of the measure `name`, or None."""
        return next((card for card in self.cards if card.name == name), None)


def build_manifest(
    key: str,
    revision: int,
    *,
    content_sha256: str,
    extractor: str,
    text: str,
    pages: tuple[int, ...] = (),
    layout_sha256: str | None = None,
) -> Manifest:
    """Return the manifest of the canonical `text` of a revision."""
    extraction_sha256 = sha256_hex(text.encode())
    return Manifest(
        key=key,
        revision=revision,
        content_sha256=content_sha256,
        extraction_sha256=extraction_sha256,
        extractor=extractor,
        length=len(text),
        parts=split_parts(key, revision, extraction_sha256, text),
        pages=pages,
        layout_sha256=layout_sha256,
    )


def check_text(manifest: Manifest, text: str) -> None:
    """Check that `text` is the canonical text that `manifest` describes.

    Raises:
        AlteredText: when the whole or a part differs.
    """
    if len(text) != manifest.length or sha256_hex(text.encode()) != manifest.extraction_sha256:
        message = "the canonical text does not match its manifest"
        raise AlteredText(message, field="extraction_sha256")
    for part in manifest.parts:
        check_part(part, part.slice(text))


def check_part(part: Part, text: str) -> None:
    """Check that `text` is exactly the text of `part`.

    Raises:
        AlteredText: when length or hash differ.
    """
    if len(text) != part.end - part.start or sha256_hex(text.encode()) != part.sha256:
        message = f"the text of part {part.part_id!r} does not match the manifest"
        raise AlteredText(message, field="parts")
