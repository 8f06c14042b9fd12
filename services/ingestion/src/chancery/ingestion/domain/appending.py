"""What a snapshot continues that appends to its dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chancery.authority.errors import Withdrawn
from chancery.authority.names import dataset_ref
from chancery.events.commands import CheckUpload, PublishedOutcome
from chancery.events.requests import Message
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.intents import Intent
from chancery.ingestion.domain.knowledge import UPLOAD_PERMISSION
from chancery.ingestion.domain.outcomes import published_outcome
from chancery.ingestion.domain.views import Settled
from chancery.ingestion.errors import InvalidSubmission
from chancery.tabular.formats import CSV_TYPES

APPENDED_BYTES_MAX: Final = 64 * 1024 * 1024
"""How long a file may grow by being appended to."""

_MODE: Final = "data.mode"


class SnapshotBase(Message):
    """The newest snapshot, if there is one; or what the request published when first sent."""

    published: PublishedOutcome | None = None
    snapshot: int = 0
    content_sha256: str | None = None
    size_bytes: int = 0
    media_type: str | None = None
    is_withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Base:
    """The content that is continued."""

    snapshot: int
    content_sha256: str


def continued(base: SnapshotBase, media_type: str, *, restore: bool) -> Base | None:
    """Return what a file of this type continues, None when there is nothing yet.

    Raises:
        InvalidSubmission: with code `append_not_csv` or `append_too_large`.
        Withdrawn: the dataset is, unless it is to serve again.
    """
    if media_type not in CSV_TYPES or (base.media_type or media_type) not in CSV_TYPES:
        message = "only CSV is appended, and only to CSV; publish all rows as one file instead"
        raise InvalidSubmission(message, field=_MODE, code="append_not_csv")
    if base.is_withdrawn and not restore:
        raise Withdrawn("dataset")
    check_size(base.size_bytes)
    return None if base.content_sha256 is None else Base(base.snapshot, base.content_sha256)


def check_size(size: int) -> None:
    """Refuse a table that has grown too long.

    Raises:
        InvalidSubmission: with code `append_too_large`.
    """
    if size > APPENDED_BYTES_MAX:
        message = f"the table would be longer than {APPENDED_BYTES_MAX:,} bytes; publish Parquet"
        raise InvalidSubmission(message, field=_MODE, code="append_too_large")


def _report(settled: Settled, intent: Intent[CheckUpload]) -> SnapshotBase:
    ref = dataset_ref(intent.body.workspace_id, intent.body.resource_id)
    if settled.changed:
        return SnapshotBase(published=published_outcome(settled, ref))
    dataset = settled.view.dataset(ref)
    if dataset is None or not dataset.revisions:
        return SnapshotBase()
    newest = dataset.revisions[-1]
    return SnapshotBase(
        snapshot=len(dataset.revisions),
        content_sha256=newest.content_sha256,
        size_bytes=newest.size_bytes,
        media_type=newest.media_type,
        is_withdrawn=dataset.withdrawn,
    )


SNAPSHOT_BASE: Command[CheckUpload, SnapshotBase] = Command(
    subject=UPLOAD_PERMISSION.subject,
    body=UPLOAD_PERMISSION.body,
    reads=UPLOAD_PERMISSION.reads,
    decide=UPLOAD_PERMISSION.decide,
    report=_report,
)
"""Who may publish to a dataset is told what an appended file continues."""
