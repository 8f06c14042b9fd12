"""Publishing many documents: what one of them comes to, as a command of its own."""

from __future__ import annotations

from dataclasses import replace

from chancery.authority.declaring import decide_declare_source
from chancery.authority.evolve import evolve
from chancery.authority.names import AggregateRef, Change, source_ref, workspace_ref
from chancery.authority.resources import decide_publish_revision
from chancery.authority.rights import require_role
from chancery.authority.states import SourceState
from chancery.events.commands import DeclareSource, Outcome, PublishRevision
from chancery.events.commands_bulk import (
    BulkDocument,
    BulkPublished,
    CheckBulkUpload,
    PublishDocuments,
)
from chancery.events.requests import Failure, Message
from chancery.events.topology import command_subject, query_subject
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.intents import Intent
from chancery.ingestion.domain.outcomes import published_outcome, report_outcome
from chancery.ingestion.domain.views import Settled, View
from chancery.kernel.errors import ChanceryError, Rejected
from chancery.kernel.ids import derived_id

PUBLISH_DOCUMENTS = command_subject("ingestion", "publish-documents")


class OneDocument(Message):
    """One document of a batch with its workspace."""

    workspace_id: str
    document: BulkDocument

    @property
    def ref(self) -> AggregateRef:
        """Return the source that it is published to."""
        return source_ref(self.workspace_id, self.document.source_id)


def documents_of(intent: Intent[PublishDocuments]) -> tuple[Intent[OneDocument], ...]:
    """Return one intent per document; its key depends on the batch's key and the source alone.

    Raises:
        Rejected: when a source is named twice, since its order would decide.
    """
    body, key = intent.body, intent.key
    names = [document.source_id for document in body.documents]
    for number, name in enumerate(names):
        if name in names[:number]:
            message = f"documents.{number}: the source {name} is named twice"
            raise Rejected(message, field=f"documents.{number}.source_id", code="source_repeated")
    return tuple(
        Intent(
            replace(
                key, idempotency_key=derived_id("document", key.idempotency_key, each.source_id)
            ),
            OneDocument(workspace_id=body.workspace_id, document=each),
            intent.now,
            intent.token_key,
            intent.claim,
            intent.traceparent,
        )
        for each in body.documents
    )


def failed(document: BulkDocument, error: ChanceryError) -> BulkPublished:
    """Return what is told of a document that was refused."""
    return BulkPublished(source_id=document.source_id, failure=Failure.of(error))


def _reads(intent: Intent[OneDocument]) -> tuple[AggregateRef, ...]:
    return (intent.body.ref, workspace_ref(intent.body.workspace_id))


def _decide(view: View, intent: Intent[OneDocument]) -> tuple[Change, ...]:
    body, document = intent.body, intent.body.document
    workspace, held = view.workspace(body.workspace_id), view.source(body.ref)
    declared: tuple[Change, ...] = ()
    if held is None or document.visibility not in {None, held.visibility}:
        declared = decide_declare_source(view.actor, workspace, held, _declaration(body, held))
        for change in declared:
            evolved = evolve("source", held, change.data)
            assert isinstance(evolved, SourceState), "a source evolves to itself"
            held = evolved
    command = PublishRevision(
        workspace_id=body.workspace_id,
        source_id=document.source_id,
        content_sha256=document.content_sha256,
        media_type=document.media_type,
        size_bytes=document.size_bytes,
        restore=document.restore,
    )
    return (*declared, *decide_publish_revision(view.actor, workspace, held, command))


def _declaration(body: OneDocument, held: SourceState | None) -> DeclareSource:
    document = body.document
    new_title = document.title or document.source_id
    return DeclareSource(
        workspace_id=body.workspace_id,
        source_id=document.source_id,
        title=new_title if held is None else held.title,
        visibility=document.visibility,
    )


def _report(settled: Settled, intent: Intent[OneDocument]) -> BulkPublished:
    published = published_outcome(settled, intent.body.ref)
    state = settled.view.source(intent.body.ref)
    return BulkPublished(
        source_id=intent.body.document.source_id,
        revision=published.revision,
        content_sha256=published.content_sha256,
        event_id=published.event_id,
        sequence=published.sequence,
        visibility=None if state is None else state.visibility,
        changed=settled.changed,
    )


def _may_publish(view: View, intent: Intent[CheckBulkUpload]) -> tuple[Change, ...]:
    workspace_id = intent.body.workspace_id
    require_role(view.actor, workspace_id, view.workspace(workspace_id), "publisher")
    return ()


PUBLISH_DOCUMENT: Command[OneDocument, BulkPublished] = Command(
    subject=PUBLISH_DOCUMENTS, body=OneDocument, reads=_reads, decide=_decide, report=_report
)
BULK_PERMISSION: Command[CheckBulkUpload, Outcome] = Command(
    subject=query_subject("ingestion", "bulk-permission"),
    body=CheckBulkUpload,
    reads=lambda intent: (workspace_ref(intent.body.workspace_id),),
    decide=_may_publish,
    report=report_outcome,
)
