"""What the log says of one thing that is indexed: its state, and since which event it is so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from chancery.authority.evolve import evolve
from chancery.authority.states import (
    ITEM_MEDIA_TYPE,
    DatasetState,
    FileState,
    ItemState,
    SourceState,
    State,
)
from chancery.events.authority import (
    DatasetDeclared,
    DatasetWithdrawn,
    Measure,
    RevisionPublished,
    RevisionWithdrawn,
    SnapshotPublished,
    SourceDeclared,
    SourceErased,
    SourceRestored,
)
from chancery.events.authority_knowledge import (
    FileDeleted,
    FileUploaded,
    ItemWithdrawn,
    VersionPublished,
)
from chancery.events.envelope import EventData
from chancery.events.index import ResourceKind
from chancery.kernel.errors import Corrupt

TRIGGERS = (
    SourceDeclared,
    RevisionPublished,
    RevisionWithdrawn,
    SourceRestored,
    SourceErased,
    DatasetDeclared,
    SnapshotPublished,
    DatasetWithdrawn,
    VersionPublished,
    ItemWithdrawn,
    FileUploaded,
    FileDeleted,
)
"""The events that can change an index state; grants and such cannot."""


Indexed: TypeAlias = SourceState | DatasetState | ItemState | FileState
"""What has an index state."""


@dataclass(frozen=True, slots=True, order=True)
class ResourceRef:
    """One source, dataset, item or file of a tenant; `key` is its aggregate id on the log."""

    tenant: str
    kind: ResourceKind
    key: str


@dataclass(frozen=True, slots=True)
class Publication:
    """One published revision (of a dataset: snapshot, of an item: version) at its place."""

    revision: int
    content_sha256: str
    media_type: str
    size_bytes: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a snapshot's canonical form depends on besides its bytes.

    `policy_columns` have to be there, whatever their type: they are hidden or filter rows.
    """

    column_types: Mapping[str, str] = field(default_factory=dict[str, str])
    measures: tuple[Measure, ...] = ()
    policy_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """A resource as of `sequence` of the AUTHORITY stream (0: nothing read).

    `changed` is the sequence of the last event that could change an index state.
    """

    sequence: int = 0
    changed: int = 0
    state: Indexed | None = None

    @property
    def serving(self) -> int | None:
        """Return the revision that serves, or None."""
        return None if self.state is None else self.state.serving

    @property
    def withdrawn(self) -> bool:
        """Return whether nothing of the resource serves."""
        state = self.state
        if isinstance(state, FileState):
            return state.deleted
        return state is not None and state.withdrawn

    @property
    def workspace_id(self) -> str:
        """Return the workspace of the resource; of a file, its owner, who stands in for one."""
        assert self.state is not None, "a published resource was declared"
        return self.state.owner if isinstance(self.state, FileState) else self.state.workspace_id

    @property
    def declaration(self) -> Declaration:
        """Return what the publisher of a dataset declares now; of others there is nothing."""
        if not isinstance(self.state, DatasetState):
            return Declaration()
        types = {name: policy.type for name, policy in self.state.columns.items()}
        known = {name: type_ for name, type_ in types.items() if type_ is not None}
        named = {*types, *(each.column for each in self.state.row_filters)} - set(known)
        return Declaration(known, self.state.measures, tuple(sorted(named)))


def follow(history: History, kind: ResourceKind, sequence: int, data: EventData) -> History:
    """Return `history` continued with the event at `sequence`; an earlier one changes nothing.

    Raises:
        Corrupt: when the event breaks a rule of its aggregate; nothing is concluded from it then.
    """
    if sequence <= history.sequence:
        return history
    state = indexed(evolve(kind, history.state, data))
    changed = sequence if isinstance(data, TRIGGERS) else history.changed
    return replace(history, sequence=sequence, changed=changed, state=state)


def publication_of(sequence: int, data: EventData) -> Publication | None:
    """Return what the event at `sequence` published, or None when it is another event."""
    match data:
        case RevisionPublished():
            revision = data.revision
        case SnapshotPublished():
            revision = data.snapshot
        case VersionPublished():
            return Publication(
                data.version, data.content_sha256, ITEM_MEDIA_TYPE, data.size_bytes, sequence
            )
        case FileUploaded():
            revision = 1
        case _:
            return None
    return Publication(revision, data.content_sha256, data.media_type, data.size_bytes, sequence)


def indexed(state: State) -> Indexed:
    """Return a state that has an index state.

    Raises:
        Corrupt: for one of another kind.
    """
    if isinstance(state, SourceState | DatasetState | ItemState | FileState):
        return state
    message = "a stored resource is of a kind that is not indexed"
    raise Corrupt(message, code="malformed_state")
