"""What the search index holds of a revision: its passages, or its measure cards.

An entry is bound to a pin: the exact revision with the manifest it was made from. Whoever may read
a pin may search its entries; the index knows neither titles nor readers, and stores no text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from chancery.events.index import ResourceKind
from chancery.evidence.manifest import DatasetManifest, Manifest, MeasureCard, check_text
from chancery.evidence.passages import passages
from chancery.kernel.canonical import canonical_bytes, sha256_hex

PINS_REMEMBERED = 32 * 1024
"""Numbers that are kept, some 12 MB: the same revisions are searched again and again."""

EntryKind: TypeAlias = Literal["passage", "measure"]


@dataclass(frozen=True, slots=True, order=True)
class RevisionRef:
    """One revision of a source, dataset or file of a tenant, or one version of an item."""

    kind: ResourceKind
    key: str
    revision: int

    @property
    def number(self) -> int:
        """Return the 64 bits under which the index finds everything of this revision."""
        return _number("revision", self.kind, self.key, str(self.revision))


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    """A revision in the form that a manifest describes."""

    ref: RevisionRef
    extraction_sha256: str
    manifest_sha256: str

    @property
    def number(self) -> int:
        """Return the 64 bits under which the index finds the entries of this pin."""
        return pin_number(self.ref.kind, self.ref.key, self.ref.revision, self.manifest_sha256)


@dataclass(frozen=True, slots=True)
class Entry:
    """One searchable thing: [start, end) of the text inside part `ordinal`, or a card by `name`.

    `text` is indexed and not stored.
    """

    kind: EntryKind
    text: str
    ordinal: int = 0
    start: int = 0
    end: int = 0
    name: str = ""


def text_entries(manifest: Manifest, text: str) -> tuple[Entry, ...]:
    """Return the passages of a document; blank ones are left out.

    Raises:
        AlteredText: when `text` is not the one that the manifest describes.
    """
    check_text(manifest, text)
    return tuple(
        Entry("passage", text[start:end], part.ordinal, start, end)
        for part in manifest.parts
        for start, end in passages(text, part)
        if not text[start:end].isspace()
    )


def card_entries(manifest: DatasetManifest) -> tuple[Entry, ...]:
    """Return the measure cards of a snapshot."""
    return tuple(
        Entry("measure", _card_text(card), ordinal=ordinal, name=card.name)
        for ordinal, card in enumerate(manifest.cards, start=1)
    )


def _card_text(card: MeasureCard) -> str:
    return "\n".join((card.name, card.description, *card.synonyms, card.label))


@lru_cache(maxsize=PINS_REMEMBERED)
def pin_number(kind: ResourceKind, key: str, revision: int, manifest_sha256: str) -> int:
    """Return what `Pin.number` does, without the pin: a search names up to a thousand."""
    return _number("pin", kind, key, str(revision), manifest_sha256)


def _number(*names: str) -> int:
    return int(sha256_hex(canonical_bytes(list(names)))[:16], 16)
