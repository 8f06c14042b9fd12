"""Publications of sources and datasets; grants, withdrawal and restoring, which items have too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from chancery.authority.access import has_right
from chancery.authority.errors import SnapshotMoved
from chancery.authority.names import AggregateRef, Change, dataset_ref, item_ref, source_ref
from chancery.authority.rights import (
    Actor,
    no_resource,
    require_grantable,
    require_kept,
    require_publishable,
    require_role,
    require_visible,
)
from chancery.authority.states import (
    DatasetState,
    ItemState,
    Readable,
    ResourceState,
    Revision,
    SourceState,
    WorkspaceState,
)
from chancery.events.authority import (
    DatasetGranted,
    DatasetGrantRevoked,
    DatasetWithdrawn,
    RevisionPublished,
    RevisionWithdrawn,
    SnapshotPublished,
    SourceGranted,
    SourceGrantRevoked,
    SourceRestored,
)
from chancery.events.authority_knowledge import ItemGranted, ItemGrantRevoked, ItemWithdrawn
from chancery.events.commands import (
    ChangeGrant,
    ChangeServing,
    GovernedKind,
    PublishRevision,
    PublishSnapshot,
)
from chancery.events.envelope import EventData
from chancery.kernel.errors import Rejected

_R = TypeVar("_R", bound=Readable)

Named: TypeAlias = ChangeGrant | ChangeServing
"""Commands that name a source, dataset or item by kind and id."""

_GRANTED: Mapping[GovernedKind, Callable[[str], EventData]] = {
    "source": lambda grantee: SourceGranted(grantee=grantee),
    "dataset": lambda grantee: DatasetGranted(grantee=grantee),
    "item": lambda grantee: ItemGranted(grantee=grantee),
}
_GRANT_REVOKED: Mapping[GovernedKind, Callable[[str], EventData]] = {
    "source": lambda grantee: SourceGrantRevoked(grantee=grantee),
    "dataset": lambda grantee: DatasetGrantRevoked(grantee=grantee),
    "item": lambda grantee: ItemGrantRevoked(grantee=grantee),
}
_WITHDRAWN: Mapping[GovernedKind, Callable[[], EventData]] = {
    "source": RevisionWithdrawn,
    "dataset": DatasetWithdrawn,
    "item": ItemWithdrawn,
}


def resource_ref(command: Named) -> AggregateRef:
    """Return the aggregate that the command names."""
    return governed_ref(command.kind, command.workspace_id, command.resource_id)


def governed_ref(kind: GovernedKind, workspace_id: str, resource_id: str) -> AggregateRef:
    """Return the aggregate of a source, dataset or item that is named inside a workspace."""
    match kind:
        case "source":
            return source_ref(workspace_id, resource_id)
        case "dataset":
            return dataset_ref(workspace_id, resource_id)
        case "item":
            return item_ref(workspace_id, resource_id)


def check_upload(
    actor: Actor,
    workspace: WorkspaceState | None,
    resource: _R | None,
    workspace_id: str,
) -> _R:
    """Return the resource that the actor may publish to.

    Raises:
        NotFound: for a workspace or resource that the actor does not see.
        NotPermitted: unless the actor is a publisher.
    """
    require_role(actor, workspace_id, workspace, "publisher")
    if resource is None:
        raise no_resource()
    require_visible(actor, resource)
    require_kept(resource)
    return resource


def decide_publish_revision(
    actor: Actor,
    workspace: WorkspaceState | None,
    source: SourceState | None,
    command: PublishRevision,
) -> tuple[Change, ...]:
    """Publish the next revision; the content that serves already changes nothing.

    Raises:
        NotFound: for a workspace or source that the actor does not see.
        NotPermitted: unless the actor is a publisher.
        Withdrawn: for a withdrawn source, unless the command restores it.
    """
    held = check_upload(actor, workspace, source, command.workspace_id)
    require_publishable(held, restore=command.restore)
    if _serves(held, command):
        return ()
    published = RevisionPublished(
        revision=len(held.revisions) + 1,
        content_sha256=command.content_sha256,
        media_type=command.media_type,
        size_bytes=command.size_bytes,
    )
    return (Change(source_ref(command.workspace_id, command.source_id), published),)


def decide_publish_snapshot(
    actor: Actor,
    workspace: WorkspaceState | None,
    dataset: DatasetState | None,
    command: PublishSnapshot,
) -> tuple[Change, ...]:
    """Publish the next snapshot; the content that serves already changes nothing.

    Raises:
        NotFound: for a workspace or dataset that the actor does not see.
        NotPermitted: unless the actor is a publisher.
        Withdrawn: for a withdrawn dataset, unless the command restores it.
        SnapshotMoved: it continues another snapshot than the newest one.
    """
    held = check_upload(actor, workspace, dataset, command.workspace_id)
    require_publishable(held, restore=command.restore)
    if command.after is not None and command.after != len(held.revisions):
        message = "another snapshot was published meanwhile; append to that one"
        raise SnapshotMoved(message, field="snapshot")
    if _serves(held, command):
        return ()
    published = SnapshotPublished(
        snapshot=len(held.revisions) + 1,
        content_sha256=command.content_sha256,
        media_type=command.media_type,
        size_bytes=command.size_bytes,
    )
    return (Change(dataset_ref(command.workspace_id, command.dataset_id), published),)


def decide_grant(
    actor: Actor,
    workspace: WorkspaceState | None,
    resource: Readable | None,
    command: ChangeGrant,
) -> tuple[Change, ...]:
    """Grant the resource to a principal or group, known or not; a given grant changes nothing.

    Raises:
        NotFound: for a workspace or resource that the actor does not see.
        NotPermitted: unless the actor is a publisher.
        Rejected: with code `private_resource`; revoking is possible all the same.
    """
    held = check_upload(actor, workspace, resource, command.workspace_id)
    require_grantable(held)
    change = Change(resource_ref(command), _GRANTED[command.kind](command.grantee))
    return () if command.grantee in held.grants else (change,)


def decide_revoke_grant(
    actor: Actor,
    workspace: WorkspaceState | None,
    resource: Readable | None,
    command: ChangeGrant,
) -> tuple[Change, ...]:
    """End a grant; one that was not given changes nothing.

    Raises:
        NotFound: for a workspace or resource that the actor does not see; an admin need not see it.
        NotPermitted: unless the actor is a publisher.
    """
    held = _check_narrowing(actor, workspace, resource, command.workspace_id)
    if command.grantee not in held.grants:
        return ()
    return (Change(resource_ref(command), _GRANT_REVOKED[command.kind](command.grantee)),)


def decide_withdraw(
    actor: Actor,
    workspace: WorkspaceState | None,
    resource: Readable | None,
    command: ChangeServing,
) -> tuple[Change, ...]:
    """Stop serving the resource; one that does not serve changes nothing.

    Raises:
        NotFound: for a workspace or resource that the actor does not see; an admin need not see it.
        NotPermitted: unless the actor is a publisher.
    """
    held = _check_narrowing(actor, workspace, resource, command.workspace_id)
    if held.serving is None:
        return ()
    return (Change(resource_ref(command), _WITHDRAWN[command.kind]()),)


def decide_restore(
    actor: Actor,
    workspace: WorkspaceState | None,
    resource: Readable | None,
    command: ChangeServing,
) -> tuple[Change, ...]:
    """Serve the newest revision of a withdrawn source again; a serving one changes nothing.

    Raises:
        NotFound: for a workspace or resource that the actor does not see.
        NotPermitted: unless the actor is a publisher.
        Rejected: with code `not_restorable` for a withdrawn dataset or item.
    """
    held = check_upload(actor, workspace, resource, command.workspace_id)
    if not held.withdrawn:
        return ()
    if not isinstance(held, SourceState):
        published = "version" if isinstance(held, ItemState) else "snapshot"
        message = f"publish a {published} with restore=true: so a {command.kind} serves again"
        raise Rejected(message, field="resource_id", code="not_restorable")
    return (Change(resource_ref(command), SourceRestored()),)


def _check_narrowing(
    actor: Actor,
    workspace: WorkspaceState | None,
    resource: Readable | None,
    workspace_id: str,
) -> Readable:
    """Return the resource whose readers the actor may make fewer.

    An administrator may so without seeing it: nobody else could once its publisher has left.
    """
    role = require_role(actor, workspace_id, workspace, "publisher")
    if resource is None:
        raise no_resource()
    if not has_right(role, "admin"):
        require_visible(actor, resource)
    require_kept(resource)
    return resource


def _serves(resource: ResourceState, command: PublishRevision | PublishSnapshot) -> bool:
    """Tell whether this content serves already; read as another media type it is other content."""
    serving = resource.serving
    if serving is None:
        return False
    newest: Revision = resource.revisions[serving - 1]
    same_bytes = newest.content_sha256 == command.content_sha256
    return same_bytes and _bare(newest.media_type) == _bare(command.media_type)


def _bare(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
