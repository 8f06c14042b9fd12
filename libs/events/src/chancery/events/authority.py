"""Who may see what, and which revision serves: the events of the AUTHORITY stream, version 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from chancery.events.envelope import EventData, Exact, Id, Many, Moment, Ordinal, Sha256
from chancery.kernel.canonical import canonical_bytes

Role = Literal["reader", "curator", "publisher", "admin"]
Visibility = Literal["workspace", "restricted", "private"]
Standing = Literal["normative", "historical", "reference"]
Mode = Literal["auto", "rag", "data", "rlm"]
Language = Literal["en", "de", "fr", "es", "ja"]
Aggregate = Literal["sum", "avg", "min", "max", "count"]
AggregateKind = Literal[
    "tenant", "workspace", "principal", "source", "item", "dataset", "corpus", "policy", "file"
]
LINE_PATTERN = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$"
"""One line: no control character and no line or paragraph separator, so that nothing forges one."""
Title = Annotated[str, Field(min_length=1, max_length=300, pattern=LINE_PATTERN)]
Grantee = Annotated[str, Field(pattern=r"^(group:)?[A-Za-z0-9_-]{1,64}$")]
"""A principal's id, or `group:` and a group's name."""


def _literal(value: object, read: ValidatorFunctionWrapHandler) -> object:
    """Read a literal; what is none is told once and at its own place, not for each of the types."""
    try:
        return read(value)
    except ValidationError:
        message = "must be a text of at most 500 characters, a whole number, true or false"
        raise ValueError(message) from None


Cell = Annotated[Annotated[str, Field(max_length=500)] | Exact | bool, WrapValidator(_literal)]
"""A literal that a row filter or a measure compares with; fractions are written as text."""
ColumnName = Annotated[str, Field(min_length=1, max_length=64)]
"""The name of a column as the header of the file spells it."""
DECLARATION_BYTES_MAX = 192 * 1024
"""What columns, row filters and measures of a dataset may take together, as canonical JSON."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TenantCreated(EventData):
    """A tenant exists from here on."""

    TYPE: ClassVar[str] = "chancery.tenant.created.v1"


class TenantSuspended(EventData):
    """Nothing of the tenant is disclosed until it is resumed."""

    TYPE: ClassVar[str] = "chancery.tenant.suspended.v1"
    reason: str = Field(min_length=1, max_length=300, pattern=LINE_PATTERN)


class TenantResumed(EventData):
    """The suspension ended."""

    TYPE: ClassVar[str] = "chancery.tenant.resumed.v1"


class WorkspaceCreated(EventData):
    """A workspace exists; `creator` becomes its first admin by a member-added event of its own."""

    TYPE: ClassVar[str] = "chancery.workspace.created.v1"
    title: Title
    creator: Id


class WorkspaceClosed(EventData):
    """The workspace is closed for good: nothing in it is read, asked or disclosed."""

    TYPE: ClassVar[str] = "chancery.workspace.closed.v1"


class CredentialIssued(EventData):
    """A principal may authenticate with a secret whose proof hashes to `proof_sha256`.

    `proof_sha256` is SHA-256 of the 32 proof bytes, which are SHA-256 of the secret's text.
    """

    TYPE: ClassVar[str] = "chancery.principal.credential-issued.v1"
    credential_id: Id
    proof_sha256: Sha256
    expires_at: Moment | None = None


class CredentialRevoked(EventData):
    """The credential authenticates nobody any more."""

    TYPE: ClassVar[str] = "chancery.principal.credential-revoked.v1"
    credential_id: Id


class MemberAdded(EventData):
    """The principal has `role` in a workspace; a later one replaces the role."""

    TYPE: ClassVar[str] = "chancery.principal.member-added.v1"
    workspace_id: Id
    role: Role


class MemberRemoved(EventData):
    """The principal left a workspace."""

    TYPE: ClassVar[str] = "chancery.principal.member-removed.v1"
    workspace_id: Id


