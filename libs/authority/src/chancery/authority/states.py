"""What the log says of each aggregate: immutable states, and their JSON form, an exact inverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chancery.events.authority import (
    ColumnPolicy,
    Grantee,
    Language,
    Measure,
    Mode,
    Role,
    RowFilter,
    Standing,
    Visibility,
)
from chancery.events.authority_knowledge import EvidenceRoot
from chancery.events.envelope import Moment
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Corrupt

_FORBID = ConfigDict(extra="forbid")

ITEM_MEDIA_TYPE = "text/markdown"
"""What every version of an item is."""


@dataclass(frozen=True, slots=True)
class TenantState:
    """A tenant; while it is suspended nothing of it is disclosed or changed."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    suspended: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """A workspace; closed is for good."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    title: str
    creator: str
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Credential:
    """What a principal may authenticate with; `expires_at` itself is already too late."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    proof_sha256: str
    expires_at: Moment | None = None
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class PrincipalState:
    """A person, agent or service: credentials by id, roles by workspace id, sorted group names."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    credentials: Mapping[str, Credential] = field(default_factory=dict[str, Credential])
    memberships: Mapping[str, Role] = field(default_factory=dict[str, Role])
    groups: tuple[str, ...] = ()
    tenant_admin: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """The raw bytes of one revision or snapshot, by hash."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    content_sha256: str
    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """A document source; revision n stands at index n - 1. `grants` is sorted.

    An erased one is withdrawn for good.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    workspace_id: str
    source_id: str
    title: str
    visibility: Visibility
    declarer: str
    grants: tuple[Grantee, ...] = ()
    revisions: tuple[Revision, ...] = ()
    withdrawn: bool = False
    authority: Standing = "reference"
    date: str | None = None
    erased: bool = False

    @property
    def serving(self) -> int | None:
        """Return the revision that serves now, or None."""
        return _serving(self.revisions, withdrawn=self.withdrawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetState:
    """A dataset; snapshot n stands at index n - 1 of `revisions`. `grants` is sorted."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    workspace_id: str
    dataset_id: str
    title: str
    visibility: Visibility
    declarer: str
    grants: tuple[Grantee, ...] = ()
    revisions: tuple[Revision, ...] = ()
    withdrawn: bool = False
    columns: Mapping[str, ColumnPolicy] = field(default_factory=dict[str, ColumnPolicy])
    row_filters: tuple[RowFilter, ...] = ()
    measures: tuple[Measure, ...] = ()

    @property
    def serving(self) -> int | None:
        """Return the snapshot that serves now, or None."""
        return _serving(self.revisions, withdrawn=self.withdrawn)


@dataclass(frozen=True, slots=True)
class PolicyState:
    """The answer policy of a workspace; `earlier` are the revision names used before it."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    policy_revision: str
    modes: tuple[Mode, ...]
    language: Language
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A draft of an item; `number` counts what was saved, so that the greatest is the newest."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    number: int
    title: str
    kind: str
    domain: str
    tags: tuple[str, ...]
    author: str
    content_sha256: str
    size_bytes: int
    evidence: tuple[EvidenceRoot, ...]
    evidence_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A published version of an item; nothing of it ever changes."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    version_id: str
    draft_id: str
    operation_id: str
    native_workspace_id: str
    native_item_id: str
    native_version_id: str
    title: str
    kind: str
    domain: str
    tags: tuple[str, ...]
    author: str
    committed_at: Moment
    content_sha256: str
    size_bytes: int
    evidence: tuple[EvidenceRoot, ...]
    evidence_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemState:
    """A curated item; version n stands at index n - 1. `grants` is sorted, `saved` counts drafts.

    A published draft is no draft any more.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    workspace_id: str
    item_id: str
    native_workspace_id: str
    native_item_id: str
    visibility: Visibility
    declarer: str
    grants: tuple[Grantee, ...] = ()
    drafts: Mapping[str, Draft] = field(default_factory=dict[str, Draft])
    versions: tuple[Version, ...] = ()
    withdrawn: bool = False
    saved: int = 0

    @property
    def serving(self) -> int | None:
        """Return the version that serves now, or None."""
        return _serving(self.versions, withdrawn=self.withdrawn)

    @property
    def revisions(self) -> tuple[Revision, ...]:
        """Return the raw bytes of each version, by hash."""
        return tuple(
            Revision(version.content_sha256, ITEM_MEDIA_TYPE, version.size_bytes)
            for version in self.versions
        )

    @property
    def described(self) -> Draft | Version | None:
        """Return what names the item: the newest version, before one the newest draft."""
        if self.versions:
            return self.versions[-1]
        return max(self.drafts.values(), key=lambda draft: draft.number, default=None)

    def admissible(self, version: int) -> bool:
        """Return whether a version exists and was committed under the item's own native ids."""
        if not 1 <= version <= len(self.versions):
            return False
        found = self.versions[version - 1]
        native = (found.native_workspace_id, found.native_item_id)
        return native == (self.native_workspace_id, self.native_item_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusState:
    """A corpus as it was declared last."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    workspace_id: str
    corpus_id: str
    model: str
    scope: str
    title: str
    content: tuple[str, ...]
    where: str
    binding: str
    declarer: str
    declaration_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A private file; it has one revision, and none serves once it is deleted."""

    __pydantic_config__: ClassVar[ConfigDict] = _FORBID

    owner: str
    title: str
    content_sha256: str
    media_type: str
    size_bytes: int
    deleted: bool = False

    @property
    def serving(self) -> int | None:
        """Return 1, or None once the file is deleted."""
        return None if self.deleted else 1

    @property
    def revisions(self) -> tuple[Revision, ...]:
        """Return the raw bytes, by hash."""
        return (Revision(self.content_sha256, self.media_type, self.size_bytes),)


ResourceState: TypeAlias = SourceState | DatasetState
Readable: TypeAlias = SourceState | DatasetState | ItemState
"""What belongs to a workspace and has visibility and grants."""

State: TypeAlias = (
    TenantState
    | WorkspaceState
    | PrincipalState
    | SourceState
    | DatasetState
    | ItemState
    | CorpusState
    | FileState
    | PolicyState
)

_CLASSES: Mapping[str, type[State]] = {
    "tenant": TenantState,
    "workspace": WorkspaceState,
    "principal": PrincipalState,
    "source": SourceState,
    "dataset": DatasetState,
    "item": ItemState,
    "corpus": CorpusState,
    "file": FileState,
    "policy": PolicyState,
}
_ADAPTERS: Mapping[str, TypeAdapter[State]] = {
    kind: TypeAdapter(state) for kind, state in _CLASSES.items()
}
_KINDS: Mapping[type[State], str] = {state: kind for kind, state in _CLASSES.items()}

KINDS: tuple[str, ...] = tuple(_CLASSES)
"""The aggregate kinds that this build folds; any other kind denies."""


def kind_of(state: State) -> str:
    """Return the aggregate kind whose state this is."""
    return _KINDS[type(state)]


def to_json(state: State) -> Mapping[str, Json]:
    """Return the JSON object of `state`; the same state gives the same object."""
    value: Mapping[str, Json] = _ADAPTERS[kind_of(state)].dump_python(state, mode="json")
    return value


def to_json_text(kind: str, state: State) -> str:
    """Return the JSON text of the state of an aggregate of `kind`; its layout is not canonical."""
    return _ADAPTERS[kind].dump_json(state).decode()


def from_json(kind: str, value: Json) -> State:
    """Return the state that `to_json` wrote for an aggregate of `kind`.

    Raises:
        Corrupt: with code `malformed_state` for an unknown kind, field or value.
    """
    adapter = _ADAPTERS.get(kind)
    if adapter is None:
        message = "the aggregate kind is unknown to this build"
        raise Corrupt(message, field="kind", code="malformed_state")
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        message = f"the stored {kind} state is malformed"
        raise Corrupt(message, code="malformed_state") from error


def _serving(revisions: Sequence[object], *, withdrawn: bool) -> int | None:
    if withdrawn or not revisions:
        return None
    return len(revisions)
