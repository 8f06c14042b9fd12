"""How an aggregate is named inside its tenant, and what a decision changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from chancery.events.authority import AggregateKind
from chancery.events.envelope import EventData
from chancery.events.topology import authority_subject
from chancery.kernel.ids import resource_key


class AggregateRef(NamedTuple):
    """One aggregate of a tenant; ordered by kind, then id."""

    kind: AggregateKind
    id: str

    def subject(self, tenant: str) -> str:
        """Return the literal subject that holds the aggregate's events."""
        return authority_subject(tenant, self.kind, self.id)


@dataclass(frozen=True, slots=True)
class Change:
    """One event that a decision wants appended to one aggregate."""

    ref: AggregateRef
    data: EventData


def tenant_ref(tenant: str) -> AggregateRef:
    """Return the aggregate of a tenant."""
    return AggregateRef("tenant", tenant)


def principal_ref(principal_id: str) -> AggregateRef:
    """Return the aggregate of a principal."""
    return AggregateRef("principal", principal_id)


def workspace_ref(workspace_id: str) -> AggregateRef:
    """Return the aggregate of a workspace."""
    return AggregateRef("workspace", workspace_id)


def policy_ref(workspace_id: str) -> AggregateRef:
    """Return the aggregate of a workspace's answer policy."""
    return AggregateRef("policy", workspace_id)


def source_ref(workspace_id: str, source_id: str) -> AggregateRef:
    """Return the aggregate of a source that is named inside a workspace."""
    return AggregateRef("source", resource_key(workspace_id, "source", source_id))


def item_ref(workspace_id: str, item_id: str) -> AggregateRef:
    """Return the aggregate of a curated item that is named inside a workspace."""
    return AggregateRef("item", resource_key(workspace_id, "item", item_id))


def corpus_ref(workspace_id: str, corpus_id: str) -> AggregateRef:
    """Return the aggregate of a corpus that is named inside a workspace."""
    return AggregateRef("corpus", resource_key(workspace_id, "corpus", corpus_id))


def file_ref(file_id: str) -> AggregateRef:
    """Return the aggregate of a private file; its id names it in the whole tenant."""
    return AggregateRef("file", file_id)


def dataset_ref(workspace_id: str, dataset_id: str) -> AggregateRef:
    """Return the aggregate of a dataset that is named inside a workspace."""
    return AggregateRef("dataset", resource_key(workspace_id, "dataset", dataset_id))
