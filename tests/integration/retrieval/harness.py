"""Admitting runs without release, and reading what was gathered for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from chancery.bus.load import last_message
from chancery.bus.publish import publish
from chancery.bus.request import ask
from chancery.events.authority import Mode
from chancery.events.codec import decode
from chancery.events.envelope import Envelope, Event
from chancery.events.index import RevisionReady
from chancery.events.requests import Caller, Request
from chancery.events.run import Bounds, RunAdmitted, RunGathered
from chancery.events.search import Search, SearchPin, SearchResult
from chancery.events.topology import RUNS, query_subject, run_subject
from chancery.evidence.scope import ScopeEntry, build_scope
from chancery.indexing.domain.history import ResourceRef
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Unavailable
from chancery.kernel.ids import random_id
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Log

TENANT = "acme"


@dataclass(frozen=True, slots=True)
class Desk:
    """Publishes, asks and waits, as the other services would."""

    log: Log

    async def ready(self, ref: ResourceRef, revision: int = 1) -> ScopeEntry:
        """Wait until the revision is ready and return its scope entry."""
        found = await eventually(lambda: self._entry(ref, revision), within_s=60)
        assert found is not None
        return found

    async def ask(
        self, question: str, *entries: ScopeEntry, mode: Mode = "auto", within_s: float = 60
    ) -> RunGathered:
        """Admit a run over `entries` and return what is gathered for it."""
        run_id = await self.admit(question, *entries, mode=mode)
        found = await eventually(lambda: self.gathered(run_id), within_s=within_s)
        assert found is not None
        return found

    async def admit(
        self, question: str, *entries: ScopeEntry, mode: Mode = "auto", lose_scope: bool = False
    ) -> str:
        """Publish an admitted run over `entries` and return its id."""
        run_id, blobs = random_id(), self.log.blobs
        now = SystemClock().now()
        data = RunAdmitted(
            run_id=run_id,
            generation=1,
            lease="lease",
            workspace_id="w",
            principal="ada",
            question_sha256=await blobs.put_run(TENANT, run_id, question.encode()),
            scope_sha256=await blobs.put_run(TENANT, run_id, build_scope(entries).to_bytes()),
            policy_revision="0",
            language="en",
            mode=mode,
            bounds=Bounds(),
            deadline=now + timedelta(seconds=600),
            barrier=1,
            index_sequence=max((entry.index_sequence for entry in entries), default=0),
        )
        if lose_scope:
            await blobs.delete(TENANT, data.scope_sha256, run=run_id)
        envelope = Envelope(
            id=random_id(),
            source="chancery/release",
            type=data.TYPE,
            subject=run_id,
            time=now,
            tenant=TENANT,
        )
        event = Event(envelope=envelope, data=data)
        await publish(self.log.connection, run_subject(TENANT, run_id, "admitted"), event)
        return run_id

    async def search(self, query: str, *entries: ScopeEntry, limit: int = 10) -> SearchResult:
        """Search `entries` as the gateway does after release admitted them."""
        body = Search(
            query=query,
            limit=limit,
            index_sequence=max((entry.index_sequence for entry in entries), default=0),
            pins=tuple(_pin_of(entry) for entry in entries),
        )
        return await self.send(body)

    async def pin(self, ref: ResourceRef) -> tuple[int, SearchPin]:
        """Wait until something of any kind is ready; return its place on the log and its pin."""

        async def found() -> tuple[int, SearchPin] | None:
            for stored in reversed(await self.log.index(ref)):
                data = decode(stored.payload).data
                if isinstance(data, RevisionReady):
                    return stored.sequence, _pin_of_ready(data)
            return None

        pinned = await eventually(found, within_s=60)
        assert pinned is not None
        return pinned

    async def send(self, body: Search) -> SearchResult:
        """Ask for a search as soon as somebody answers."""
        request = Request(
            caller=Caller(tenant=TENANT, principal="ada", credential_id="c", proof="0" * 64),
            route="POST /search",
            idempotency_key=random_id(),
            request_sha256="0" * 64,
            body=body,
        )
        subject = query_subject("retrieval", "search")

        async def answered() -> SearchResult | None:
            try:
                return await ask(self.log.connection, subject, request, SearchResult)
            except Unavailable as error:
                # As the gateway does, it asks once more when whom it asked is gone.
                if error.code not in {"no_responders", "bus_timeout"}:
                    raise
                return None

        found = await eventually(answered, within_s=60)
        assert found is not None
        return found

    async def gathered(self, run_id: str) -> RunGathered | None:
        """Return what was gathered for the run, or None so far."""
        subject = run_subject(TENANT, run_id, "gathered")
        stored = await last_message(self.log.connection, RUNS, subject)
        if stored is None:
            return None
        data = decode(stored.payload).data
        assert isinstance(data, RunGathered)
        return data

    async def _entry(self, ref: ResourceRef, revision: int) -> ScopeEntry | None:
        for stored in reversed(await self.log.index(ref)):
            data = decode(stored.payload).data
            if isinstance(data, RevisionReady) and data.revision == revision:
                return _entry_of(ref, data, stored.sequence)
        return None


def _pin_of(entry: ScopeEntry) -> SearchPin:
    assert entry.extraction_sha256 is not None
    assert entry.manifest_sha256 is not None
    assert entry.kind != "dataset"
    return SearchPin(
        kind=entry.kind,
        key=entry.key,
        revision=entry.revision,
        extraction_sha256=entry.extraction_sha256,
        manifest_sha256=entry.manifest_sha256,
    )


def _pin_of_ready(data: RevisionReady) -> SearchPin:
    assert data.kind != "dataset"
    return SearchPin(
        kind=data.kind,
        key=data.key,
        revision=data.revision,
        extraction_sha256=data.extraction_sha256,
        manifest_sha256=data.manifest_sha256,
    )


def _entry_of(ref: ResourceRef, data: RevisionReady, sequence: int) -> ScopeEntry:
    return ScopeEntry(
        kind=ref.kind,
        key=ref.key,
        id="some-id",
        title="Title",
        revision=data.revision,
        content_sha256=data.content_sha256,
        media_type="text/plain",
        extraction_sha256=data.extraction_sha256,
        manifest_sha256=data.manifest_sha256,
        state="ready",
        index_sequence=sequence,
    )
