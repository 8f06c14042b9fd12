"""The bodies of read-only questions and of their answers; release and execution answer them.

Every answer of release stands behind a barrier and a decision with today's state.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chancery.events.authority import Language, Measure, Mode, Role, Standing, Visibility
from chancery.events.authority_knowledge import EvidenceRoot
from chancery.events.envelope import Id, Many, Moment, Sha256
from chancery.events.index import ResourceKind
from chancery.events.requests import Message

IndexState = Literal["excluded", "pending", "ready", "failed", "unavailable"]
RunState = Literal["requested", "admitted", "gathered", "proposed", "sealed", "refused"]
Coverage = Literal["complete", "incomplete", "unavailable"]


class OfWorkspace(Message):
    """A question about a workspace."""

    workspace_id: Id


class OfResource(Message):
    """A question about a source, dataset, item or file; no `revision` means the serving one.

    Of an item the revision is a version; of a file it is 1, and its `workspace_id` says nothing.
    """

    workspace_id: Id
    kind: ResourceKind
    resource_id: Id
    revision: int | None = Field(default=None, ge=1)


class ResourceView(Message):
    """What a reader may know of a source or dataset; `media_type` is of its newest revision."""

    kind: ResourceKind
    id: Id
    title: str
    visibility: Visibility
    authority: Standing = "reference"
    date: str | None = None
    revision: int = Field(ge=0)
    media_type: str | None = None
    withdrawn: bool
    state: IndexState | None = None
    measures: Many[Measure] = ()


class ResourceList(Message):
    """The sources or datasets of a workspace that the caller may read, by id."""

    resources: Many[ResourceView]


class ToldHashes(Message):
    """What stands for the hashes of a snapshot where a caller may not see all of it.

    The same for the same bytes; a guess at the rest cannot be held against it.
    """

    content_sha256: Sha256
    extraction_sha256: Sha256 | None = None
    manifest_sha256: Sha256 | None = None


class PinnedRevision(Message):
    """One authorised revision with the hashes of its bytes; null extraction means not ready.

    `hidden_columns` are those that a dataset has and the caller may not see; `row_filters` all
    apply. With either, `told` is shown in the place of the hashes.
    """

    kind: ResourceKind
    key: Id
    id: Id
    title: str
    revision: int = Field(ge=1)
    content_sha256: Sha256
    media_type: str
    size_bytes: int
    state: IndexState
    reason: str | None = None
    field: str | None = None
    attempt: int | None = None
    silent_columns: Many[str] | None = None
    """The columns whose types tell of no row, for publishers; null where no row is hidden."""

    extraction_sha256: Sha256 | None = None
    manifest_sha256: Sha256 | None = None
    told: ToldHashes | None = None
    hidden_columns: Many[str] = ()
    row_filters: Many[tuple[str, Many[str | int | bool]]] = ()


class DatasetScope(Message):
    """Every dataset that the caller may query in a workspace, pinned at one position."""

    sequence: int = Field(ge=0)
    datasets: Many[PinnedRevision]


class OfCredential(Message):
    """A question about a credential of the caller's tenant."""

    credential_id: Id


class CredentialView(Message):
    """Whose a credential is; for its owner and for tenant administrators."""

    principal: Id
    credential_id: Id
    expires_at: Moment | None = None
    revoked: bool


class PolicyView(Message):
    """The answer policy of a workspace; revision "0" when none was set."""

    policy_revision: str
    modes: Many[Mode]
    language: Language
    policy_sha256: Sha256


class WhoAmI(Message):
    """Ask whether the credential authenticates now."""


class Identity(Message):
    """The caller as release knows it."""

    tenant: Id
    principal: Id
    tenant_admin: bool
    workspaces: Many[tuple[Id, Role]]


class OfRun(Message):
    """A question about a run of the caller."""

    run_id: Id


class OfConversation(Message):
    """A question about a conversation of the caller."""

    conversation_id: Id


class Document(Message):
    """A disclosure: JSON text that the gateway passes on byte for byte.

    `superseded` says that unrelated publication moved on after the answer's checkpoint.
    """

    status: Literal["open", "sealed", "refused", "withheld"]
    json_text: str
    superseded: bool = False


class EventsAfter(Message):
    """Ask for the event rows of a run behind a place; `after` 0 means from the start.

    `after` is the number in the SSE id `<run>.<n>`; one ahead of the run restarts at the current
    generation.
    """

    run_id: Id
    after: int = Field(ge=0)


class EventRow(Message):
    """One server-sent event; `data` is sent byte for byte."""

    number: int = Field(ge=1)
    event: Literal["activity", "state", "sealed", "refused", "withheld", "end"]
    data: str


