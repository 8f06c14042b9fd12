"""The command that publishes many documents at once, and the question that goes before it."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from chancery.events.authority import Title, Visibility
from chancery.events.envelope import Id, Many, Sha256
from chancery.events.requests import Failure, Message

DOCUMENTS_MAX: Final = 250
"""How many documents one command carries; its request stays far below the bus's limit."""


class BulkDocument(Message):
    """One document, its bytes already stored as a blob.

    `title` is given to a source that is new; None there is its id. `visibility` None keeps what a
    source has, and lets the members of the workspace read a new one. A withdrawn source serves
    again only when `restore` asks for that.
    """

    source_id: Id
    title: Title | None = None
    visibility: Visibility | None = None
    content_sha256: Sha256
    media_type: str = Field(min_length=1, max_length=100)
    size_bytes: int = Field(ge=1)
    restore: bool = False


class PublishDocuments(Message):
    """Declare the sources that are new, and publish a revision of each whose content is."""

    workspace_id: Id
    documents: Many[BulkDocument] = Field(min_length=1, max_length=DOCUMENTS_MAX)


class BulkPublished(Message):
    """The revision that serves now, or the refusal of this one document."""

    source_id: Id
    revision: int | None = Field(default=None, ge=1)
    content_sha256: Sha256 | None = None
    event_id: Id | None = None
    sequence: int | None = Field(default=None, ge=1)
    visibility: Visibility | None = None
    changed: bool = False
    failure: Failure | None = None


class DocumentsPublished(Message):
    """What became of each document, in the order of the command."""

    documents: Many[BulkPublished]


class CheckBulkUpload(Message):
    """Ask, before bytes are stored, whether the caller may publish in the workspace at all."""

    workspace_id: Id
