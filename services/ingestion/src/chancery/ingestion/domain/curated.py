"""Commands on curated items, corpora and private files."""

from __future__ import annotations

from itertools import chain

from chancery.authority.corpora import decide_declare_corpus
from chancery.authority.files import decide_delete_file, decide_upload_file
from chancery.authority.items import (
    Commit,
    counted_roots,
    decide_publish_draft,
    decide_save_draft,
    draft_roots,
    published_as,
)
from chancery.authority.names import (
    AggregateRef,
    Change,
    corpus_ref,
    file_ref,
    item_ref,
    workspace_ref,
)
from chancery.authority.roots import Roots, root_ref
from chancery.authority.states import ItemState
from chancery.events.authority_knowledge import DraftSaved, VersionPublished
from chancery.events.commands import (
    DeclareCorpus,
    DeleteFile,
    DraftSavedOutcome,
    PublishDraft,
    SaveDraft,
    UploadFile,
    VersionPublishedOutcome,
)
from chancery.events.topology import command_subject
from chancery.evidence.corpus_text import declaration_of
from chancery.ingestion.domain.aggregates import Record
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.intents import Intent
from chancery.ingestion.domain.outcomes import report_outcome
from chancery.ingestion.domain.views import Settled, View


def _item_reads(intent: Intent[SaveDraft] | Intent[PublishDraft]) -> tuple[AggregateRef, ...]:
    """Return the item, its workspace, and everything that the evidence names."""
    body = intent.body
    named = (root_ref(body.workspace_id, name) for name in body.evidence)
    item = item_ref(body.workspace_id, body.item_id)
    return (item, workspace_ref(body.workspace_id), *named)


def _counted(view: View, intent: Intent[SaveDraft]) -> tuple[AggregateRef, ...]:
    item = view.aggregates[_item_reads(intent)[0]].state(ItemState)
    return () if item is None else counted_roots(item, intent.body.draft_id)


def _of_draft(view: View, intent: Intent[PublishDraft]) -> tuple[AggregateRef, ...]:
    item = view.aggregates[_item_reads(intent)[0]].state(ItemState)
    return () if item is None else draft_roots(item, intent.body.draft_id)


def _roots(view: View) -> Roots:
    return {ref: view.root(ref) for ref in view.aggregates if ref.kind in {"source", "dataset"}}


def _save_draft(view: View, intent: Intent[SaveDraft]) -> tuple[Change, ...]:
    ref, workspace = _item_reads(intent)[0], view.workspace(intent.body.workspace_id)
    roots = _roots(view)
    return decide_save_draft(view.actor, workspace, view.item(ref), intent.body, roots=roots)


def _publish_draft(view: View, intent: Intent[PublishDraft]) -> tuple[Change, ...]:
    ref, workspace = _item_reads(intent)[0], view.workspace(intent.body.workspace_id)
    return decide_publish_draft(
        view.actor,
        workspace,
        view.item(ref),
        intent.body,
        roots=_roots(view),
        commit=Commit(intent.key.event_id(0), intent.now),
    )


def _declare_corpus(view: View, intent: Intent[DeclareCorpus]) -> tuple[Change, ...]:
    body = intent.body
    ref, workspace = _corpus_reads(intent)[0], view.workspace(body.workspace_id)
    changes = decide_declare_corpus(view.actor, workspace, view.corpus(ref), body)
    # What it says is only told to those who may declare.
    written = {
        "model": body.model,
        "scope": body.scope,
        "title": body.title,
        "content": body.content,
        "where": body.where,
        "from": body.binding,
    }
    declaration_of(body.corpus_id, written)
    return changes


def _corpus_reads(intent: Intent[DeclareCorpus]) -> tuple[AggregateRef, ...]:
    body = intent.body
    return (corpus_ref(body.workspace_id, body.corpus_id), workspace_ref(body.workspace_id))


def _file_reads(intent: Intent[UploadFile] | Intent[DeleteFile]) -> tuple[AggregateRef, ...]:
    return (file_ref(intent.body.file_id),)


def _upload_file(view: View, intent: Intent[UploadFile]) -> tuple[Change, ...]:
    return decide_upload_file(view.actor, view.file(_file_reads(intent)[0]), intent.body)


def _delete_file(view: View, intent: Intent[DeleteFile]) -> tuple[Change, ...]:
    return decide_delete_file(view.actor, view.file(_file_reads(intent)[0]), intent.body)


def _report_draft(settled: Settled, intent: Intent[SaveDraft]) -> DraftSavedOutcome:
    """Return the draft that the request saved, or the one that stood as it asks."""
    records = chain(settled.records, settled.history(_item_reads(intent)[0]))
    record, saved = next(
        (record, data)
        for record in records
        if (data := _draft(record)) is not None and data.draft_id == intent.body.draft_id
    )
    return DraftSavedOutcome(
        draft_id=saved.draft_id,
        content_sha256=saved.content_sha256,
        evidence_sha256=saved.evidence_sha256,
        sequence=record.sequence,
        event_id=record.event.id,
        changed=settled.changed,
    )


def _report_version(settled: Settled, intent: Intent[PublishDraft]) -> VersionPublishedOutcome:
    """Return the version that the request published, or the one that serves as it asks."""
    ref = _item_reads(intent)[0]
    item = settled.view.item(ref)
    serving = None if item is None else published_as(item, intent.body)
    records = chain(settled.records, settled.history(ref))
    record, published = next(
        (record, data)
        for record in records
        if (data := _version(record)) is not None and (settled.changed or data.version == serving)
    )
    return VersionPublishedOutcome(
        version=published.version,
        version_id=published.version_id,
        operation_id=published.operation_id,
        content_sha256=published.content_sha256,
        evidence_sha256=published.evidence_sha256,
        sequence=record.sequence,
        changed=settled.changed,
    )


def _draft(record: Record) -> DraftSaved | None:
    data = record.event.data
    return data if isinstance(data, DraftSaved) else None


def _version(record: Record) -> VersionPublished | None:
    data = record.event.data
    return data if isinstance(data, VersionPublished) else None


SAVE_DRAFT = Command(
    subject=command_subject("ingestion", "save-draft"),
    body=SaveDraft,
    reads=_item_reads,
    decide=_save_draft,
    report=_report_draft,
    further=_counted,
)
PUBLISH_DRAFT = Command(
    subject=command_subject("ingestion", "publish-draft"),
    body=PublishDraft,
    reads=_item_reads,
    decide=_publish_draft,
    report=_report_version,
    further=_of_draft,
)
DECLARE_CORPUS = Command(
    subject=command_subject("ingestion", "declare-corpus"),
    body=DeclareCorpus,
    reads=_corpus_reads,
    decide=_declare_corpus,
    report=report_outcome,
)
UPLOAD_FILE = Command(
    subject=command_subject("ingestion", "upload-file"),
    body=UploadFile,
    reads=_file_reads,
    decide=_upload_file,
    report=report_outcome,
)
DELETE_FILE = Command(
    subject=command_subject("ingestion", "delete-file"),
    body=DeleteFile,
    reads=_file_reads,
    decide=_delete_file,
    report=report_outcome,
)
