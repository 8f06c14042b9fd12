"""One workspace over HTTP: its members, policy, sources, datasets and questions."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from chancery.client.errors import StillOpen
from chancery.client.found import Excerpts, Found
from chancery.client.knowledge import Corpora, Items
from chancery.client.replies import (
    BulkPublished,
    BulkReply,
    DatasetSchema,
    Done,
    PassageCheck,
    Pinned,
    Policy,
    QueryResult,
    Resource,
    Resources,
    Revision,
    Snapshot,
    Status,
)
from chancery.client.transport import Received, Sent, Transport
from chancery.events.authority import (
    ColumnPolicy,
    Language,
    Measure,
    Mode,
    Role,
    RowFilter,
    Standing,
    Visibility,
)
from chancery.kernel.canonical import Json
from chancery.kernel.ids import random_id

READY_WITHIN_S = 60.0
ENDED_WITHIN_S = 120.0
_POLL_S = 0.1
_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])

Kind = Literal["sources", "datasets", "items"]
"""How a path names the two kinds of things that are published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """How a dataset is declared: what it is called, its measures, and who may see what of it.

    None keeps what a declared dataset has, an empty part removes it.
    """

    title: str
    visibility: Visibility | None = None
    measures: Sequence[Measure] | None = None
    columns: Mapping[str, ColumnPolicy] | None = None
    row_filters: Sequence[RowFilter] | None = None

    def body(self) -> dict[str, Json]:
        """Return the JSON body of the declaration."""
        body: dict[str, Json] = {"title": self.title}
        if self.visibility is not None:
            body["visibility"] = self.visibility
        if self.columns is not None:
            columns = self.columns.items()
            body["columns"] = {name: each.model_dump(mode="json") for name, each in columns}
        for name, parts in (("measures", self.measures), ("row_filters", self.row_filters)):
            if parts is not None:
                body[name] = [each.model_dump(mode="json") for each in parts]
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document among many; `title` is for a new source, `visibility` None keeps what it has.

    A withdrawn source serves again only when `restore` asks for that.
    """

    source_id: str
    data: bytes = field(repr=False)
    media_type: str
    title: str | None = None
    visibility: Visibility | None = None
    restore: bool = False

    def body(self) -> dict[str, Json]:
        """Return the JSON body; text as it is, other bytes as base64."""
        body: dict[str, Json] = {"source_id": self.source_id, "media_type": self.media_type}
        body |= {} if self.title is None else {"title": self.title}
        body |= {} if self.visibility is None else {"visibility": self.visibility}
        body |= {"restore": True} if self.restore else {}
        try:
            text = self.data.decode()
        except UnicodeDecodeError:
            text = "\x00"
        if "\x00" in text:
            return {**body, "base64": base64.b64encode(self.data).decode()}
        return {**body, "text": text}


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace as the caller sees it; make it with `Chancery.workspace`."""

    transport: Transport
    id: str

    @property
    def items(self) -> Items:
        """Return the curated items of the workspace; nothing is sent yet."""
        return Items(self.transport, self.id)

    @property
    def corpora(self) -> Corpora:
        """Return the corpora of the workspace; nothing is sent yet."""
        return Corpora(self.transport, self.id)

    async def add_member(self, principal: str, role: Role) -> Done:
        """Give a principal a role, or another one than before."""
        return (await self._put(f"members/{principal}", {"role": role})).read(Done)

    async def remove_member(self, principal: str) -> Done:
        """Take a principal out of the workspace."""
        return (await self._call("DELETE", f"members/{principal}")).read(Done)

    async def policy(self) -> Policy:
        """Return the answer policy."""
        return (await self._call("GET", "policy")).read(Policy)

    async def revise_policy(
        self, revision: str, *, language: Language = "en", modes: Sequence[Mode] | None = None
    ) -> Done:
        """Set the answer policy; `revision` names it and stands in every receipt."""
        body: dict[str, Json] = {"policy_revision": revision, "language": language}
        body |= {} if modes is None else {"modes": list(modes)}
        return (await self._put("policy", body)).read(Done)

    async def declare_source(
        self,
        source_id: str,
        title: str,
        *,
        visibility: Visibility | None = None,
        authority: Standing | None = None,
        date: str | None = None,
    ) -> Done:
        """Declare a document source, or declare it again: None keeps what it has."""
        body: dict[str, Json] = {"title": title}
        body |= {} if visibility is None else {"visibility": visibility}
        body |= {} if authority is None else {"authority": authority}
        body |= {} if date is None else {"date": date}
        return (await self._put(f"sources/{source_id}", body)).read(Done)

    async def sources(self) -> tuple[Resource, ...]:
        """Return the sources that the caller may read."""
        return (await self._call("GET", "sources")).read(Resources).resources

    async def source(self, source_id: str) -> Resource:
        """Return one source."""
        return (await self._call("GET", f"sources/{source_id}")).read(Resource)

    async def publish(
        self,
        source_id: str,
        data: bytes | Path,
        media_type: str,
        *,
        idempotency_key: str | None = None,
        restore: bool = False,
    ) -> Revision:
        """Publish the next revision; unchanged content returns the one that already serves.

        A path is read while it is sent. A withdrawn source serves again only when `restore` asks
        for that.
        """
        sent = Sent(content=data, media_type=media_type, idempotency_key=idempotency_key)
        path = f"sources/{source_id}/revisions{'?restore=true' if restore else ''}"
        return (await self._call("POST", path, sent)).read(Revision)

    async def publish_all(self, documents: Sequence[Document]) -> tuple[BulkPublished, ...]:
        """Publish up to 250 documents at once, each to another source, which is made when new.

        One that is refused does not keep the others from being published.
        """
        body: Json = {"documents": [each.body() for each in documents]}
        received = await self._call("POST", "sources", Sent(json=body))
        return received.read(BulkReply).documents

    async def publish_text(
        self, source_id: str, text: str, media_type: str = "text/markdown"
    ) -> Revision:
        """Publish a text as the next revision; it is stored as it is, without normalisation."""
        return await self.publish(source_id, text.encode(), media_type)

    async def revision(self, source_id: str, number: int) -> Pinned:
        """Return the pinned hashes of one revision."""
        return (await self._call("GET", f"sources/{source_id}/revisions/{number}")).read(Pinned)

    async def status(self, source_id: str, number: int) -> Status:
        """Return how far a revision is on its way into the index."""
        path = f"sources/{source_id}/revisions/{number}/status"
        return (await self._call("GET", path)).read(Status)

    async def text(self, source_id: str, number: int) -> str:
        """Return the canonical text of one revision."""
        path = f"sources/{source_id}/revisions/{number}/text"
        return (await self._call("GET", path)).body.decode()

    async def check_passage(
        self,
        source_id: str,
        number: int,
        text: str,
        *,
        start: int | None = None,
        end: int | None = None,
    ) -> PassageCheck:
        """Say whether a passage stands in one revision, letter by letter."""
        body: dict[str, Json] = {"text": text, "start": start, "end": end}
        path = f"sources/{source_id}/revisions/{number}/check"
        return (await self._call("POST", path, Sent(json=body))).read(PassageCheck)

    async def wait_until_ready(
        self, source_id: str, number: int, *, within_s: float = READY_WITHIN_S
    ) -> Status:
        """Return the state of a revision once it can be asked about, or cannot ever be.

        Raises:
            StillOpen: when it is still pending after `within_s`.
        """
        try:
            async with asyncio.timeout(within_s):
                status = await self.status(source_id, number)
                while status.state == "pending":
                    await asyncio.sleep(_POLL_S)
                    status = await self.status(source_id, number)
                return status
        except TimeoutError as error:
            message = f"revision {number} of {source_id} is not indexed within {within_s:.0f} s"
            raise StillOpen(message) from error

    async def refresh(
        self, source_id: str, number: int, *, idempotency_key: str | None = None
    ) -> Status:
        """Have the serving revision indexed again, at most once a minute; ready is confirmed."""
        sent = Sent(json={"revision": number}, idempotency_key=idempotency_key)
        return (await self._call("POST", f"sources/{source_id}/refresh", sent)).read(Status)

    async def reconcile(self, source_id: str) -> Status:
        """Have a source compared with its log, and what is missing in the index finished."""
        return (await self._call("POST", f"sources/{source_id}/reconcile")).read(Status)

    async def grant(self, kind: Kind, resource_id: str, grantee: str) -> Done:
        """Let a principal or `group:NAME` read a restricted source, dataset or item."""
        return (await self._call("PUT", f"{kind}/{resource_id}/grants/{grantee}")).read(Done)

    async def revoke_grant(self, kind: Kind, resource_id: str, grantee: str) -> Done:
        """End a grant; answers that rest on it are withheld from then on."""
        return (await self._call("DELETE", f"{kind}/{resource_id}/grants/{grantee}")).read(Done)

    async def withdraw(self, kind: Kind, resource_id: str) -> Done:
        """Stop a source, dataset or item from serving; answers that used it are withheld."""
        return (await self._call("POST", f"{kind}/{resource_id}/withdraw")).read(Done)

    async def restore_source(self, source_id: str) -> Done:
        """Let a withdrawn source serve its newest revision again."""
        return (await self._call("POST", f"sources/{source_id}/restore")).read(Done)

    async def declare_dataset(self, dataset_id: str, table: Table) -> Done:
        """Declare a dataset, or declare it again."""
        return (await self._put(f"datasets/{dataset_id}", table.body())).read(Done)

    async def dataset(self, dataset_id: str) -> Resource:
        """Return one dataset."""
        return (await self._call("GET", f"datasets/{dataset_id}")).read(Resource)

    async def publish_snapshot(
        self,
        dataset_id: str,
        data: bytes | Path,
        media_type: str = "text/csv",
        *,
        append: bool = False,
        restore: bool = False,
    ) -> Snapshot:
        """Publish the next snapshot; its state is `ready` once it can be queried.

        A path is read while it is sent; `append` puts the rows of a CSV file below those of the
        newest snapshot. A withdrawn dataset serves again only when `restore` asks for that.
        """
        sent = Sent(content=data, media_type=media_type)
        options = {"mode=append": append, "restore=true": restore}
        query = "&".join(name for name, is_asked in options.items() if is_asked)
        path = f"datasets/{dataset_id}/snapshots{'?' if query else ''}{query}"
        return (await self._call("POST", path, sent)).read(Snapshot)

    async def snapshot(self, dataset_id: str, number: int) -> Pinned:
        """Return the pinned hashes of one snapshot."""
        return (await self._call("GET", f"datasets/{dataset_id}/snapshots/{number}")).read(Pinned)

    async def schema(self, dataset_id: str) -> DatasetSchema:
        """Return the columns of the serving snapshot that the caller may see."""
        return (await self._call("GET", f"datasets/{dataset_id}/schema")).read(DatasetSchema)

    async def query(self, sql: str) -> QueryResult:
        """Run a statement over the datasets that the caller may read; not a verified answer."""
        return (await self._call("POST", "query", Sent(json={"sql": sql}))).read(QueryResult)

    async def search(
        self,
        query: str,
        *,
        k: int = 10,
        sources: Sequence[str] = (),
        items: Sequence[str] = (),
        files: Sequence[str] = (),
    ) -> Found:
        """Return the best passages of what is selected, or else of every source and item.

        What the caller may not read is never searched; their private files only when selected.
        """
        body: dict[str, Json] = {"query": query, "k": k, "sources": list(sources)}
        body |= {"items": list(items), "files": list(files)}
        return (await self._call("POST", "search", Sent(json=body))).read(Found)

    async def excerpts(
        self,
        question: str,
        *,
        sources: Sequence[str] = (),
        mode: Literal["rag", "rlm"] = "rag",
        within_s: float = ENDED_WITHIN_S,
    ) -> Excerpts:
        """Ask about documents and return exact excerpts, or none and why.

        Raises:
            StillOpen: when the run has not ended within `within_s`.
        """
        body: dict[str, Json] = {"question": question, "sources": list(sources)}
        sent = Sent(json=body, idempotency_key=random_id())
        until = time.monotonic() + within_s
        while (received := await self._call("POST", mode, sent)).status == HTTPStatus.ACCEPTED:
            if time.monotonic() > until:
                message = f"the question was not answered within {within_s:.0f} s"
                raise StillOpen(message)
        return received.read(Excerpts)

    async def open_conversation(self) -> str:
        """Open a conversation of the caller and return its id."""
        received = await self._call("POST", "conversations")
        return str(received.read_as(_OBJECT)["conversation_id"])

    async def _put(self, path: str, body: Mapping[str, Json]) -> Received:
        return await self._call("PUT", path, Sent(json=body))

    async def _call(self, method: str, path: str, sent: Sent | None = None) -> Received:
        return await self.transport.call(method, f"/v1/workspaces/{self.id}/{path}", sent)
