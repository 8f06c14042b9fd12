"""What the log says of each aggregate: immutable states, and their JSON form, an exact inverse."""

from __future__ import annotations

from collections.abc import Mapping
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
from chancery.events.envelope import Moment
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Corrupt

_FORBID = ConfigDict(extra="forbid")


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
    """A document source; revision n stands at index n - 1. `grants` is sorted."""

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


ResourceState: TypeAlias = SourceState | DatasetState
State: TypeAlias = (
    TenantState | WorkspaceState | PrincipalState | SourceState | DatasetState | PolicyState
)

_ADAPTERS: Mapping[str, TypeAdapter[State]] = {
    "tenant": TypeAdapter(TenantState),
    "workspace": TypeAdapter(WorkspaceState),
    "principal": TypeAdapter(PrincipalState),
    "source": TypeAdapter(SourceState),
    "dataset": TypeAdapter(DatasetState),
    "policy": TypeAdapter(PolicyState),
}

KINDS: tuple[str, ...] = tuple(_ADAPTERS)
"""The aggregate kinds that this build folds; any other kind denies."""


def kind_of(state: State) -> str:
    """Return the aggregate kind whose state this is."""
    match state:
        case TenantState():
            return "tenant"
        case WorkspaceState():
            return "workspace"
        case PrincipalState():
            return "principal"
        case SourceState():
            return "source"
        case DatasetState():
            return "dataset"
        case PolicyState():
            return "policy"


def to_json(state: State) -> Mapping[str, Json]:
    """Return the JSON object of `state`; the same state gives the same object."""
    value: Mapping[str, Json] = _ADAPTERS[kind_of(state)].dump_python(state, mode="json")
    return value


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


def _serving(revisions: tuple[Revision, ...], *, withdrawn: bool) -> int | None:
    if withdrawn or not revisions:
        return None
    return len(revisions)
