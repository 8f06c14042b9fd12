"""Asking indexing to look at a resource again, and retrieval whether it holds a revision.

Release has authorised the caller for exactly what these name; they carry no content.
"""

from __future__ import annotations

from pydantic import Field

from chancery.events.envelope import Id
from chancery.events.requests import Message
from chancery.events.search import SearchPin


class RefreshRevision(Message):
    """Index the serving revision of a source again; at most once a minute each."""

    key: Id
    revision: int = Field(ge=1)


class ReconcileSource(Message):
    """Compare what was said of a source with its log, and finish what is missing."""

    key: Id


class WorkAccepted(Message):
    """The work is recorded and will be done; `is_new` is false for a repeated request."""

    is_new: bool


class ConfirmRevision(Message):
    """Ask whether the search index holds exactly this revision."""

    pin: SearchPin


class RevisionConfirmed(Message):
    """Whether it does, now."""

    is_indexed: bool
