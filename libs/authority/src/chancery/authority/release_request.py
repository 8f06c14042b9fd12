"""What a decision is asked about, and which aggregates it reads."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

from chancery.authority.access import Rows
from chancery.authority.errors import ScopeTooWide
from chancery.authority.names import (
    AggregateRef,
    policy_ref,
    principal_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.states import State
from chancery.events.authority import Mode
from chancery.events.authority_knowledge import EvidenceKind
from chancery.events.index import ResourceKind

READ_SET_MAX: Final = 900
"""The most aggregates that one cut can name."""

Reason = Literal[
    "unread",
    "frozen",
    "tenant",
    "workspace",
    "credential",
    "expired",
    "not_owner",
    "not_member",
    "not_readable",
    "withdrawn",
    "superseded",
    "fields",
    "policy",
    "corpus",
]
"""Why not; for records and metrics, never shown to the caller."""

States: TypeAlias = Mapping[AggregateRef, State | None]
"""The states at one position of the log; None says that the aggregate has no event."""

_S = TypeVar("_S", bound=State)


@dataclass(frozen=True, slots=True)
class Root:
    """A revision that an item's version rests on; a newer one of it does not matter."""

    kind: EvidenceKind
    key: str
    revision: int
    content_sha256: str

    @property
    def ref(self) -> AggregateRef:
        """Return the aggregate of the root."""
        return AggregateRef(self.kind, self.key)


@dataclass(frozen=True, slots=True)
class Pinned:
    """One exact revision, snapshot, version or file that an answer rests on, cited or not.

    `columns` are the dataset's columns that were read; `row_filters` those that were applied while
    reading rows, or None when no row was read. `roots` are all evidence of an item's version.
    """

    kind: ResourceKind
    key: str
    revision: int
    columns: tuple[str, ...] = ()
    row_filters: Rows | None = None
    roots: tuple[Root, ...] = ()

    @property
    def ref(self) -> AggregateRef:
        """Return the aggregate that the pin is about."""
        return AggregateRef(self.kind, self.key)


@dataclass(frozen=True, slots=True)
class CorpusPin:
    """The corpus that was asked, as it was declared when the question was admitted."""

    key: str
    declaration_sha256: str

    @property
    def ref(self) -> AggregateRef:
        """Return the aggregate of the corpus."""
        return AggregateRef("corpus", self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """What a decision is asked about.

    `principal_id` asks with `credential_id`; `owner_id` owns the conversation. To disclose, name
    the reader and the reader's credential. `policy_sha256` is `policy_hash` at admission. `pinned`
    is everything selected and gathered, cited or not; `corpus` the one that was asked, if any.
    """

    tenant: str
    principal_id: str
    credential_id: str
    owner_id: str
    workspace_id: str
    policy_revision: str
    policy_sha256: str
    mode: Mode
    pinned: tuple[Pinned, ...]
    corpus: CorpusPin | None = None


def read_set(request: ReleaseRequest) -> tuple[AggregateRef, ...]:
    """Return every aggregate that `decide_release` reads, sorted, each once.

    Raises:
        ScopeTooWide: for more than 900.
    """
    corpus = () if request.corpus is None else (request.corpus.ref,)
    return _bounded({*_disclosed(request), policy_ref(request.workspace_id), *corpus})


def disclosure_set(request: ReleaseRequest) -> tuple[AggregateRef, ...]:
    """Return every aggregate that `decide_disclosure` reads, sorted, each once.

    Raises:
        ScopeTooWide: for more than 900.
    """
    return _bounded(_disclosed(request))


def state_of(states: States, ref: AggregateRef, kind: type[_S]) -> _S | None:
    """Return the state of an aggregate when it is of the wanted kind, else None."""
    state = states.get(ref)
    return state if isinstance(state, kind) else None


def _disclosed(request: ReleaseRequest) -> set[AggregateRef]:
    return {
        tenant_ref(request.tenant),
        principal_ref(request.principal_id),
        workspace_ref(request.workspace_id),
        *(pin.ref for pin in request.pinned),
        *(root.ref for pin in request.pinned for root in pin.roots),
    }


def _bounded(refs: AbstractSet[AggregateRef]) -> tuple[AggregateRef, ...]:
    if len(refs) > READ_SET_MAX:
        message = f"the question touches more than {READ_SET_MAX} things; select fewer sources"
        raise ScopeTooWide(message, field="sources")
    return tuple(sorted(refs))
