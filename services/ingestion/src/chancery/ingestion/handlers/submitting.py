"""Carries one submission out with the authority of its sender."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from chancery.authority.errors import SnapshotMoved
from chancery.authority.wording import check_storable
from chancery.events import commands
from chancery.events.intake import (
    DatasetSubmitted,
    DocumentSubmitted,
    DraftSubmitted,
    FileDeletionSubmitted,
    FileSubmitted,
    PublicationSubmitted,
    ResourceWithdrawalSubmitted,
    SnapshotSubmitted,
    SourceSubmitted,
)
from chancery.events.requests import Message
from chancery.ingestion.domain import curated, knowledge
from chancery.ingestion.domain.appending import (
    APPENDED_BYTES_MAX,
    SNAPSHOT_BASE,
    Base,
    check_size,
    continued,
)
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.content import (
    check_content,
    content_field,
    inline_content,
    media_type_of,
)
from chancery.ingestion.domain.intents import Intent, Key
from chancery.ingestion.domain.submissions import Letter, Submission, WithContent
from chancery.ingestion.domain.verdicts import Applied, FileOutcome
from chancery.ingestion.errors import InvalidSubmission
from chancery.ingestion.handlers.execution import Executor
from chancery.kernel.errors import Rejected, TooLarge
from chancery.kernel.ids import derived_id
from chancery.runtime import telemetry
from chancery.store.blobs import BlobNotFound, Blobs, BlobTooLarge, upload_place
from chancery.tabular.csv import append_csv

ROUTE: Final = "intake"
_NOWHERE: Final = "files"
"""Stands where a workspace would: a file belongs to none."""
_UPLOAD: Final = "data.content_sha256"
_APPENDING_TRIES_MAX: Final = 4

B = TypeVar("B", bound=Message)
R = TypeVar("R", bound=Message)


@dataclass(frozen=True, slots=True)
class Submitting:
    """One submission on its way to the log; its events have ids that a repetition gives again."""

    submission: Submission
    executor: Executor
    blobs: Blobs
    content_bytes_max: int

    async def apply(self) -> Applied:
        """Do what is asked.

        Raises:
            Rejected: the sender may not, or has to change something; nothing was applied.
            Conflict: the state is not the one that was submitted for.
            Unavailable, Contended, SnapshotMoved: deliver it again.
        """
        match self.submission.data:
            case SourceSubmitted() as data:
                source = commands.DeclareSource.model_validate(data.model_dump())
                return await self._settle(knowledge.DECLARE_SOURCE, source)
            case DatasetSubmitted() as data:
                dataset = commands.DeclareDataset.model_validate(data.model_dump())
                return await self._settle(knowledge.DECLARE_DATASET, dataset)
            case PublicationSubmitted() as data:
                draft = commands.PublishDraft.model_validate(data.model_dump())
                return await self._settle(curated.PUBLISH_DRAFT, draft)
            case ResourceWithdrawalSubmitted() as data:
                change = commands.ChangeServing.model_validate(data.model_dump())
                return await self._settle(knowledge.WITHDRAW, change)
            case FileDeletionSubmitted() as data:
                return await self._delete_file(data)
            case data:
                return await self._take_in(data)

    async def forget_upload(self, submitted_at: datetime) -> None:
        """Remove what was uploaded for the submission: from now on it stands where it belongs.

        What was uploaded again since then is there for another one.
        """
        data, letter = self.submission.data, self.submission.letter
        if isinstance(data, WithContent) and data.content_sha256 is not None:
            place = upload_place(letter.principal)
            await self.blobs.remove_older(
                letter.tenant, data.content_sha256, before=submitted_at, run=place
            )

    async def _take_in(self, data: WithContent) -> Applied:
        match data:
            case DocumentSubmitted():
                return await self._publish_document(data)
            case SnapshotSubmitted(mode="append"):
                return await self._append(data)
            case SnapshotSubmitted():
                content = await self._permitted_content(data, _to_dataset(data))
                return await self._publish_table(data, content, after=None)
            case DraftSubmitted():
                return await self._save_draft(data)
            case FileSubmitted():
                return await self._keep_file(data)

    async def _publish_document(self, data: DocumentSubmitted) -> commands.PublishedOutcome:
        target = commands.CheckUpload(
            workspace_id=data.workspace_id, kind="source", resource_id=data.source_id
        )
        content = await self._permitted_content(data, target)
        revision = commands.PublishRevision(
            workspace_id=data.workspace_id,
            source_id=data.source_id,
            content_sha256=await self._stored(content),
            media_type=media_type_of(data),
            size_bytes=len(content),
            restore=data.restore,
        )
        return await self._settle(knowledge.PUBLISH_REVISION, revision)

    async def _save_draft(self, data: DraftSubmitted) -> commands.DraftSavedOutcome:
        target = commands.CheckUpload(
            workspace_id=data.workspace_id, kind="item", resource_id=data.item_id
        )
        content = await self._permitted_content(data, target)
        described = data.model_dump(exclude={"text", "content_sha256"})
        draft = commands.SaveDraft(
            content_sha256=await self._stored(content), size_bytes=len(content), **described
        )
        return await self._settle(curated.SAVE_DRAFT, draft)

    async def _append(self, data: SnapshotSubmitted) -> commands.PublishedOutcome:
        """Publish the rows below those of the newest snapshot, of whichever is newest by then."""
        content = await self._permitted_content(data, _to_dataset(data))
        for _ in range(_APPENDING_TRIES_MAX - 1):
            try:
                return await self._append_once(data, content)
            except SnapshotMoved:
                await self.executor.appender.pause()
        return await self._append_once(data, content)

    async def _append_once(
        self, data: SnapshotSubmitted, content: bytes
    ) -> commands.PublishedOutcome:
        found = await self._settle(SNAPSHOT_BASE, _to_dataset(data))
        if found.published is not None:
            return found.published
        base = continued(found, media_type_of(data), restore=data.restore)
        if base is None:
            return await self._publish_table(data, content, after=0)
        joined = await self._joined(data, base, content)
        return await self._publish_table(data, joined, after=base.snapshot)

    async def _joined(self, data: SnapshotSubmitted, base: Base, content: bytes) -> bytes:
        tenant = self.submission.letter.tenant
        known = await self.blobs.get(tenant, base.content_sha256, limit=APPENDED_BYTES_MAX)
        check_size(len(known) + len(content))
        try:
            return await asyncio.to_thread(append_csv, known, content)
        except Rejected as error:
            field = content_field(data)
            raise InvalidSubmission(error.detail, field=field, code=error.code) from error

    async def _publish_table(
        self, data: SnapshotSubmitted, content: bytes, *, after: int | None
    ) -> commands.PublishedOutcome:
        snapshot = commands.PublishSnapshot(
            workspace_id=data.workspace_id,
            dataset_id=data.dataset_id,
            content_sha256=await self._stored(content),
            media_type=media_type_of(data),
            size_bytes=len(content),
            after=after,
            restore=data.restore,
        )
        return await self._settle(knowledge.PUBLISH_SNAPSHOT, snapshot)

    async def _keep_file(self, data: FileSubmitted) -> FileOutcome:
        """Keep the file under an id that the same submission gives again."""
        sender = self.submission.letter
        file_id = derived_id("file", sender.tenant, sender.principal, ROUTE, sender.event_id)
        target = commands.CheckUpload(workspace_id=_NOWHERE, kind="file", resource_id=file_id)
        content = await self._permitted_content(data, target)
        file = commands.UploadFile(
            file_id=file_id,
            title=data.title,
            content_sha256=await self._stored(content),
            media_type=media_type_of(data),
            size_bytes=len(content),
        )
        kept = await self._settle(curated.UPLOAD_FILE, file)
        return FileOutcome(file_id, file.content_sha256, kept.sequence, kept.changed)

    async def _delete_file(self, data: FileDeletionSubmitted) -> FileOutcome:
        deletion = commands.DeleteFile(file_id=data.file_id)
        told = await self._settle(curated.DELETE_FILE, deletion)
        return FileOutcome(data.file_id, None, told.sequence, told.changed)

    async def _permitted_content(self, data: WithContent, target: commands.CheckUpload) -> bytes:
        """Return the checked content, once its sender is known to be allowed to bring it."""
        inline = inline_content(data)
        await self._settle(knowledge.UPLOAD_PERMISSION, target)
        content = inline if inline is not None else await self._uploaded(data)
        await asyncio.to_thread(check_content, data, content)
        return content

    async def _uploaded(self, data: WithContent) -> bytes:
        """Return what the sender itself uploaded: a hash alone gives nobody another's bytes."""
        letter: Letter = self.submission.letter
        place = upload_place(letter.principal)
        try:
            return await self.blobs.get_run(
                letter.tenant, place, data.content_sha256 or "", limit=self.content_bytes_max
            )
        except BlobNotFound as error:
            message = "there is no such upload of this principal; send it with POST /v1/blobs"
            raise InvalidSubmission(message, field=_UPLOAD, code="blob_not_found") from error
        except BlobTooLarge as error:
            message = f"the upload must be at most {self.content_bytes_max:,} bytes"
            raise InvalidSubmission(message, field=_UPLOAD, code=TooLarge.code) from error

    async def _stored(self, content: bytes) -> str:
        return await self.blobs.put(self.submission.letter.tenant, content)

    async def _settle(self, command: Command[B, R], body: B) -> R:
        check_storable(body.model_dump(mode="json"))
        letter = self.submission.letter
        key = Key(
            tenant=letter.tenant,
            principal=letter.principal,
            route=ROUTE,
            idempotency_key=letter.event_id,
            request_sha256=self.submission.request_sha256,
        )
        intent = Intent(
            key=key,
            body=body,
            now=self.executor.clock.now(),
            token_key=self.executor.token_key,
            claim=None,
            traceparent=telemetry.current_traceparent() or self.submission.traceparent,
        )
        return await self.executor.settle(command, intent)


def _to_dataset(data: SnapshotSubmitted) -> commands.CheckUpload:
    return commands.CheckUpload(
        workspace_id=data.workspace_id, kind="dataset", resource_id=data.dataset_id
    )