class GroupJoined(EventData):
    """The principal joined a group of the tenant."""

    TYPE: ClassVar[str] = "chancery.principal.group-joined.v1"
    group: Id


class GroupLeft(EventData):
    """The principal left a group of the tenant."""

    TYPE: ClassVar[str] = "chancery.principal.group-left.v1"
    group: Id


class TenantAdminGranted(EventData):
    """The principal administers the tenant: workspaces, groups and credentials."""

    TYPE: ClassVar[str] = "chancery.principal.tenant-admin-granted.v1"


class TenantAdminRevoked(EventData):
    """The principal no longer administers the tenant."""

    TYPE: ClassVar[str] = "chancery.principal.tenant-admin-revoked.v1"


class SourceDeclared(EventData):
    """A document source exists in a workspace, or its title was declared again."""

    TYPE: ClassVar[str] = "chancery.source.declared.v1"
    workspace_id: Id
    source_id: Id
    title: Title
    visibility: Visibility
    declarer: Id


class AuthoritySet(EventData):
    """The standing and date of a source."""

    TYPE: ClassVar[str] = "chancery.source.authority-set.v1"
    authority: Standing
    date: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")


class RevisionPublished(EventData):
    """Revision `revision` of the source, with its raw bytes as a blob, serves from here on."""

    TYPE: ClassVar[str] = "chancery.source.revision-published.v1"
    revision: Ordinal
    content_sha256: Sha256
    media_type: str = Field(min_length=1, max_length=100)
    size_bytes: Ordinal


class RevisionWithdrawn(EventData):
    """The source does not serve; answers that used it are withheld."""

    TYPE: ClassVar[str] = "chancery.source.revision-withdrawn.v1"


class SourceRestored(EventData):
    """A withdrawn source serves its newest revision again."""

    TYPE: ClassVar[str] = "chancery.source.restored.v1"


class VisibilityChanged(EventData):
    """Who may see the source without a grant."""

    TYPE: ClassVar[str] = "chancery.source.visibility-changed.v1"
    visibility: Visibility


class SourceGranted(EventData):
    """A principal or group may read the restricted source."""

    TYPE: ClassVar[str] = "chancery.source.granted.v1"
    grantee: Grantee


class SourceGrantRevoked(EventData):
    """The grant ended."""

    TYPE: ClassVar[str] = "chancery.source.grant-revoked.v1"
    grantee: Grantee


class SourceErased(EventData):
    """The source is erased on legal demand: it never serves again, and takes no other event.

    `demand` is the reference of the demand, never its text.
    """

    TYPE: ClassVar[str] = "chancery.source.erased.v1"
    demand: Id


class ColumnPolicy(_Part):
    """What a publisher says of a column: its type, and the roles that may see it (none: all)."""

    type: str | None = Field(default=None, max_length=40)
    roles: Many[Role] = Field(default=(), max_length=4)


class RowFilter(_Part):
    """Members with one of `roles` see only rows whose `column` is one of `allowed`."""

    roles: Many[Role] = Field(min_length=1, max_length=4)
    column: ColumnName
    allowed: Many[Cell] = Field(max_length=1000)


class Measure(_Part):
    """A named calculation that a publisher declares; `column` is absent for counting rows."""

    name: str = Field(min_length=1, max_length=64, pattern=LINE_PATTERN)
    description: str = Field(default="", max_length=500)
    synonyms: Many[Annotated[str, Field(max_length=100)]] = Field(default=(), max_length=20)
    aggregate: Aggregate
    column: ColumnName | None = None
    where: Mapping[ColumnName, Cell] = Field(default_factory=dict, max_length=20)


class Declaration(BaseModel):
    """What a publisher says of a dataset's columns, rows and measures, at most 192 KiB of it.

    Each list has its own bound too; the bound on their sum keeps an event under 256 KiB.
    """

    columns: Mapping[ColumnName, ColumnPolicy] = Field(default_factory=dict, max_length=500)
    row_filters: Many[RowFilter] = Field(default=(), max_length=50)
    measures: Many[Measure] = Field(default=(), max_length=50)

    @model_validator(mode="after")
    def _fits_into_an_event(self) -> Self:
        check_declaration_size(self)
        return self


