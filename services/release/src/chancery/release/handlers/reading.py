"""Reading one thing, or all of a workspace, as far as the caller may know of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from chancery.authority.access import may_read, may_read_file
from chancery.authority.names import (
    AggregateRef,
    dataset_ref,
    file_ref,
    item_ref,
    source_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.roots import evidence_refs
from chancery.authority.states import Draft, FileState, ItemState, TenantState, WorkspaceState
from chancery.events.index import ResourceKind
from chancery.events.queries import OfResource
from chancery.events.requests import Request
from chancery.release.domain.entries import Resource
from chancery.release.handlers.gate import Gate, Visitor, not_found
from chancery.release.ports.stores import AuthorityReads


@dataclass(frozen=True, slots=True)
class Reading:
    """Finds resources behind a barrier; what may not be known of is not there."""

    gate: Gate
    reader: AuthorityReads

    async def resource(self, request: Request[OfResource]) -> tuple[Visitor, Resource]:
        """Return a resource that the caller may read; of an item, its evidence is judged apart.

        Raises:
            NotFound: it does not exist, or the caller may not know that it does.
        """
        body, caller = request.body, request.caller
        ref = resource_ref(body)
        visitor = await self.gate.enter(caller, (workspace_ref(body.workspace_id),))
        place = caller.principal if body.kind == "file" else body.workspace_id
        found = await self.reader.resources(caller.tenant, place, (ref,))
        readable = [each for each in found if is_readable(visitor, each)]
        if not readable:
            raise not_found(body.kind)
        return visitor, readable[0]

    async def workspace(
        self, visitor: Visitor, workspace_id: str, kind: ResourceKind
    ) -> list[Resource]:
        """Return everything of one kind that the caller may read."""
        found = await self.reader.workspace(visitor.caller.tenant, workspace_id, (kind,))
        return [each for each in found if is_readable(visitor, each)]

    async def known_roots(
        self, visitor: Visitor, workspace_id: str, items: Iterable[Resource]
    ) -> frozenset[AggregateRef]:
        """Return those evidence roots of any version or draft that the caller may read."""
        return frozenset(each.ref for each in await self.evidence(visitor, workspace_id, items))

    async def evidence(
        self, visitor: Visitor, workspace_id: str, items: Iterable[Resource]
    ) -> Sequence[Resource]:
        """Return what versions and drafts rest on and the caller may read, withdrawn or not."""
        states = [each.state for each in items if isinstance(each.state, ItemState)]
        wanted = {
            ref
            for state in states
            for each in (*state.versions, *state.drafts.values())
            for ref in evidence_refs(each.evidence)
        }
        if not wanted:
            return ()
        tenant = visitor.caller.tenant
        found = await self.reader.resources(tenant, workspace_id, sorted(wanted))
        return [each for each in found if is_readable(visitor, each)]


def readable_versions(item: ItemState, known: frozenset[AggregateRef]) -> Sequence[int]:
    """Return the versions whose whole evidence is among the `known` roots, in order."""
    return [
        number
        for number, version in enumerate(item.versions, start=1)
        if known.issuperset(evidence_refs(version.evidence))
    ]


def readable_drafts(item: ItemState, known: frozenset[AggregateRef]) -> Mapping[str, Draft]:
    """Return the drafts whose whole evidence is among the `known` roots, by id."""
    return {
        draft_id: draft
        for draft_id, draft in item.drafts.items()
        if known.issuperset(evidence_refs(draft.evidence))
    }


def resource_ref(body: OfResource) -> AggregateRef:
    """Return the aggregate that a question about a resource means."""
    match body.kind:
        case "source":
            return source_ref(body.workspace_id, body.resource_id)
        case "dataset":
            return dataset_ref(body.workspace_id, body.resource_id)
        case "item":
            return item_ref(body.workspace_id, body.resource_id)
        case "file":
            return file_ref(body.resource_id)
        case _:
            assert_never(body.kind)


def is_readable(visitor: Visitor, resource: Resource) -> bool:
    """Tell whether the caller may know of a resource now; whether it serves is another question."""
    state, caller = resource.state, visitor.caller
    if state is None or resource.frozen:
        return False
    snapshot = visitor.snapshot
    tenant = snapshot.typed(tenant_ref(caller.tenant), TenantState)
    if isinstance(state, FileState):
        return may_read_file(tenant, visitor.principal, state, principal_id=caller.principal)
    workspace = snapshot.typed(workspace_ref(state.workspace_id), WorkspaceState)
    return may_read(tenant, workspace, visitor.principal, state, principal_id=caller.principal)
