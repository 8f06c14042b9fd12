"""The port of all extractors, and `extract`, which picks the one for a media type.

An extractor is a pure function of bytes: the same bytes give the same text for ever under the same
identity; another result needs another identity. One that runs foreign code (PDF, images) does so in
a subprocess of its own behind the same port.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from chancery.extract.plain import PLAIN_TEXT, read_plain_text
from chancery.kernel.errors import Rejected

EXTRACTOR = PLAIN_TEXT
"""The identity of the extractor for Markdown and plain text."""


class UnsupportedMediaType(Rejected):
    """No extractor reads this media type."""

    code = "unsupported_media_type"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The canonical text of a document and the identity of what extracted it."""

    text: str
    extractor: str


class Extractor(Protocol):
    """Reads the text out of one kind of document."""

    @property
    def identity(self) -> str:
        """Return name and version, for example `text/1`; it changes whenever the text may."""
        ...

    def __call__(self, data: bytes) -> str:
        """Return the canonical text.

        Raises:
            Rejected: with a stable code that stands in the index state; never text of the file.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlainTextExtractor:
    """Markdown and plain text, which are their own canonical text."""

    identity: str = EXTRACTOR

    def __call__(self, data: bytes) -> str:
        """Return `data` as text, nothing normalised; see `read_plain_text`."""
        return read_plain_text(data)


EXTRACTORS: Mapping[str, Extractor] = {
    "text/plain": PlainTextExtractor(),
    "text/markdown": PlainTextExtractor(),
}
"""From the bare media type to its extractor."""


def extractor_of(media_type: str) -> Extractor:
    """Return the extractor for a media type, with or without parameters.

    Raises:
        Rejected: code `unsupported_media_type`, or `unsupported_charset` for a charset other than
            UTF-8 (of which US-ASCII is a part).
    """
    bare, *parameters = (piece.strip().lower() for piece in media_type.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip(' "') not in {"utf-8", "utf8", "us-ascii"}:
            message = "the text must be UTF-8"
            raise Rejected(message, field="media_type", code="unsupported_charset")
    extractor = EXTRACTORS.get(bare)
    if extractor is None:
        message = f"media_type must be one of {', '.join(sorted(EXTRACTORS))}"
        raise UnsupportedMediaType(message, field="media_type")
    return extractor


def extract(media_type: str, data: bytes) -> Extraction:
    """Return the canonical text of `data`.

    Raises:
        Rejected: with a stable code; see `extractor_of` and the extractor.
    """
    extractor = extractor_of(media_type)
    return Extraction(text=extractor(data), extractor=extractor.identity)
