"""Commands on curated items: save a draft on its evidence, publish exactly that draft."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from chancery.authority.names import AggregateRef, Change, item_ref
from chancery.authority.rights import (
    Actor,
    no_resource,
    require_publishable,
    require_role,
    require_visible,
)
from chancery.authority.roots import (
    Roots,
    evidence_refs,
    is_seen,
    named,
    resolve_evidence,
)
from chancery.authority.states import Draft, ItemState, WorkspaceState
from chancery.authority.wording import check_name
from chancery.events.authority_knowledge import (
    DraftSaved,
    EvidenceRoot,
    VersionPublished,
    evidence_hash,
)
from chancery.events.commands_knowledge import PublishDraft, SaveDraft
from chancery.kernel.errors import Conflict, NotFound, Rejected
from chancery.kernel.ids import derived_id

DRAFTS_MAX: Final = 100
"""The most drafts of one item, of those that their author or whoever saves another one knows of."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What names a publication: the id of its event, and when it was decided."""

    operation_id: str
    committed_at: datetime


def check_drafting(
    actor: Actor, workspace: WorkspaceState | None, item: ItemState | None, workspace_id: str
) -> None:
    """Refuse who may not save a draft of the item, which its first draft makes.

    Raises:
        NotFound: for a workspace or item that the actor does not see.
        NotPermitted: unless the actor is a curator.
    """
    require_role(actor, workspace_id, workspace, "curator")
    if item is not None:
        require_visible(actor, item)


def draft_roots(item: ItemState, draft_id: str) -> tuple[AggregateRef, ...]:
    """Return what tells who knows of this draft: a command that names it reads that as well."""
    draft = item.drafts.get(draft_id)
    return () if draft is None else evidence_refs(draft.evidence)


def counted_roots(item: ItemState, draft_id: str) -> tuple[AggregateRef, ...]:
    """Return what saving this draft reads as well: of every draft, once they are to be counted."""
    if draft_id in item.drafts or len(item.drafts) < DRAFTS_MAX:
        return draft_roots(item, draft_id)
    return tuple(dict.fromkeys(ref for each in item.drafts for ref in draft_roots(item, each)))


def decide_save_draft(
    actor: Actor,
    workspace: WorkspaceState | None,
    item: ItemState | None,
    command: SaveDraft,
    *,
    roots: Roots,
) -> tuple[Change, ...]:
    """Save a draft; the one that stands already changes nothing.

    Raises:
        NotFound: for a workspace or item that the actor does not see; with field `evidence.N` for
            evidence that the actor may not read, that was withdrawn, or that is not there; with
            field `draft_id` where somebody else's draft, which the actor does not see, has the id.
        NotPermitted: unless the actor is a curator.
        UnreadableText: for a title that cannot be shown.
        Rejected: with code `item_keeps` for another visibility or native id than the item's, or
            `too_many_drafts`.
    """
    check_drafting(actor, workspace, item, command.workspace_id)
    check_name(command.title, field="title")
    evidence = resolve_evidence(actor, command.workspace_id, command.evidence, roots)
    saved = _saved(actor, item, command, evidence)
    if item is not None:
        _check_kept(item, command)
        before = item.drafts.get(command.draft_id)
        if before is None:
            _check_count(actor, item, roots)
        elif not _is_known(actor, before, roots):
            raise _no_draft()
        elif _same(before, saved):
            return ()
    return (Change(item_ref(command.workspace_id, command.item_id), saved),)


def decide_publish_draft(
    actor: Actor,
    workspace: WorkspaceState | None,
    item: ItemState | None,
    command: PublishDraft,
    *,
    roots: Roots,
    commit: Commit,
) -> tuple[Change, ...]:
    """Publish a draft as the next version; the one that serves already changes nothing.

    Raises:
        NotFound: for a workspace, item or draft that the actor does not see; with field
            `evidence.N` as when a draft is saved.
        NotPermitted: unless the actor is a publisher.
        Conflict: with code `draft_changed` for other content or evidence than the draft's.
        Withdrawn: for a withdrawn item, unless the command restores it.
    """
    require_role(actor, command.workspace_id, workspace, "publisher")
    if item is None:
        raise no_resource()
    require_visible(actor, item)
    draft = item.drafts.get(command.draft_id)
    if draft is None or not is_seen(actor, draft.evidence, roots):
        # Guessing at a draft that is hidden must be told apart from none by nothing.
        _check_published(item, command)
        return ()
    _check_exact(draft, command)
    require_publishable(item, restore=command.restore)
    resolve_evidence(actor, command.workspace_id, command.evidence, roots)
    version = _version(item, command.draft_id, draft, commit)
    return (Change(item_ref(command.workspace_id, command.item_id), version),)


