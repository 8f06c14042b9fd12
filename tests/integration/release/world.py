"""The other five services, played over the bus: publishes, indexes, asks, gathers, proposes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter

from chancery.authority.names import (
    AggregateRef,
    principal_ref,
    source_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.tokens import proof_hash
from chancery.bus.connection import Connection
from chancery.bus.load import last_message
from chancery.bus.publish import publish
from chancery.bus.request import ask
from chancery.events.authority import (
    CredentialIssued,
    MemberAdded,
    Mode,
    RevisionPublished,
    RevisionWithdrawn,
    SourceDeclared,
    TenantCreated,
    Visibility,
    WorkspaceCreated,
)
from chancery.events.codec import decode
from chancery.events.commands import (
    ConversationCreated,
    CreateConversation,
    MessagePosted,
    PostMessage,
    RetryRun,
    RunRetried,
)
from chancery.events.envelope import EventData
from chancery.events.index import RevisionExtracted, RevisionReady
from chancery.events.queries import Document, EventRows, EventsAfter, OfRun
from chancery.events.requests import Message
from chancery.events.run import (
    Bounds,
    GatheredMeasure,
    ProposedQuote,
    ProposedValue,
    RunAdmitted,
    RunGathered,
    RunProposed,
    RunRequested,
)
from chancery.events.topology import (
    RUNS,
    command_subject,
    index_subject,
    query_subject,
    run_subject,
)
from chancery.evidence.manifest import build_manifest
from chancery.evidence.scope import Scope
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import random_id
from chancery.release.app import Parts
from chancery.store.blobs import Receiving
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.messages import PROOF, TENANT, caller, event_of, request_of
from tests.integration.release.published import Published

__all__ = ("TENANT", "World", "caller", "event_of", "parse", "request_of")

WORKSPACE = "legal"
FOLDED = "SELECT (SELECT max(sequence) FROM release.checkpoint WHERE projection = $1)"

_M = TypeVar("_M", bound=Message)
_JSON: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def parse(text: str) -> dict[str, JsonValue]:
    """Return a document as a mapping."""
    return _JSON.validate_json(text)


@dataclass(slots=True)
class World:
    """A tenant with one workspace, driven over the bus."""

    bus: Connection
    blobs: Receiving
    parts: Parts
    database: Database
    sources: dict[str, Published] = field(default_factory=dict[str, Published])

    async def append(self, ref: AggregateRef, data: EventData) -> int:
        """Append an authority event as ingestion would."""
        event = event_of(data, subject=ref.id)
        return (await publish(self.bus, ref.subject(TENANT), event)).sequence

    async def found(self) -> None:
        """Create tenant, workspace, and the members anna and bert."""
        await self.append(tenant_ref(TENANT), TenantCreated())
        await self.append(workspace_ref(WORKSPACE), WorkspaceCreated(title="Legal", creator="anna"))
        for name in ("anna", "bert"):
            await self.join(name)

    async def join(self, name: str, *, expires_at: datetime | None = None) -> None:
        """Give a principal a credential and membership."""
        issued = CredentialIssued(
            credential_id=f"c-{name}", proof_sha256=proof_hash(PROOF), expires_at=expires_at
        )
        await self.append(principal_ref(name), issued)
        await self.enroll(name)

    async def enroll(self, name: str) -> None:
        """Make a principal a reader of the workspace."""
        await self.append(principal_ref(name), MemberAdded(workspace_id=WORKSPACE, role="reader"))

    async def publish_source(
        self,
        source_id: str,
        text: str,
        *,
        visibility: Visibility = "workspace",
        declarer: str = "anna",
    ) -> Published:
        """Publish a revision of a source and index it to ready."""
        ref = source_ref(WORKSPACE, source_id)
        revision = 1
        if source_id in self.sources:
            revision = self.sources[source_id].revision + 1
        else:
            declared = SourceDeclared(
                workspace_id=WORKSPACE,
                source_id=source_id,
                title=f"Title of {source_id}",
                visibility=visibility,
                declarer=declarer,
            )
            await self.append(ref, declared)
        content = await self.blobs.put(TENANT, text.encode())
        sequence = await self.append(
            ref,
            RevisionPublished(
                revision=revision,
                content_sha256=content,
                media_type="text/plain",
                size_bytes=len(text.encode()),
            ),
        )
        found = await self.make_ready(ref, source_id, revision, text, sequence=sequence)
        self.sources[source_id] = found
        return found

    async def make_ready(
        self, ref: AggregateRef, source_id: str, revision: int, text: str, *, sequence: int
    ) -> Published:
        """Play indexing for a revision that was published at `sequence`."""
        content = sha256_hex(text.encode())
        manifest = build_manifest(
            ref.id, revision, content_sha256=content, extractor="text/1", text=text
        )
        extraction = await self.blobs.put(TENANT, text.encode())
        manifest_sha256 = await self.blobs.put(TENANT, manifest.to_bytes())
        common = {
            "workspace_id": WORKSPACE,
            "kind": "source",
            "key": ref.id,
            "revision": revision,
            "content_sha256": content,
            "authority_sequence": sequence,
            "extraction_sha256": extraction,
            "manifest_sha256": manifest_sha256,
        }
        extracted = RevisionExtracted.model_validate(
            {**common, "extractor": "text/1", "length": len(text)}
        )
        await self.index(ref, extracted)
        await self.index(ref, RevisionReady.model_validate(common))
        return Published(ref, source_id, revision, text, manifest)

    async def index(self, ref: AggregateRef, data: EventData) -> None:
        """Publish an index event and wait until release has folded it."""
        subject = index_subject(TENANT, ref.kind, ref.id)
        published = await publish(self.bus, subject, event_of(data, subject=ref.id))

        await self.until_folded("index", published.sequence)

    async def until_folded(self, projection: str, sequence: int) -> None:
        """Wait until a projection has come so far in the database."""
        async with connect_database(self.database.superuser_dsn, name="test") as db:
            await eventually(lambda: db.fetchval(f"{FOLDED} >= $2", projection, sequence))

    async def folded(self, projection: str) -> int:
        """Return how far a projection has come in the database."""
        async with connect_database(self.database.superuser_dsn, name="test") as db:
            return await db.fetchval(FOLDED, projection)

    async def withdraw(self, source_id: str) -> int:
        """Withdraw a source."""
        return await self.append(source_ref(WORKSPACE, source_id), RevisionWithdrawn())

    async def request(
        self, subject: str, body: Message, reply: type[_M], *, who: str = "anna", key: str = ""
    ) -> _M:
        """Ask release as the gateway does."""
        return await ask(self.bus, subject, request_of(subject, body, who=who, key=key), reply)

    async def converse(self, who: str = "anna") -> str:
        """Open a conversation."""
        subject = command_subject("release", "create-conversation")
        body = CreateConversation(workspace_id=WORKSPACE)
        created = await self.request(subject, body, ConversationCreated, who=who)
        return created.conversation_id

    async def post(
        self,
        question: str = "Who owns reviews?",
        *,
        who: str = "anna",
        sources: Sequence[str] = (),
        bounds: Bounds | None = None,
        conversation: str | None = None,
        mode: Mode = "auto",
    ) -> RunRequested:
        """Post a message; return what the gateway would publish then."""
        run_id = random_id()
        question_sha256 = await self.blobs.put_run(TENANT, run_id, question.encode())
        body = PostMessage(
            conversation_id=conversation or await self.converse(who),
            run_id=run_id,
            question_sha256=question_sha256,
            sources=tuple(sources),
            bounds=bounds or Bounds(),
            mode=mode,
        )
        subject = command_subject("release", "post-message")
        posted = await self.request(subject, body, MessagePosted, who=who)
        return RunRequested(
            run_id=run_id,
            workspace_id=posted.workspace_id,
            conversation_id=body.conversation_id,
            message=posted.message,
            credential_id=f"c-{who}",
            question_sha256=question_sha256,
            sources=body.sources,
            bounds=body.bounds,
            mode=mode,
        )

    async def tell(self, run_id: str, name: str, data: EventData, *, actor: str = "anna") -> None:
        """Publish an event of a run."""
        event = event_of(data, subject=run_id, actor=actor)
        await publish(self.bus, run_subject(TENANT, run_id, name), event)

    async def ask(
        self,
        *,
        who: str = "anna",
        sources: Sequence[str] = (),
        bounds: Bounds | None = None,
    ) -> str:
        """Ask a question and return the run's id."""
        requested = await self.post(who=who, sources=sources, bounds=bounds)
        await self.tell(requested.run_id, "requested", requested, actor=who)
        return requested.run_id

    async def retry(self, run_id: str, *, who: str = "anna", key: str = "") -> RunRetried:
        """Ask once more, as the gateway would."""
        subject = command_subject("release", "retry-run")
        retried = await self.request(subject, RetryRun(run_id=run_id), RunRetried, who=who, key=key)
        asked = retried.asked
        requested = RunRequested(
            run_id=run_id,
            workspace_id=retried.workspace_id,
            conversation_id=asked.conversation_id,
            message=retried.message,
            credential_id=retried.credential_id,
            question_sha256=asked.question_sha256,
            sources=asked.sources,
            bounds=asked.bounds,
            mode=asked.mode,
        )
        await self.tell(run_id, "requested", requested, actor=who)
        return retried

    async def admitted(self, run_id: str, *, generation: int = 1) -> RunAdmitted:
        """Wait for what release admitted."""

        async def find() -> RunAdmitted | None:
            stored = await last_message(self.bus, RUNS, run_subject(TENANT, run_id, "admitted"))
            data = None if stored is None else decode(stored.payload).data
            if not isinstance(data, RunAdmitted) or data.generation != generation:
                return None
            return data

        found = await eventually(find)
        assert found is not None
        return found

    async def scope(self, admitted: RunAdmitted) -> Scope:
        """Return the scope that was admitted."""
        data = await self.blobs.get_run(
            TENANT, admitted.run_id, admitted.scope_sha256, limit=1_000_000
        )
        return Scope.from_bytes(data)

    async def gather(
        self,
        admitted: RunAdmitted,
        *found: Published,
        measures: tuple[GatheredMeasure, ...] = (),
    ) -> None:
        """Play retrieval."""
        data = RunGathered(
            run_id=admitted.run_id,
            generation=admitted.generation,
            lease=admitted.lease,
            passages=tuple(each.passage() for each in found),
            measures=measures,
            index_position=admitted.index_sequence,
        )
        await self.tell(admitted.run_id, "gathered", data)

    async def propose(
        self, admitted: RunAdmitted, *selections: ProposedQuote | ProposedValue
    ) -> None:
        """Play execution."""
        data = RunProposed(
            run_id=admitted.run_id,
            generation=admitted.generation,
            lease=admitted.lease,
            selector="extractive",
            selections=selections,
        )
        await self.tell(admitted.run_id, "proposed", data)

    async def document(self, noun: str, run_id: str, *, who: str = "anna") -> Document:
        """Ask for a document of a run."""
        subject = query_subject("release", noun)
        return await self.request(subject, OfRun(run_id=run_id), Document, who=who)

    async def ended(self, run_id: str, *, who: str = "anna", within_s: float = 60) -> Document:
        """Wait until a run has ended and return its answer document."""

        async def find() -> Document | None:
            document = await self.document("answer", run_id, who=who)
            return None if document.status == "open" else document

        found = await eventually(find, within_s)
        assert found is not None
        return found

    async def rows(self, run_id: str, after: int = 0) -> EventRows:
        """Read the event rows of a run."""
        subject = query_subject("release", "events")
        return await self.request(subject, EventsAfter(run_id=run_id, after=after), EventRows)

    async def count(self, table: str, run_id: str) -> int:
        """Return how many rows of a table belong to a run."""
        async with connect_database(self.database.superuser_dsn, name="test") as db:
            query = f"SELECT count(*) FROM release.{table} WHERE run_id = $1"
            return await db.fetchval(query, run_id)

    async def answer_with(self, *quotes: tuple[Published, str]) -> str:
        """Play a whole run that quotes these texts; return its id."""
        run_id = await self.ask()
        admitted = await self.admitted(run_id)
        await self.gather(admitted, *dict.fromkeys(source for source, _ in quotes))
        await self.propose(admitted, *(source.quote(text) for source, text in quotes))
        return run_id
