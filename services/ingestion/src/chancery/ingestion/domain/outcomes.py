"""What the caller is told of a command."""

from __future__ import annotations

from itertools import chain

from chancery.authority.names import AggregateRef, dataset_ref, source_ref
from chancery.events.authority import CredentialIssued, RevisionPublished, SnapshotPublished
from chancery.events.commands import (
    CredentialIssuedOutcome,
    IssueCredential,
    Outcome,
    PublishedOutcome,
    PublishRevision,
    PublishSnapshot,
)
from chancery.events.requests import Message
from chancery.ingestion.domain.aggregates import Record
from chancery.ingestion.domain.intents import Intent
from chancery.ingestion.domain.views import Settled

Publication = RevisionPublished | SnapshotPublished


def report_outcome(settled: Settled, _intent: Intent[Message]) -> Outcome:
    """Return whether anything changed, and where on the log."""
    first = settled.records[0].event.id if settled.records else None
    return Outcome(sequence=settled.sequence, event_id=first, changed=settled.changed)


def report_revision(settled: Settled, intent: Intent[PublishRevision]) -> PublishedOutcome:
    """Return the revision that the request made, or the one that serves its content already."""
    body = intent.body
    return published_outcome(settled, source_ref(body.workspace_id, body.source_id))


def report_snapshot(settled: Settled, intent: Intent[PublishSnapshot]) -> PublishedOutcome:
    """Return the snapshot that the request made, or the one that serves its content already."""
    body = intent.body
    return published_outcome(settled, dataset_ref(body.workspace_id, body.dataset_id))


def report_credential(
    settled: Settled, _intent: Intent[IssueCredential]
) -> CredentialIssuedOutcome:
    """Return the credential that the request issued."""
    last = settled.records[-1]
    issued = last.event.data
    assert isinstance(issued, CredentialIssued)
    return CredentialIssuedOutcome(
        tenant=last.event.tenant,
        principal=last.event.envelope.subject,
        credential_id=issued.credential_id,
        expires_at=issued.expires_at,
        sequence=last.sequence,
    )


def published_outcome(settled: Settled, ref: AggregateRef) -> PublishedOutcome:
    """Return the publication that a command made, or else the newest one of the aggregate."""
    records = chain(settled.records, settled.history(ref))
    record, published = next(
        (record, data) for record in records if (data := _publication(record)) is not None
    )
    number = published.revision if isinstance(published, RevisionPublished) else published.snapshot
    return PublishedOutcome(
        key=ref.id,
        revision=number,
        sequence=record.sequence,
        content_sha256=published.content_sha256,
        event_id=record.event.id,
        changed=settled.changed,
    )


def _publication(record: Record) -> Publication | None:
    data = record.event.data
    return data if isinstance(data, RevisionPublished | SnapshotPublished) else None
