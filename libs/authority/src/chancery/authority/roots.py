"""What a version rests on: the named revisions as the log has them, if the actor may use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from chancery.authority.access import visible_to
from chancery.authority.names import AggregateRef, dataset_ref, source_ref
from chancery.authority.rights import Actor
from chancery.authority.states import ItemState, ResourceState
from chancery.events.authority_knowledge import EvidenceRoot, ordered
from chancery.events.commands_knowledge import EvidenceName
from chancery.kernel.errors import NotFound

Roots: TypeAlias = Mapping[AggregateRef, ResourceState | None]
"""The states of what the evidence of a command, or of an item, names."""

_NOBODY: Final = ""
"""No principal is called so."""


def root_ref(workspace_id: str, name: EvidenceName) -> AggregateRef:
    """Return the aggregate that an evidence name of a workspace means."""
    if name.kind == "source":
        return source_ref(workspace_id, name.id)
    return dataset_ref(workspace_id, name.id)


def resolve_evidence(
    actor: Actor, workspace_id: str, names: Sequence[EvidenceName], roots: Roots
) -> tuple[EvidenceRoot, ...]:
    """Return the named revisions, ordered, with the hashes that the log has of them.

    Why one cannot be used is not told: that would tell of what the actor may not read.

    Raises:
        NotFound: with field `evidence.N`, for one that is unknown, unreadable or withdrawn.
    """
    found: list[EvidenceRoot] = []
    for number, name in enumerate(names):
        ref = root_ref(workspace_id, name)
        state = roots.get(ref)
        if state is None or not _usable(actor, state, name.revision):
            message = "there is no such revision for this caller"
            raise NotFound(message, field=f"evidence.{number}")
        content = state.revisions[name.revision - 1].content_sha256
        root = EvidenceRoot(
            kind=name.kind,
            key=ref.id,
            id=name.id,
            revision=name.revision,
            content_sha256=content,
        )
        found.append(root)
    return ordered(found)


def roots_of(item: ItemState) -> tuple[AggregateRef, ...]:
    """Return what an item rests on as it is named now: who does not see that does not see it."""
    described = item.described
    return () if described is None else evidence_refs(described.evidence)


def evidence_refs(evidence: Sequence[EvidenceRoot]) -> tuple[AggregateRef, ...]:
    """Return the aggregates that evidence is of."""
    return tuple(AggregateRef(root.kind, root.key) for root in evidence)


def as_seen(actor: Actor, item: ItemState, roots: Roots) -> ItemState:
    """Return the item as the actor has to be answered about it.

    Who does not see what it rests on does not see the item: to them it is the private one of
    somebody else. Whether the evidence still serves makes no difference here, or
    nobody could put other evidence in the place of withdrawn one.
    """
    described = item.described
    if described is None or is_seen(actor, described.evidence, roots):
        return item
    return replace(item, visibility="private", declarer=_NOBODY)


def is_seen(actor: Actor, evidence: Sequence[EvidenceRoot], roots: Roots) -> bool:
    """Tell whether the actor sees all of this evidence, whether it still serves or not."""
    found = [roots.get(ref) for ref in evidence_refs(evidence)]
    return all(each is not None and _seen(actor, each) for each in found)


def named(
    evidence: Sequence[EvidenceName] | Sequence[EvidenceRoot],
) -> frozenset[tuple[str, str, int]]:
    """Return what the evidence names, whatever its order."""
    return frozenset((each.kind, each.id, each.revision) for each in evidence)


def _usable(actor: Actor, state: ResourceState, revision: int) -> bool:
    return _seen(actor, state) and not state.withdrawn and revision <= len(state.revisions)


def _seen(actor: Actor, state: ResourceState) -> bool:
    return visible_to(actor.state, state, principal_id=actor.principal_id)
