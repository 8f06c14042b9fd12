"""Where a stated fact comes from: a place in a document, an item or a file, or a dataset's value.

A citation of a curated item names its version and never a document's revision or page; the two
share no ids. Which of them it is shows in the id that it has: `source_id`, `item_id` or `file_id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from chancery.events.envelope import Id, Sha256
from chancery.evidence.quote import QUOTE_CHARACTERS_MAX
from chancery.evidence.record import Record

DocumentKind = Literal["source", "item", "file"]
"""What has text that can be quoted."""

DocumentName: TypeAlias = tuple[DocumentKind, str, int]
"""A document as citations name it: kind, id, and number of the revision or version."""

Page = Annotated[int | None, Field(ge=1)]


class _Quoted(Record):
    """Where a quotation stands; `part` is the part's id, `ordinal` its number (not a page).

    `start` and `end` are code points of the canonical text; `sha256` is over the quotation.
    """

    id: Id
    kind: Literal["quote"] = "quote"
    part: Id
    ordinal: int = Field(ge=1)
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    sha256: Sha256
    title: str = Field(min_length=1, max_length=300)

    @property
    def begins_on(self) -> int | None:
        """Return the page on which the quotation begins, or None without pages."""
        return None


class SourceCitation(_Quoted):
    """A place in a revision of a source; `page` is left out for a document without pages."""

    source_id: Id
    revision: int = Field(ge=1)
    page: Page = Field(default=None, exclude_if=lambda page: page is None)

    @property
    def document(self) -> DocumentName:
        """Return the cited document."""
        return ("source", self.source_id, self.revision)

    @property
    def begins_on(self) -> int | None:
        """Return the page on which the quotation begins, or None without pages."""
        return self.page


class ItemCitation(_Quoted):
    """A place in a published version of a curated item."""

    item_id: Id
    version: int = Field(ge=1)
    version_id: Id

    @property
    def document(self) -> DocumentName:
        """Return the cited document."""
        return ("item", self.item_id, self.version)


class FileCitation(_Quoted):
    """A place in a private file of the caller; `page` is left out for a file without pages."""

    file_id: Id
    revision: int = Field(ge=1)
    page: Page = Field(default=None, exclude_if=lambda page: page is None)

    @property
    def document(self) -> DocumentName:
        """Return the cited document."""
        return ("file", self.file_id, self.revision)

    @property
    def begins_on(self) -> int | None:
        """Return the page on which the quotation begins, or None without pages."""
        return self.page


QuoteCitation: TypeAlias = SourceCitation | ItemCitation | FileCitation
"""Where a quotation stands, whatever it is quoted from."""


class ValueCitation(Record):
    """What a value is; `sha256` is over the statement's text, `value` null says SQL NULL."""

    id: Id
    kind: Literal["value"] = "value"
    dataset_id: Id
    snapshot: int = Field(ge=1)
    sha256: Sha256
    title: str = Field(min_length=1, max_length=300)
    label: str = Field(min_length=1, max_length=QUOTE_CHARACTERS_MAX)
    value: str | None
    type: str = Field(min_length=1, max_length=100)

    @property
    def document(self) -> tuple[Literal["dataset"], str, int]:
        """Return the cited snapshot."""
        return ("dataset", self.dataset_id, self.snapshot)


_FORMS: Final[Mapping[type[Record], str]] = {
    SourceCitation: "source_id",
    ItemCitation: "item_id",
    FileCitation: "file_id",
    ValueCitation: "dataset_id",
}


def _form(citation: object) -> str | None:
    """Return the tag of a citation: the name of the id that only its form has."""
    if isinstance(citation, Record):
        return _FORMS.get(type(citation))
    if not isinstance(citation, Mapping):
        return None
    found = [name for name in _FORMS.values() if name in citation]
    return found[0] if len(found) == 1 else None


Citation: TypeAlias = Annotated[
    Annotated[SourceCitation, Tag("source_id")]
    | Annotated[ItemCitation, Tag("item_id")]
    | Annotated[FileCitation, Tag("file_id")]
    | Annotated[ValueCitation, Tag("dataset_id")],
    Discriminator(_form),
]
