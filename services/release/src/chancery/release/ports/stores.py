"""What the handlers need of PostgreSQL, the blobs and the log; the adapters are in `adapters`.

Every method raises `Unavailable` when what is behind it is away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from chancery.authority.names import AggregateRef
from chancery.events.index import ResourceKind
from chancery.evidence.scope import Scope, ScopeEntry
from chancery.kernel.canonical import Json
from chancery.release.domain.conversations import Asked, Conversation, Message, Posting
from chancery.release.domain.documents import Document
from chancery.release.domain.drafts import Draft
from chancery.release.domain.entries import Published, Resource
from chancery.release.domain.index_fold import IndexEntry
from chancery.release.domain.releases import Release
from chancery.release.domain.runs import Generation, Overdue, Retry, Run, Told
from chancery.release.domain.sealing import Cut, Judged, Sealable
from chancery.release.domain.selection import Evidence, Pin, Selection
from chancery.release.domain.snapshot import Snapshot


class AuthorityReads(Protocol):
    """Reads of the projections; each one statement."""

    async def read(self, tenant: str, refs: Sequence[AggregateRef], *, at_least: int) -> Snapshot:
        """Return the states of `refs`, from a snapshot that has passed `at_least`."""
        ...

    async def resources(
        self, tenant: str, workspace_id: str, refs: Sequence[AggregateRef]
    ) -> tuple[Resource, ...]:
        """Return those of `refs` that exist in the workspace; a file's is its owner."""
        ...

    async def workspace(
        self, tenant: str, workspace_id: str, kinds: Iterable[ResourceKind]
    ) -> tuple[Resource, ...]:
        """Return everything of the workspace of these kinds, by kind and key."""
        ...

    async def index_entry(self, tenant: str, ref: AggregateRef, revision: int) -> IndexEntry | None:
        """Return the index entry of one exact revision."""
        ...

    async def credential_owner(self, tenant: str, credential_id: str) -> str | None:
        """Return the principal that holds a credential of this id."""
        ...

    async def read_with_later(
        self, tenant: str, refs: Sequence[AggregateRef], than: Published, *, at_least: int
    ) -> tuple[Snapshot, tuple[Resource, ...]]:
        """Return what `read` does, and what was published later `than`, from one snapshot."""
        ...


class RunStore(Protocol):
    """Runs; each move happens once."""

    async def read(self, tenant: str, run_id: str) -> Run | None:
        """Return a run, or None."""
        ...

    async def admit(self, run: Run, *, lease: str, admitted: bytes, policy_sha256: str) -> bool:
        """Give a requested run its lease and scope; False when it has moved on."""
        ...

    async def keep_gathered(
        self, tenant: str, run_id: str, *, generation: int, lease: str, payload: bytes
    ) -> bool:
        """Store what was gathered; False when the run is not in that state under that lease."""
        ...

    async def keep_proposed(self, run: Run, generation: int, lease: str, payload: bytes) -> bool:
        """Store what was proposed; False when the run is not in that state under that lease."""
        ...

    async def record_activity(
        self, tenant: str, run_id: str, *, generation: int, lease: str, body: Json, event_id: str
    ) -> bool:
        """Add an event row for an activity, once; False when it was told or the lease is void."""
        ...

    async def read_told(self, tenant: str, run_id: str, after: int, limit: int) -> Told | None:
        """Return a run with its event rows behind `after`; a place ahead of it is its beginning."""
        ...

    async def begun(self, run: Run, request_id: str) -> Generation | None:
        """Return the generation that a request began, or None."""
        ...

    async def retry(self, run: Run, wish: Retry) -> Generation:
        """Begin the generation after the run's, once per request (`RunStillOpen`)."""
        ...

    async def overdue(self) -> list[Overdue]:
        """Return the open generations whose deadline has passed, oldest first."""
        ...

    async def next_deadline_s(self) -> float | None:
        """Return the seconds until the next open run is overdue, None when none is open."""
        ...


class ConversationStore(Protocol):
    """Conversations and messages, each recorded once per idempotency key."""

    async def create(
        self, tenant: str, conversation_id: str, workspace_id: str, principal: str, *, sha256: str
    ) -> Conversation:
        """Return the conversation of this id, new or opened by the same request (`KeyReused`)."""
        ...

    async def read(self, tenant: str, conversation_id: str) -> Conversation | None:
        """Return a conversation, or None."""
        ...

    async def message_of(self, tenant: str, run_id: str) -> Message | None:
        """Return the message that asked a run's question."""
        ...

    async def messages(self, tenant: str, conversation_id: str) -> tuple[Asked, ...]:
        """Return the messages of a conversation in order."""
        ...

    async def post(self, posting: Posting) -> Message:
        """Record a question and its run, or return what the same request recorded before."""
        ...


class ReleaseStore(Protocol):
    """The sealed record, to read."""

    async def read(self, tenant: str, run_id: str, generation: int) -> Release | None:
        """Return the release of a run's generation, or None."""
        ...

    async def read_last(self, tenant: str, run_id: str) -> tuple[Run | None, Release | None]:
        """Return a run and the release of its current generation with its document, or None."""
        ...

    async def contents(self, release: Release, *kinds: str) -> dict[str, bytes]:
        """Return the exact bytes of these content rows of a release."""
        ...


class SealDesk(Protocol):
    """Where releases are committed."""

    async def clock(self) -> datetime:
        """Return the database's clock."""
        ...

    async def seal(self, sealable: Sealable) -> Judged:
        """Take a draft through steps 5 to 7 and return what was judged; rows are committed then.

        Several may share a transaction: each is judged by itself.

        Raises:
            AlreadySealed: another release of this generation was first.
            Unavailable: the database is away; after COMMIT was sent its outcome is unknown.
        """
        ...


class CutLog(Protocol):
    """The cuts on the log."""

    async def publish(self, draft: Draft, *, attempt: int, decided_at: datetime) -> Cut:
        """Publish one acknowledged cut of a draft, with a fresh message id."""
        ...

    async def payload(self, sequence: int) -> bytes | None:
        """Return the bytes of the cut at a position."""
        ...


class EvidenceStore(Protocol):
    """Evidence by the hashes that release pinned; what is returned has them."""

    async def put_scope(self, tenant: str, run_id: str, scope: Scope) -> str:
        """Store the scope of a run and return its hash."""
        ...

    async def scope(self, tenant: str, run_id: str, sha256: str) -> Scope:
        """Return the scope that release admitted."""
        ...

    async def load(
        self, tenant: str, run_id: str, used: Sequence[tuple[Selection, ScopeEntry]]
    ) -> Evidence:
        """Return the documents and queries that a selection names."""
        ...

    async def document(self, tenant: str, pin: Pin) -> Document:
        """Return the pinned text and manifest of a source."""
        ...

    async def run_blob(self, tenant: str, run_id: str, sha256: str) -> bytes | None:
        """Return a blob that the run derived, or None when it is not there."""
        ...
