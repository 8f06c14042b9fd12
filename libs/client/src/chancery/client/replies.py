"""What the server answers, as models; fields that this version does not know are ignored."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from chancery.events.authority import Language, Measure, Mode, Role, Standing, Visibility

IndexState = Literal["excluded", "pending", "ready", "failed", "unavailable"]


class Answered(BaseModel):
    """A reply of the server."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Done(Answered):
    """What a command did; `sequence` is its place in the log, `changed` false for a no-op."""

    sequence: int
    event_id: str | None = None
    changed: bool


class Credential(Answered):
    """An issued credential; `token` is what a client sends."""

    tenant: str
    principal: str
    credential_id: str
    token: str = Field(repr=False)
    expires_at: datetime | None = None


class Membership(Answered):
    """A workspace that the caller belongs to, and as what."""

    workspace_id: str
    role: Role


class Workspaces(Answered):
    """Where the caller is a member."""

    workspaces: tuple[Membership, ...]


class Policy(Answered):
    """The answer policy of a workspace."""

    policy_revision: str
    modes: tuple[Mode, ...]
    language: Language
    policy_sha256: str


class Resource(Answered):
    """What the caller may know of a source or dataset; `revision` 0 means none is published.

    `media_type` is that of the newest revision, None also of a server that does not tell it.
    """

    kind: Literal["source", "dataset"]
    id: str
    title: str
    visibility: Visibility
    authority: Standing = "reference"
    date: str | None = None
    revision: int
    media_type: str | None = None
    withdrawn: bool
    state: IndexState | None = None
    measures: tuple[Measure, ...] = ()


class Resources(Answered):
    """The sources of a workspace that the caller may read."""

    resources: tuple[Resource, ...]


class Revision(Answered):
    """A published revision of a source; `changed` is false when its content served before."""

    revision: int
    sequence: int
    content_sha256: str
    event_id: str
    state: IndexState
    changed: bool = True


class Snapshot(Answered):
    """A published snapshot of a dataset; `changed` is false when its content served before."""

    snapshot: int
    sequence: int
    content_sha256: str
    event_id: str
    state: IndexState
    changed: bool = True


class Refusal(Answered):
    """Why one document of many was not published."""

    code: str
    detail: str
    field: str | None = None


class BulkPublished(Answered):
    """What became of one document: the revision that serves now, or the refusal.

    `changed` is false when its content served before.
    """

    source: str
    revision: int | None = None
    sequence: int | None = None
    visibility: Visibility | None = None
    changed: bool = False
    error: Refusal | None = None


class BulkReply(Answered):
    """What became of each document, in the order in which they were sent."""

    documents: tuple[BulkPublished, ...]


class Status(Answered):
    """How far a revision is on its way into the index."""

    revision: int
    state: IndexState
    reason: str | None = None


class Pinned(Answered):
    """One revision or snapshot with the hashes of its bytes; only a revision tells its size.

    `attempt` is the one that a pending snapshot waits for, after one that failed for `reason`.
    """

    id: str
    title: str
    revision: int
    content_sha256: str
    media_type: str
    size_bytes: int | None = None
    state: IndexState
    reason: str | None = None
    attempt: int | None = None
    extraction_sha256: str | None = None
    manifest_sha256: str | None = None


class HitCell(Answered):
    """A cell of a workbook; a long value stands in the excerpt only."""

    sheet: str
    cell: str
    type: str
    value: str | None = None


class PassageCheck(Answered):
    """Whether a passage stands in a revision, letter by letter; of a workbook, in which cells."""

    verdict: str
    occurrences: int
    start: int | None = None
    end: int | None = None
    page: int | None = None
    cells: tuple[HitCell, ...] | None = None
    extraction_sha256: str


class ColumnSummary(Answered):
    """What a visible column holds in the visible rows; each value in its exact text."""

    name: str
    count: int
    nulls: int
    minimum: str | None = None
    maximum: str | None = None
    distinct: int | None = None


class DatasetSchema(Answered):
    """The columns of the serving snapshot that the caller may see: name and type.

    `statistics` follow the order of `columns`; None when they could not be computed in time.
    `types_from_all_rows` are told to publishers: columns by which somebody whom a row filter
    restricts can tell of hidden rows, until their types are declared.
    """

    columns: tuple[tuple[str, str], ...]
    rows: int
    statistics: tuple[ColumnSummary, ...] | None = None
    types_from_all_rows: tuple[str, ...] | None = None


class QueryColumn(Answered):
    """A column of a raw query result; `eligible` says whether an answer could show it."""

    name: str
    label: str | None = None
    type: str
    eligible: bool
    reason: str | None = None


class QueryResult(Answered):
    """A raw query result with its provenance; it is not a verified answer."""

    columns: tuple[QueryColumn, ...]
    rows: tuple[tuple[JsonValue, ...], ...]
    preview_sha256: str
    provenance: JsonValue = None


class Posted(Answered):
    """The run that answers a question."""

    run_id: str
    message_id: str


class Retried(Answered):
    """The run that answers its question once more, and which time this is."""

    run_id: str
    generation: int


class Statement(Answered):
    """One line of an answer: a quotation, or `LABEL = value`."""

    id: str
    kind: str
    text: str
    citation: str


class Citation(Answered):
    """Where a statement comes from; offsets are code points of the canonical text."""

    id: str
    kind: str
    source_id: str | None = None
    item_id: str | None = None
    file_id: str | None = None
    dataset_id: str | None = None
    revision: int | None = None
    version: int | None = None
    version_id: str | None = None
    snapshot: int | None = None
    part: str | None = None
    start: int | None = None
    end: int | None = None
    page: int | None = None
    sha256: str
    title: str
    label: str | None = None
    value: str | None = None
    type: str | None = None


class Card(Answered):
    """One statement for display."""

    id: str
    kind: str
    title: str
    label: str
    value: str | None = None
    excerpt: str | None = None
    citation: str


class SealedAnswer(Answered):
    """An answer that the server wrote, sealed and may show to this caller now."""

    status: Literal["sealed"]
    run_id: str
    generation: int
    text: str
    statements: tuple[Statement, ...]
    citations: tuple[Citation, ...]
    cards: tuple[Card, ...] = ()
    coverage: JsonValue = None
    receipt: JsonValue = None


class RefusedAnswer(Answered):
    """A fixed explanation in place of an answer."""

    status: Literal["refused"]
    run_id: str
    outcome: str
    explanation: str
    coverage: JsonValue = None
    receipt: JsonValue = None


class WithheldAnswer(Answered):
    """The fixed notice in place of an answer that the caller may not see any more."""

    status: Literal["withheld"]
    run_id: str
    explanation: str


Answer = SealedAnswer | RefusedAnswer | WithheldAnswer
ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="status")])
"""Reads an answer of any of the three kinds."""
