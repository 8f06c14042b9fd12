"""What a decision may look at, and what it is told once its events are on the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chancery.authority.names import (
    AggregateRef,
    policy_ref,
    principal_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.rights import Actor
from chancery.authority.roots import as_seen, roots_of
from chancery.authority.states import (
    CorpusState,
    DatasetState,
    FileState,
    ItemState,
    PolicyState,
    PrincipalState,
    Readable,
    ResourceState,
    SourceState,
    TenantState,
    WorkspaceState,
)
from chancery.ingestion.domain.aggregates import Aggregate, Record


@dataclass(frozen=True, slots=True)
class View:
    """The actor, and the aggregates of one tenant that the command reads.

    What an item rests on is among them.
    """

    actor: Actor
    aggregates: Mapping[AggregateRef, Aggregate]

    def tenant(self, tenant: str) -> TenantState | None:
        """Return the state of a tenant."""
        return self.aggregates[tenant_ref(tenant)].state(TenantState)

    def workspace(self, workspace_id: str) -> WorkspaceState | None:
        """Return the state of a workspace."""
        return self.aggregates[workspace_ref(workspace_id)].state(WorkspaceState)

    def principal(self, principal_id: str) -> PrincipalState | None:
        """Return the state of a principal."""
        return self.aggregates[principal_ref(principal_id)].state(PrincipalState)

    def policy(self, workspace_id: str) -> PolicyState | None:
        """Return the state of a workspace's policy."""
        return self.aggregates[policy_ref(workspace_id)].state(PolicyState)

    def source(self, ref: AggregateRef) -> SourceState | None:
        """Return the state of a source."""
        return self.aggregates[ref].state(SourceState)

    def dataset(self, ref: AggregateRef) -> DatasetState | None:
        """Return the state of a dataset."""
        return self.aggregates[ref].state(DatasetState)

    def item(self, ref: AggregateRef) -> ItemState | None:
        """Return the state of a curated item, as far as the actor may know of it."""
        item = self.aggregates[ref].state(ItemState)
        if item is None:
            return None
        roots = {each: self.root(each) for each in roots_of(item) if each in self.aggregates}
        return as_seen(self.actor, item, roots)

    def corpus(self, ref: AggregateRef) -> CorpusState | None:
        """Return the state of a corpus."""
        return self.aggregates[ref].state(CorpusState)

    def file(self, ref: AggregateRef) -> FileState | None:
        """Return the state of a private file."""
        return self.aggregates[ref].state(FileState)

    def root(self, ref: AggregateRef) -> ResourceState | None:
        """Return the state of a source or dataset."""
        return self.source(ref) if ref.kind == "source" else self.dataset(ref)

    def resource(self, ref: AggregateRef) -> Readable | None:
        """Return the state of a source, dataset or item."""
        return self.item(ref) if ref.kind == "item" else self.root(ref)


@dataclass(frozen=True, slots=True)
class Settled:
    """How a command ended: its own events in order, or none when nothing had to change.

    `sequence` is the position of the last one, or the one up to which the log was confirmed.
    """

    view: View
    records: tuple[Record, ...]
    sequence: int

    @property
    def changed(self) -> bool:
        """Return whether the command appended anything, now or when it was sent first."""
        return bool(self.records)

    def history(self, ref: AggregateRef) -> Iterator[Record]:
        """Yield the events of an aggregate, newest first."""
        records = self.view.aggregates[ref].records.values()
        yield from sorted(records, key=lambda record: record.sequence, reverse=True)
