"""Curated items, private files and corpora over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlencode

from pydantic import Field, JsonValue, TypeAdapter

from chancery.client.errors import StillOpen
from chancery.client.handles import AnswerHandle
from chancery.client.replies import Answered, Done, IndexState
from chancery.client.transport import Received, Sent, Transport
from chancery.events.authority import Visibility
from chancery.evidence.corpus_text import is_one_line
from chancery.kernel.canonical import Json

READY_WITHIN_S = 60.0
_POLL_S = 0.1
_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class Evidence:
    """A published revision of a source, or snapshot of a dataset, that an item rests on."""

    kind: Literal["source", "dataset"]
    id: str
    revision: int

    def body(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {"kind": self.kind, "id": self.id, "revision": self.revision}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a version of an item is to say; `text` is its whole body, at most 256 KiB.

    Without a visibility, the item keeps the one it has; a new one shows to every member.
    """

    title: str
    text: str
    kind: str = "article"
    domain: str = "general"
    tags: Sequence[str] = ()
    evidence: Sequence[Evidence] = ()
    visibility: Visibility | None = None

    def body(self) -> dict[str, Json]:
        """Return the JSON body of the draft."""
        return {
            "title": self.title,
            "text": self.text,
            "kind": self.kind,
            "domain": self.domain,
            "tags": list(self.tags),
            "evidence": [each.body() for each in self.evidence],
            "visibility": self.visibility,
        }


class SavedDraft(Answered):
    """A draft that stands; publishing repeats its hash."""

    draft_id: str
    content_sha256: str
    evidence_sha256: str
    sequence: int
    changed: bool


class PublishedVersion(Answered):
    """The version that serves; `operation_id` is its commit on the log."""

    version: int
    version_id: str
    operation_id: str
    content_sha256: str
    sequence: int
    changed: bool


class ItemSummary(Answered):
    """An item that the caller may read; version 0 means that none is published.

    `usable` says whether an answer may rest on it now; when not, `reason` says why.
    """

    id: str
    title: str
    kind: str
    domain: str
    tags: tuple[str, ...] = ()
    version: int
    withdrawn: bool
    visibility: Visibility | None = None
    state: IndexState | None = None
    usable: bool | None = None
    reason: str | None = None


class _ItemList(Answered):
    items: tuple[ItemSummary, ...]


class KeptFile(Answered):
    """A private file of the caller."""

    id: str
    title: str
    media_type: str
    size_bytes: int
    content_sha256: str
    state: IndexState | None = None
    reason: str | None = None


class UploadedFile(Answered):
    """The file that an upload became."""

    file_id: str
    content_sha256: str
    sequence: int


class _FileList(Answered):
    files: tuple[KeptFile, ...]


_Indexed = TypeVar("_Indexed", ItemSummary, KeptFile)


class Corpus(Answered):
    """A corpus as it is declared; `declaration` is its one line."""

    id: str
    model: str
    scope: str
    title: str
    content: tuple[str, ...]
    where: str
    binding: str = Field(alias="from")
    declaration: str
    declaration_sha256: str


class RecordStatus(Answered):
    """The index state of a revision of a corpus."""

    source: str
    revision: int
    state: IndexState
    reason: str | None = None


class CorpusRun(Answered):
    """Progress of a run; it holds no content, and its answer is a handle or null."""

    run_id: str
    generation: int
    source: str
    revision: int
    sequence: int
    state: str
    coverage: dict[str, JsonValue] | None = None
    answer: dict[str, JsonValue] | None = None
    usage: dict[str, JsonValue] | None = None
    detail: str | None = None


class _Availability(Answered):
    available: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusAsk:
    """A question to a corpus: one pair of `source` and `revision` starts one run."""

    source: str
    revision: int
    question: str
    profile: str = "default"
    policy_revision: str = "0"
    max_duration_s: int = 60
    min_sources: int = 1
    max_sources: int = 8

    def body(self) -> dict[str, Json]:
        """Return the JSON body of the request."""
        return {
            "source": self.source,
            "revision": self.revision,
            "question": self.question,
            "profile": self.profile,
            "policy_revision": self.policy_revision,
            "max_duration_s": self.max_duration_s,
            "min_sources": self.min_sources,
            "max_sources": self.max_sources,
        }


