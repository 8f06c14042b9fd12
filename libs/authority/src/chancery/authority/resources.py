"""Commands on sources and datasets, and the grants and withdrawal that items have as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from chancery.authority.access import has_right
from chancery.authority.errors import NotPermitted, SnapshotMoved
from chancery.authority.names import AggregateRef, Change, dataset_ref, item_ref, source_ref
from chancery.authority.rights import (
    Actor,
    no_resource,
    require_kept,
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
from chancery.authority.wording import check_name, check_wording
from chancery.events.authority import (
    AuthoritySet,
    DatasetDeclared,
    DatasetGranted,
    DatasetGrantRevoked,
    DatasetWithdrawn,
    Measure,
    RevisionPublished,
    RevisionWithdrawn,
    SnapshotPublished,
    SourceDeclared,
    SourceGranted,
    SourceGrantRevoked,
    SourceRestored,
    VisibilityChanged,
)
from chancery.events.authority_knowledge import ItemGranted, ItemGrantRevoked, ItemWithdrawn
from chancery.events.commands import (
    ChangeGrant,
    ChangeServing,
    DeclareDataset,
    DeclareSource,
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


def decide_declare_source(
    actor: Actor,
    workspace: WorkspaceState | None,
    source: SourceState | None,
    command: DeclareSource,
) -> tuple[Change, ...]:
    """Declare a source, or change title, visibility or standing of a declared one.

    Standing and date that the command leaves out stay as they are.

    Raises:
        NotFound: for a workspace or source that the actor does not see.
        NotPermitted: unless the actor is a publisher, or for making somebody else's source private.
        UnreadableText: for a title that cannot be shown.
    """
    require_role(actor, command.workspace_id, workspace, "publisher")
    check_name(command.title, field="title")
    events: list[EventData] = []
    if source is not None:
        _check_redeclared(actor, source, command)
    if source is None or source.title != command.title:
        events.append(_source_declared(actor, source, command))
    if source is not None and source.visibility != command.visibility:
        events.append(VisibilityChanged(visibility=command.visibility))
    events.extend(_authority_set(source, command))
    ref = source_ref(command.workspace_id, command.source_id)
    return tuple(Change(ref, event) for event in events)


def decide_declare_dataset(
    actor: Actor,
    workspace: WorkspaceState | None,
    dataset: DatasetState | None,
    command: DeclareDataset,
) -> tuple[Change, ...]:
    """Declare a dataset, or replace the whole declaration of a declared one.

    Raises:
        NotFound: for a workspace or dataset that the actor does not see.
        NotPermitted: unless the actor is a publisher, or for making somebody else's dataset
            private.
        UnreadableText: for a title or a measure that cannot be shown.
        Rejected: with code `duplicate_measure` or `measure_without_column`.
    """
    require_role(actor, command.workspace_id, workspace, "publisher")
    if dataset is not None:
        _check_redeclared(actor, dataset, command)
    check_name(command.title, field="title")
    for number, measure in enumerate(command.measures):
        _check_measure(measure, f"measures.{number}")
    names = [measure.name.casefold() for measure in command.measures]
    if len(set(names)) != len(names):
        message = "two measures have one name; name each measure once"
        raise Rejected(message, field="measures", code="duplicate_measure")
    declared = DatasetDeclared(
        workspace_id=command.workspace_id,
        dataset_id=command.dataset_id,
        title=command.title,
        visibility=command.visibility,
        declarer=actor.principal_id if dataset is None else dataset.declarer,
        columns=command.columns,
        row_filters=command.row_filters,
        measures=command.measures,
    )
    if dataset is not None and _declaration(dataset) == declared:
        return ()
    return (Change(dataset_ref(command.workspace_id, command.dataset_id), declared),)


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
    """
    held = check_upload(actor, workspace, source, command.workspace_id)
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
        SnapshotMoved: it continues another snapshot than the newest one.
    """
    held = check_upload(actor, workspace, dataset, command.workspace_id)
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
    """
    held = check_upload(actor, workspace, resource, command.workspace_id)
    if command.grantee in held.grants:
        return ()
    return (Change(resource_ref(command), _GRANTED[command.kind](command.grantee)),)


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
        message = f"a withdrawn {command.kind} serves again once a {published} is published"
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


def _check_measure(measure: Measure, place: str) -> None:
    if measure.column is None and measure.aggregate != "count":
        message = f"{place}.column must name what is calculated; only count does without"
        raise Rejected(message, field=f"{place}.column", code="measure_without_column")
    check_name(measure.name, field=f"{place}.name")
    check_wording(measure.description, field=f"{place}.description")
    for synonym in measure.synonyms:
        check_name(synonym, field=f"{place}.synonyms")


def _check_redeclared(
    actor: Actor, resource: ResourceState, command: DeclareSource | DeclareDataset
) -> None:
    require_visible(actor, resource)
    require_kept(resource)
    hides = command.visibility == "private" and resource.visibility != "private"
    if hides and resource.declarer != actor.principal_id:
        message = "only who declared it may make it private"
        raise NotPermitted(message, field="visibility")


def _source_declared(
    actor: Actor, source: SourceState | None, command: DeclareSource
) -> SourceDeclared:
    return SourceDeclared(
        workspace_id=command.workspace_id,
        source_id=command.source_id,
        title=command.title,
        visibility=command.visibility if source is None else source.visibility,
        declarer=actor.principal_id if source is None else source.declarer,
    )


def _authority_set(source: SourceState | None, command: DeclareSource) -> tuple[EventData, ...]:
    before = ("reference", None) if source is None else (source.authority, source.date)
    authority = command.authority or before[0]
    date = command.date or before[1]
    if (authority, date) == before:
        return ()
    return (AuthoritySet(authority=authority, date=date),)


def _declaration(dataset: DatasetState) -> DatasetDeclared:
    return DatasetDeclared(
        workspace_id=dataset.workspace_id,
        dataset_id=dataset.dataset_id,
        title=dataset.title,
        visibility=dataset.visibility,
        declarer=dataset.declarer,
        columns=dataset.columns,
        row_filters=dataset.row_filters,
        measures=dataset.measures,
    )


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