class EventRows(Message):
    """Authorised event rows in order; `ended` when no further one will come."""

    rows: Many[EventRow]
    ended: bool


QUERY_ROWS_MAX = 50
"""The rows of one page of a raw result."""

QUERY_OFFSET_MAX = 10_000
"""How far into a result pages reach; SQL's own OFFSET reaches further."""


class RunQuery(Message):
    """Execute a caller's SQL over authorised datasets; the scope comes from release.

    The result's rows from `offset` on are returned, at most `limit`.
    """

    workspace_id: Id
    sql: str = Field(min_length=1, max_length=8192)
    offset: int = Field(default=0, ge=0, le=QUERY_OFFSET_MAX)
    limit: int = Field(default=QUERY_ROWS_MAX, ge=1, le=QUERY_ROWS_MAX)
    datasets: Many[PinnedRevision] = Field(max_length=1000)


class QueryResult(Message):
    """A raw query result with its provenance, as canonical JSON text; not a verified answer."""

    json_text: str


class ColumnSummary(Message):
    """What a visible column holds in the rows that the caller may see, in exact canonical texts.

    `minimum` and `maximum` are null without values, for long texts and for nested types; `distinct`
    is null when counting took too long.
    """

    name: str
    count: int = Field(ge=0)
    nulls: int = Field(ge=0)
    minimum: str | None = None
    maximum: str | None = None
    distinct: int | None = Field(default=None, ge=0)


class DatasetSchema(Message):
    """The visible columns of a pinned snapshot, and how many of its rows the caller may see.

    `statistics` follow the order of `columns`; null when they could not be computed in time.
    """

    dataset: PinnedRevision
    columns: Many[tuple[str, str]]
    rows: int = Field(ge=0)
    statistics: Many[ColumnSummary] | None = None


Unusable = Literal["not_published", "withdrawn", "evidence_withdrawn", "not_ready"]
"""Why no answer rests on an item now."""


class ItemSummary(Message):
    """What a reader may know of a curated item; `version` 0 means that none is published.

    Title, kind, domain and tags are those of the newest version, of the newest draft before one.
    `state` is that of the index alone; `usable` says whether an answer may rest on the item now,
    and `reason` why none may.
    """

    id: Id
    key: Id
    title: str
    visibility: Visibility
    kind: str
    domain: str
    tags: Many[str] = ()
    version: int = Field(ge=0)
    withdrawn: bool
    state: IndexState | None = None
    usable: bool | None = None
    reason: Unusable | None = None


class ItemList(Message):
    """The items of a workspace that the caller may read, by id."""

    items: Many[ItemSummary]


class VersionView(Message):
    """One immutable version of an item with its native ids, hashes and evidence roots."""

    version: int = Field(ge=1)
    version_id: Id
    operation_id: Id
    native_workspace_id: Id
    native_item_id: Id
    native_version_id: Id
    title: str
    kind: str
    domain: str
    tags: Many[str] = ()
    author: Id
    committed_at: Moment
    content_sha256: Sha256
    size_bytes: int
    evidence: Many[EvidenceRoot] = ()
    evidence_sha256: Sha256


class DraftView(Message):
    """A draft as it stands; publishing it needs its exact content hash and evidence."""

    draft_id: Id
    title: str
    kind: str
    domain: str
    tags: Many[str] = ()
    author: Id
    content_sha256: Sha256
    size_bytes: int
    evidence: Many[EvidenceRoot] = ()
    evidence_sha256: Sha256


class ItemView(Message):
    """An item with its versions, oldest first; `drafts` are for curators and above."""

    item: ItemSummary
    native_workspace_id: Id
    native_item_id: Id
    versions: Many[VersionView] = ()
    drafts: Many[DraftView] = ()


class OwnFiles(Message):
    """Ask for the private files of the caller."""


class FileView(Message):
    """A private file of the caller."""

    id: Id
    title: str
    media_type: str
    size_bytes: int
    content_sha256: Sha256
    state: IndexState | None = None
    reason: str | None = None


class FileList(Message):
    """The files of the caller that are not deleted, by id."""

    files: Many[FileView]


class OfCorpus(Message):
    """A question about a corpus of a workspace."""

    workspace_id: Id
    corpus_id: Id


class CorpusView(Message):
    """A corpus as it is declared now; `binding` is what the declaration language calls `from`."""

    id: Id
    key: Id
    model: str
    scope: str
    title: str
    content: Many[str]
    where: str
    binding: str
    declaration_sha256: Sha256