def check_declaration_size(said: BaseModel) -> None:
    """Refuse columns, row filters and measures of which no event could be made.

    Raises:
        ValueError: they take more than 192 KiB together.
    """
    parts = said.model_dump(mode="json", include={"columns", "row_filters", "measures"})
    if len(canonical_bytes(parts)) > DECLARATION_BYTES_MAX:
        message = "columns, row_filters and measures must take at most 192 KiB together"
        raise ValueError(message)


class DatasetDeclared(Declaration, EventData):
    """A dataset exists in a workspace, or its declaration was replaced."""

    TYPE: ClassVar[str] = "chancery.dataset.declared.v1"
    workspace_id: Id
    dataset_id: Id
    title: Title
    visibility: Visibility
    declarer: Id


class SnapshotPublished(EventData):
    """Snapshot `snapshot` of the dataset, with its raw bytes as a blob, serves from here on."""

    TYPE: ClassVar[str] = "chancery.dataset.snapshot-published.v1"
    snapshot: Ordinal
    content_sha256: Sha256
    media_type: str = Field(min_length=1, max_length=100)
    size_bytes: Ordinal


class DatasetWithdrawn(EventData):
    """The dataset does not serve; answers that used it are withheld."""

    TYPE: ClassVar[str] = "chancery.dataset.withdrawn.v1"


class DatasetGranted(EventData):
    """A principal or group may read the restricted dataset."""

    TYPE: ClassVar[str] = "chancery.dataset.granted.v1"
    grantee: Grantee


class DatasetGrantRevoked(EventData):
    """The grant ended."""

    TYPE: ClassVar[str] = "chancery.dataset.grant-revoked.v1"
    grantee: Grantee


class PolicyRevised(EventData):
    """The answer policy of a workspace; its aggregate id is the workspace's."""

    TYPE: ClassVar[str] = "chancery.policy.revised.v1"
    policy_revision: str = Field(min_length=1, max_length=200)
    modes: Many[Mode] = Field(min_length=1, max_length=4)
    language: Language


class AggregateName(_Part):
    """One member of a read set."""

    kind: AggregateKind
    id: Id


class CutTaken(EventData):
    """A position in the log at which a release decision is read; it names no content.

    `core_sha256` is the salted hash of the receipt core; `attempt` is 1-based.
    """

    TYPE: ClassVar[str] = "chancery.cut.taken.v1"
    run_id: Id
    generation: Ordinal
    attempt: Ordinal
    read_set: Many[AggregateName] = Field(max_length=900)
    core_sha256: Sha256
    decided_at: Moment


class FenceRaised(EventData):
    """A position in the log above every command acknowledged before it; it names nothing."""

    TYPE: ClassVar[str] = "chancery.fence.raised.v1"


MODELS: tuple[type[EventData], ...] = (
    TenantCreated,
    TenantSuspended,
    TenantResumed,
    WorkspaceCreated,
    WorkspaceClosed,
    CredentialIssued,
    CredentialRevoked,
    MemberAdded,
    MemberRemoved,
    GroupJoined,
    GroupLeft,
    TenantAdminGranted,
    TenantAdminRevoked,
    SourceDeclared,
    AuthoritySet,
    RevisionPublished,
    RevisionWithdrawn,
    SourceRestored,
    VisibilityChanged,
    SourceGranted,
    SourceGrantRevoked,
    SourceErased,
    DatasetDeclared,
    SnapshotPublished,
    DatasetWithdrawn,
    DatasetGranted,
    DatasetGrantRevoked,
    PolicyRevised,
    CutTaken,
    FenceRaised,
)
"""Every event of the AUTHORITY stream."""