def published_as(item: ItemState, command: PublishDraft) -> int | None:
    """Return the serving version when it is what the command asks for, else None."""
    number = item.serving
    if number is None:
        return None
    version = item.versions[number - 1]
    same = version.draft_id == command.draft_id
    same = same and version.content_sha256 == command.content_sha256
    return number if same and named(version.evidence) == named(command.evidence) else None


def _saved(
    actor: Actor, item: ItemState | None, command: SaveDraft, evidence: tuple[EvidenceRoot, ...]
) -> DraftSaved:
    new = item is None
    return DraftSaved(
        workspace_id=command.workspace_id,
        item_id=command.item_id,
        draft_id=command.draft_id,
        visibility=(command.visibility or "workspace") if new else item.visibility,
        declarer=actor.principal_id if new else item.declarer,
        native_workspace_id=(command.native_workspace_id or command.workspace_id)
        if new
        else item.native_workspace_id,
        native_item_id=(command.native_item_id or command.item_id) if new else item.native_item_id,
        title=command.title,
        kind=command.kind,
        domain=command.domain,
        tags=command.tags,
        author=actor.principal_id,
        content_sha256=command.content_sha256,
        size_bytes=command.size_bytes,
        evidence=evidence,
        evidence_sha256=evidence_hash(evidence),
    )


def _check_kept(item: ItemState, command: SaveDraft) -> None:
    """Refuse to say again, differently, what the first draft said for good."""
    for field, wanted, kept in (
        ("visibility", command.visibility, item.visibility),
        ("native_workspace_id", command.native_workspace_id, item.native_workspace_id),
        ("native_item_id", command.native_item_id, item.native_item_id),
    ):
        if wanted is not None and wanted != kept:
            message = f"the item keeps the {field} of its first draft; leave it out"
            raise Rejected(message, field=field, code="item_keeps")


def _check_count(actor: Actor, item: ItemState, roots: Roots) -> None:
    """Refuse one draft more than there may be; those that are hidden from the actor do not count.

    So the refusal tells of nothing hidden, and an item has at most that many of each author.
    """
    if len(item.drafts) < DRAFTS_MAX:
        return
    if sum(_is_known(actor, each, roots) for each in item.drafts.values()) >= DRAFTS_MAX:
        message = f"the item has {DRAFTS_MAX} drafts; publish or replace one of them"
        raise Rejected(message, field="draft_id", code="too_many_drafts")


def _is_known(actor: Actor, draft: Draft, roots: Roots) -> bool:
    """Tell whether the actor sees the draft, or wrote it: who did may always replace it."""
    return draft.author == actor.principal_id or is_seen(actor, draft.evidence, roots)


def _same(draft: Draft, saved: DraftSaved) -> bool:
    return (
        draft.title,
        draft.kind,
        draft.domain,
        draft.tags,
        draft.author,
        draft.content_sha256,
        draft.evidence,
    ) == (
        saved.title,
        saved.kind,
        saved.domain,
        saved.tags,
        saved.author,
        saved.content_sha256,
        saved.evidence,
    )


def _check_exact(draft: Draft, command: PublishDraft) -> None:
    if draft.content_sha256 != command.content_sha256:
        raise _draft_changed("content_sha256")
    if named(draft.evidence) != named(command.evidence):
        raise _draft_changed("evidence")


def _draft_changed(field: str) -> Conflict:
    message = f"the draft has another {field}; read it again and publish exactly what it says"
    return Conflict(message, field=field, code="draft_changed")


def _check_published(item: ItemState, command: PublishDraft) -> None:
    if published_as(item, command) is None:
        raise _no_draft()


def _no_draft() -> NotFound:
    return NotFound("there is no such draft for this caller", field="draft_id")


def _version(item: ItemState, draft_id: str, draft: Draft, commit: Commit) -> VersionPublished:
    version_id = derived_id("version", commit.operation_id)
    return VersionPublished(
        version=len(item.versions) + 1,
        version_id=version_id,
        draft_id=draft_id,
        operation_id=commit.operation_id,
        native_workspace_id=item.native_workspace_id,
        native_item_id=item.native_item_id,
        native_version_id=version_id,
        title=draft.title,
        kind=draft.kind,
        domain=draft.domain,
        tags=draft.tags,
        author=draft.author,
        committed_at=commit.committed_at,
        content_sha256=draft.content_sha256,
        size_bytes=draft.size_bytes,
        evidence=draft.evidence,
        evidence_sha256=draft.evidence_sha256,
    )