@dataclass(frozen=True, slots=True)
class Items:
    """The curated items of a workspace; make it with `Workspace.items`."""

    transport: Transport
    workspace_id: str

    async def save_draft(
        self, item_id: str, draft: Draft, *, draft_id: str | None = None
    ) -> SavedDraft:
        """Save a draft, or with `draft_id` save that one again; nobody is answered from it."""
        sent = Sent(json=draft.body())
        if draft_id is None:
            return (await self._call("POST", f"{item_id}/drafts", sent)).read(SavedDraft)
        return (await self._call("PUT", f"{item_id}/drafts/{draft_id}", sent)).read(SavedDraft)

    async def publish(
        self,
        item_id: str,
        saved: SavedDraft,
        evidence: Sequence[Evidence] = (),
        *,
        restore: bool = False,
    ) -> PublishedVersion:
        """Publish exactly what was saved, on exactly this evidence.

        A withdrawn item serves again only when `restore` asks for that.
        """
        body: dict[str, Json] = {
            "content_sha256": saved.content_sha256,
            "evidence": [each.body() for each in evidence],
        }
        query = "?restore=true" if restore else ""
        path = f"{item_id}/drafts/{saved.draft_id}/publish{query}"
        return (await self._call("POST", path, Sent(json=body))).read(PublishedVersion)

    async def all(self) -> tuple[ItemSummary, ...]:
        """Return the items that the caller may read."""
        path = f"/v1/workspaces/{self.workspace_id}/items"
        return (await self.transport.call("GET", path)).read(_ItemList).items

    async def read(self, item_id: str) -> dict[str, JsonValue]:
        """Return an item with its versions."""
        return (await self._call("GET", item_id)).read_as(_OBJECT)

    async def manifest(self, item_id: str, version: int) -> dict[str, JsonValue]:
        """Return the manifest of a version's complete view."""
        path = f"{item_id}/versions/{version}/manifest"
        return (await self._call("GET", path)).read_as(_OBJECT)

    async def text(self, item_id: str, version: int) -> str:
        """Return the whole body of a version."""
        return (await self._call("GET", f"{item_id}/versions/{version}/text")).body.decode()

    async def withdraw(self, item_id: str) -> Done:
        """Stop an item from serving; answers that used it are withheld."""
        return (await self._call("POST", f"{item_id}/withdraw")).read(Done)

    async def wait_until_ready(
        self, item_id: str, *, within_s: float = READY_WITHIN_S
    ) -> ItemSummary:
        """Return the item once its serving version can be asked about, or never can be.

        Raises:
            StillOpen: when it is still pending after `within_s`.
        """
        return await _settled(lambda: self._summary(item_id), item_id, within_s)

    async def _summary(self, item_id: str) -> ItemSummary:
        return ItemSummary.model_validate((await self.read(item_id))["item"])

    async def _call(self, method: str, path: str, sent: Sent | None = None) -> Received:
        place = f"/v1/workspaces/{self.workspace_id}/items/{path}"
        return await self.transport.call(method, place, sent)


@dataclass(frozen=True, slots=True)
class Files:
    """The private files of the caller; make it with `Chancery.files`."""

    transport: Transport

    async def upload(
        self, data: bytes | Path, media_type: str, *, title: str = "file"
    ) -> UploadedFile:
        """Keep a document that only the caller may ask; a path is read while it is sent."""
        sent = Sent(content=data, media_type=media_type)
        path = f"/v1/files?{urlencode({'title': title})}"
        return (await self.transport.call("POST", path, sent)).read(UploadedFile)

    async def all(self) -> tuple[KeptFile, ...]:
        """Return the caller's files."""
        return (await self.transport.call("GET", "/v1/files")).read(_FileList).files

    async def delete(self, file_id: str) -> Done:
        """Delete a file for good; answers that used it are withheld."""
        return (await self.transport.call("DELETE", f"/v1/files/{file_id}")).read(Done)

    async def wait_until_ready(self, file_id: str, *, within_s: float = READY_WITHIN_S) -> KeptFile:
        """Return the file once it can be asked about, or never can be.

        Raises:
            StillOpen: when it is still pending after `within_s`.
        """
        return await _settled(lambda: self._kept(file_id), file_id, within_s)

    async def _kept(self, file_id: str) -> KeptFile | None:
        return next((each for each in await self.all() if each.id == file_id), None)


