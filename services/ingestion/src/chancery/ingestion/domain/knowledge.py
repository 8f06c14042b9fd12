"""Commands on sources and datasets, the grants and withdrawal of items, and who may upload."""

from __future__ import annotations

from collections.abc import Callable

from chancery.authority.declaring import decide_declare_dataset, decide_declare_source
from chancery.authority.items import check_drafting
from chancery.authority.names import (
    AggregateRef,
    Change,
    dataset_ref,
    file_ref,
    source_ref,
    workspace_ref,
)
from chancery.authority.resources import (
    check_upload,
    decide_grant,
    decide_publish_revision,
    decide_publish_snapshot,
    decide_restore,
    decide_revoke_grant,
    decide_withdraw,
    governed_ref,
    resource_ref,
)
from chancery.authority.rights import Actor
from chancery.authority.states import Readable, WorkspaceState
from chancery.events.authority import DatasetDeclared
from chancery.events.commands import (
    ChangeGrant,
    ChangeServing,
    CheckUpload,
    DeclareDataset,
    DeclareSource,
    Outcome,
    PublishRevision,
    PublishSnapshot,
)
from chancery.events.topology import command_subject, query_subject
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.intents import Intent
from chancery.ingestion.domain.outcomes import report_outcome, report_revision, report_snapshot
from chancery.ingestion.domain.policies import check_policy
from chancery.ingestion.domain.views import View

GrantDecision = Callable[
    [Actor, WorkspaceState | None, Readable | None, ChangeGrant], tuple[Change, ...]
]
ServingDecision = Callable[
    [Actor, WorkspaceState | None, Readable | None, ChangeServing], tuple[Change, ...]
]


def _source_reads(
    intent: Intent[DeclareSource] | Intent[PublishRevision],
) -> tuple[AggregateRef, ...]:
    body = intent.body
    return (source_ref(body.workspace_id, body.source_id), workspace_ref(body.workspace_id))


def _dataset_reads(
    intent: Intent[DeclareDataset] | Intent[PublishSnapshot],
) -> tuple[AggregateRef, ...]:
    body = intent.body
    return (dataset_ref(body.workspace_id, body.dataset_id), workspace_ref(body.workspace_id))


def _named_reads(
    intent: Intent[ChangeGrant] | Intent[ChangeServing],
) -> tuple[AggregateRef, ...]:
    return (resource_ref(intent.body), workspace_ref(intent.body.workspace_id))


def _declare_source(view: View, intent: Intent[DeclareSource]) -> tuple[Change, ...]:
    ref, workspace = _source_reads(intent)[0], view.workspace(intent.body.workspace_id)
    return decide_declare_source(view.actor, workspace, view.source(ref), intent.body)


def _publish_revision(view: View, intent: Intent[PublishRevision]) -> tuple[Change, ...]:
    ref, workspace = _source_reads(intent)[0], view.workspace(intent.body.workspace_id)
    return decide_publish_revision(view.actor, workspace, view.source(ref), intent.body)


def _declare_dataset(view: View, intent: Intent[DeclareDataset]) -> tuple[Change, ...]:
    ref, workspace = _dataset_reads(intent)[0], view.workspace(intent.body.workspace_id)
    changes = decide_declare_dataset(view.actor, workspace, view.dataset(ref), intent.body)
    for change in changes:
        assert isinstance(change.data, DatasetDeclared), "a dataset is declared by one event"
        check_policy(change.data, keeps_filters=intent.body.row_filters is None)
    return changes


def _publish_snapshot(view: View, intent: Intent[PublishSnapshot]) -> tuple[Change, ...]:
    ref, workspace = _dataset_reads(intent)[0], view.workspace(intent.body.workspace_id)
    return decide_publish_snapshot(view.actor, workspace, view.dataset(ref), intent.body)


def _upload_reads(intent: Intent[CheckUpload]) -> tuple[AggregateRef, ...]:
    body = intent.body
    if body.kind == "file":
        return (file_ref(body.resource_id),)
    named = governed_ref(body.kind, body.workspace_id, body.resource_id)
    return (named, workspace_ref(body.workspace_id))


def _check_upload(view: View, intent: Intent[CheckUpload]) -> tuple[Change, ...]:
    body = intent.body
    if body.kind == "file":
        return ()
    ref, workspace = _upload_reads(intent)[0], view.workspace(body.workspace_id)
    if body.kind == "item":
        check_drafting(view.actor, workspace, view.item(ref), body.workspace_id)
    else:
        check_upload(view.actor, workspace, view.root(ref), body.workspace_id)
    return ()


def _grants(verb: str, decide: GrantDecision) -> Command[ChangeGrant, Outcome]:
    return Command(
        subject=command_subject("ingestion", verb),
        body=ChangeGrant,
        reads=_named_reads,
        decide=lambda view, intent: decide(
            view.actor,
            view.workspace(intent.body.workspace_id),
            view.resource(resource_ref(intent.body)),
            intent.body,
        ),
        report=report_outcome,
    )


def _serving(verb: str, decide: ServingDecision) -> Command[ChangeServing, Outcome]:
    return Command(
        subject=command_subject("ingestion", verb),
        body=ChangeServing,
        reads=_named_reads,
        decide=lambda view, intent: decide(
            view.actor,
            view.workspace(intent.body.workspace_id),
            view.resource(resource_ref(intent.body)),
            intent.body,
        ),
        report=report_outcome,
    )


DECLARE_SOURCE = Command(
    subject=command_subject("ingestion", "declare-source"),
    body=DeclareSource,
    reads=_source_reads,
    decide=_declare_source,
    report=report_outcome,
)
PUBLISH_REVISION = Command(
    subject=command_subject("ingestion", "publish-revision"),
    body=PublishRevision,
    reads=_source_reads,
    decide=_publish_revision,
    report=report_revision,
)
DECLARE_DATASET = Command(
    subject=command_subject("ingestion", "declare-dataset"),
    body=DeclareDataset,
    reads=_dataset_reads,
    decide=_declare_dataset,
    report=report_outcome,
)
PUBLISH_SNAPSHOT = Command(
    subject=command_subject("ingestion", "publish-snapshot"),
    body=PublishSnapshot,
    reads=_dataset_reads,
    decide=_publish_snapshot,
    report=report_snapshot,
)
GRANT = _grants("grant", decide_grant)
REVOKE_GRANT = _grants("revoke-grant", decide_revoke_grant)
WITHDRAW = _serving("withdraw", decide_withdraw)
RESTORE = _serving("restore", decide_restore)
UPLOAD_PERMISSION = Command(
    subject=query_subject("ingestion", "upload-permission"),
    body=CheckUpload,
    reads=_upload_reads,
    decide=_check_upload,
    report=report_outcome,
)
