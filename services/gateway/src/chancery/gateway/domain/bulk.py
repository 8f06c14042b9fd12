"""The bodies of the route that publishes many documents."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from chancery.events.authority import Title, Visibility
from chancery.events.commands_bulk import DOCUMENTS_MAX, BulkPublished
from chancery.events.envelope import Id, Many
from chancery.events.queries import IndexState
from chancery.gateway.domain.exact import Exact
from chancery.kernel.errors import Rejected


class DocumentBody(Exact):
    """One document: its `text`, or the bytes of a file as `base64`.

    A withdrawn source is refused unless `restore` asks for it to serve again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source_id: Id
    title: Title | None = None
    visibility: Visibility | None = None
    media_type: str = Field(default="text/plain", min_length=1, max_length=100)
    text: str | None = None
    base64: str | None = None
    restore: bool = False

    def data(self) -> bytes:
        """Return the bytes of the document.

        Raises:
            Rejected: when it has neither text nor bytes, or both, or the base64 is none.
        """
        if (self.text is None) == (self.base64 is None):
            message = "give either text or base64"
            raise Rejected(message, field="text", code="invalid_request")
        if self.text is not None:
            return self.text.encode()
        try:
            return base64.b64decode(self.base64 or "", validate=True)
        except binascii.Error as error:
            message = "the base64 cannot be decoded"
            raise Rejected(message, field="base64", code="invalid_request") from error


class DocumentsBody(BaseModel):
    """Up to 250 documents, each of another source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: Annotated[Many[DocumentBody], Field(min_length=1, max_length=DOCUMENTS_MAX)]


class Refusal(BaseModel):
    """Why one document was not published."""

    model_config = ConfigDict(frozen=True)

    code: str
    detail: str
    field: str | None = None


class DocumentReply(BaseModel):
    """The revision that serves now, `changed` false when it did before, or the refusal."""

    model_config = ConfigDict(frozen=True)

    source: str
    revision: int | None = None
    sequence: int | None = None
    content_sha256: str | None = None
    event_id: str | None = None
    visibility: Visibility | None = None
    state: IndexState | None = None
    changed: bool = False
    error: Refusal | None = None


class DocumentsReply(BaseModel):
    """What became of each document, in the order of the request."""

    model_config = ConfigDict(frozen=True)

    documents: tuple[DocumentReply, ...]


def reply_of(published: BulkPublished) -> DocumentReply:
    """Return what the caller is told of one document."""
    failure = published.failure
    if failure is not None:
        refusal = Refusal(code=failure.code, detail=failure.detail, field=failure.field)
        return DocumentReply(source=published.source_id, error=refusal)
    return DocumentReply(
        source=published.source_id,
        revision=published.revision,
        sequence=published.sequence,
        content_sha256=published.content_sha256,
        event_id=published.event_id,
        visibility=published.visibility,
        state="pending",
        changed=published.changed,
    )


def refused(source_id: str, error: Rejected) -> DocumentReply:
    """Return the refusal of a document whose bytes could never be quoted."""
    refusal = Refusal(code=error.code, detail=error.detail, field=error.field)
    return DocumentReply(source=source_id, error=refusal)