@dataclass(frozen=True, slots=True)
class Corpora:
    """The corpora of a workspace; make it with `Workspace.corpora`."""

    transport: Transport
    workspace_id: str

    async def declare(self, corpus_id: str, declaration: str) -> Corpus:
        """Declare a corpus by its one line or by YAML."""
        media_type = "text/plain" if is_one_line(declaration) else "application/yaml"
        sent = Sent(content=declaration.encode(), media_type=media_type)
        return (await self._call("PUT", corpus_id, sent)).read(Corpus)

    async def read(self, corpus_id: str) -> Corpus:
        """Return a corpus as it is declared now."""
        return (await self._call("GET", corpus_id)).read(Corpus)

    async def answer(self, corpus_id: str, ask: CorpusAsk) -> CorpusRun:
        """Ask a corpus; the same pair again returns the same run."""
        return (await self._post(corpus_id, "answer", ask.body())).read(CorpusRun)

    async def cancel(self, corpus_id: str, source: str, revision: int) -> CorpusRun:
        """Give the run of a request pair up."""
        body: dict[str, Json] = {"source": source, "revision": revision}
        return (await self._post(corpus_id, "cancel", body)).read(CorpusRun)

    async def reconcile(self, corpus_id: str, source: str, revision: int) -> CorpusRun:
        """Bring an uncertain request to its end and return its run."""
        body: dict[str, Json] = {"source": source, "revision": revision}
        return (await self._post(corpus_id, "reconcile", body)).read(CorpusRun)

    async def refresh(self, corpus_id: str, source_id: str, revision: int) -> RecordStatus:
        """Ask for an eligible revision to be indexed again, at most once in a minute."""
        body: dict[str, Json] = {"source": source_id, "revision": revision}
        return (await self._post(corpus_id, "refresh", body)).read(RecordStatus)

    async def status(self, corpus_id: str, source_id: str, revision: int) -> RecordStatus:
        """Return the index state of a revision; nothing is written."""
        path = f"{corpus_id}/status/{source_id}/{revision}"
        return (await self._call("GET", path)).read(RecordStatus)

    async def is_available(self, corpus_id: str, answer: AnswerHandle | None) -> bool:
        """Tell whether an answer could be disclosed now; a failed check raises.

        Raises:
            ProblemError: the check failed, so that neither is known.
        """
        handle: Json = None
        if answer is not None:
            handle = {"run_id": answer.run_id, "generation": answer.generation}
        found = await self._post(corpus_id, "available", {"answer": handle})
        return found.read(_Availability).available

    async def _post(self, corpus_id: str, verb: str, body: dict[str, Json]) -> Received:
        return await self._call("POST", f"{corpus_id}/{verb}", Sent(json=body))

    async def _call(self, method: str, path: str, sent: Sent | None = None) -> Received:
        place = f"/v1/workspaces/{self.workspace_id}/corpora/{path}"
        return await self.transport.call(method, place, sent)


async def _settled(
    read: Callable[[], Awaitable[_Indexed | None]], name: str, within_s: float
) -> _Indexed:
    """Return what `read` gives once the index has said what became of it."""
    try:
        async with asyncio.timeout(within_s):
            found = await read()
            while found is None or found.state in {"pending", None}:
                await asyncio.sleep(_POLL_S)
                found = await read()
            return found
    except TimeoutError as error:
        message = f"{name} is not indexed within {within_s:.0f} s"
        raise StillOpen(message) from error
