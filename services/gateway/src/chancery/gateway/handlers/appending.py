"""Appending to a dataset: the rows that serve and the new ones, together the next snapshot."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from chancery.events import commands, queries
from chancery.gateway.handlers.edge import Context
from chancery.gateway.handlers.uploads import Arrived, Target, Upload, store_upload
from chancery.kernel.errors import Conflict, NotFound, Rejected, TooLarge
from chancery.tabular.csv import append_csv
from chancery.tabular.formats import CSV_TYPES

APPENDED_BYTES_MAX: Final = 64 * 1024 * 1024
"""How long a file may grow by being appended to; one upload is shorter."""

_TRIES_MAX: Final = 4


async def append_table(
    arrived: Arrived, workspace_id: str, dataset_id: str, *, restore: bool
) -> commands.PublishedOutcome:
    """Publish the upload as the next snapshot, below the rows of the newest one.

    Whether a withdrawn one is continued is left to the command: a repeated request is told what
    became of the first.

    The caller has to be permitted before. Each try takes the room for both tables at once: who held
    that of one while waiting for the other's could wait for ever.

    Raises:
        Rejected: the bytes are no table, or there is nothing they continue.
        Conflict: others kept publishing in between.
        BodiesFull: there was no room for both in time.
    """
    for _ in range(_TRIES_MAX - 1):
        try:
            return await _append(arrived, workspace_id, dataset_id, restore=restore)
        except Conflict as error:
            if error.code != "snapshot_moved":
                raise
    return await _append(arrived, workspace_id, dataset_id, restore=restore)


async def _append(
    arrived: Arrived, workspace_id: str, dataset_id: str, *, restore: bool
) -> commands.PublishedOutcome:
    here, target = arrived.here, Target(workspace_id, "dataset", dataset_id)
    question = queries.OfResource(workspace_id=workspace_id, kind="dataset", resource_id=dataset_id)
    try:
        base = await here.query("release", "authorise", question, queries.PinnedRevision)
    except NotFound as error:
        if error.code != "revision_not_found":
            raise
        async with arrived.in_memory() as upload:
            return await _publish(here, target, upload, after=0, restore=restore)
    _check_base(base)
    async with arrived.in_memory(beside_bytes=base.size_bytes) as upload:
        joined = await _joined(here, base, upload)
        return await _publish(here, target, joined, after=base.revision, restore=restore)


def _check_base(base: queries.PinnedRevision) -> None:
    if base.media_type not in CSV_TYPES:
        raise _not_csv()
    _check_size(base.size_bytes)


async def _joined(here: Context, base: queries.PinnedRevision, upload: Upload) -> Upload:
    if upload.media_type not in CSV_TYPES:
        raise _not_csv()
    _check_size(base.size_bytes + len(upload.data))
    tenant = here.call.caller.tenant
    known = await here.edge.blobs.get(tenant, base.content_sha256, limit=base.size_bytes)
    data = await asyncio.to_thread(append_csv, known, upload.data)
    return replace(upload, data=data)


def _not_csv() -> Rejected:
    message = "only CSV is appended, and only to CSV; publish all rows as one file instead"
    return Rejected(message, field="mode", code="append_not_csv")


def _check_size(size_bytes: int) -> None:
    if size_bytes > APPENDED_BYTES_MAX:
        message = f"the table would be longer than {APPENDED_BYTES_MAX:,} bytes; publish Parquet"
        raise TooLarge(message, field="snapshot", code="append_too_large")


async def _publish(
    here: Context, target: Target, upload: Upload, *, after: int, restore: bool
) -> commands.PublishedOutcome:
    sha256 = await store_upload(here, target.workspace_id, target.kind, target.resource_id, upload)
    command = commands.PublishSnapshot(
        workspace_id=target.workspace_id,
        dataset_id=target.resource_id,
        content_sha256=sha256,
        media_type=upload.media_type,
        size_bytes=len(upload.data),
        after=after,
        restore=restore,
    )
    return await here.command("ingestion", "publish-snapshot", command, commands.PublishedOutcome)
