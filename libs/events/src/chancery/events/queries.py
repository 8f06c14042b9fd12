"""The bodies of read-only questions and of their answers; release and execution answer them.

Every answer of release stands behind a barrier and a decision with today's state.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chancery.events.authority import Language, Measure, Mode, Role, Standing, Visibility
from chancery.events.commands import ResourceKind
from chancery.events.envelope import Id, Moment, Sha256
from chancery.events.requests import Message

IndexState = Literal["excluded", "pending", "ready", "failed", "unavailable"]
RunState = Literal["requested", "admitted", "gathered", "proposed", "sealed", "refused"]
Coverage = Literal["complete", "incomplete", "unavailable"]


class OfWorkspace(Message):
    """A question about a workspace."""

    workspace_id: Id


class OfResource(Message):
    """A question about a source or dataset; without `revision` the serving one is meant."""

    workspace_id: Id
    kind: ResourceKind
    resource_id: Id
    revision: int | None = Field(default=None, ge=1)


class ResourceView(Message):
    """What a reader may know of a source or dataset."""

    kind: ResourceKind
    id: Id
    title: str
    visibility: Visibility
    authority: Standing = "reference"
    date: str | None = None
    revision: int = Field(ge=0)
    withdrawn: bool
    state: IndexState | None = None
    measures: tuple[Measure, ...] = ()


class ResourceList(Message):
    """The sources or datasets of a workspace that the caller may read, by id."""

    resources: tuple[ResourceView, ...]


class PinnedRevision(Message):
    """One authorised revision with the hashes of its bytes; null extraction means not ready.

    `columns` are the visible ones of a dataset (null: no restriction); `row_filters` all apply.
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
    extraction_sha256: Sha256 | None = None
    manifest_sha256: Sha256 | None = None
    hidden_columns: tuple[str, ...] = ()
    row_filters: tuple[tuple[str, tuple[str | int | bool, ...]], ...] = ()


class DatasetScope(Message):
    """Every dataset that the caller may query in a workspace, pinned at one position."""

    sequence: int = Field(ge=0)
    datasets: tuple[PinnedRevision, ...]


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
    modes: tuple[Mode, ...]
    language: Language
    policy_sha256: Sha256


class WhoAmI(Message):
    """Ask whether the credential authenticates now."""


class Identity(Message):
    """The caller as release knows it."""

    tenant: Id
    principal: Id
    tenant_admin: bool
    workspaces: tuple[tuple[Id, Role], ...]


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

    rows: tuple[EventRow, ...]
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
    datasets: tuple[PinnedRevision, ...] = Field(max_length=1000)


class QueryResult(Message):
    """A raw query result with its provenance, as canonical JSON text; not a verified answer."""

    json_text: str


class DatasetSchema(Message):
    """The visible columns of a pinned snapshot, and how many of its rows the caller may see."""

    dataset: PinnedRevision
    columns: tuple[tuple[str, str], ...]
    rows: int = Field(ge=0)
