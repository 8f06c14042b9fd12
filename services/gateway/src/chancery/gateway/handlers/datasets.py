"""Datasets: declaration, snapshots, their schema, and raw queries."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal

from fastapi import APIRouter, Request, Response

from chancery.events import commands, queries
from chancery.events.declarations import name_as_written
from chancery.gateway.domain.bodies import (
    DatasetBody,
    PinnedReply,
    SchemaReply,
    SnapshotReply,
    SqlBody,
)
from chancery.gateway.domain.column_types import types_from_all_rows
from chancery.gateway.errors import SnapshotFailed, snapshot_failed
from chancery.gateway.handlers.appending import append_table
from chancery.gateway.handlers.edge import Context, Here, PathId, Restore, RevisionNumber
from chancery.gateway.handlers.leaving import answered
from chancery.gateway.handlers.uploads import Target, arriving_upload, permit_upload, receive_upload
from chancery.gateway.handlers.withdrawn import without_text
from chancery.kernel.errors import Rejected
from chancery.tabular.formats import XLSX_TYPE

PublishingMode = Literal["replace", "append"]
"""What becomes of the rows that serve."""

router = APIRouter(prefix="/v1/workspaces/{ws}", tags=["datasets"])

QUERYABLE_WITHIN_S = 30.0
BINARY_TABLE_TYPES = ("application/vnd.apache.parquet", XLSX_TYPE)
_BINARY = {"type": "string", "format": "binary"}
_POLL_S = 0.05


@router.put("/datasets/{dataset}")
async def declare_dataset(
    ws: PathId, dataset: PathId, body: DatasetBody, request: Request, here: Here
) -> commands.Outcome:
    """Declare a dataset with its column policy and measures, or declare it again.

    What is left out stays as it is; `{}` or `[]` removes a part.
    """
    command = commands.DeclareDataset(
        workspace_id=ws,
        dataset_id=dataset,
        title=body.title,
        visibility=body.visibility,
        columns=body.columns,
        row_filters=body.row_filters,
        measures=body.measures,
    )
    try:
        return await here.command("ingestion", "declare-dataset", command, commands.Outcome)
    except Rejected as error:
        name_as_written(error, await request.json())
        raise


@router.get("/datasets/{dataset}")
async def read_dataset(ws: PathId, dataset: PathId, here: Here) -> queries.ResourceView:
    """Return what the caller may know of one dataset."""
    question = queries.OfResource(workspace_id=ws, kind="dataset", resource_id=dataset)
    return await here.query("release", "source", question, queries.ResourceView)


@router.post(
    "/datasets/{dataset}/snapshots",
    status_code=201,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                **{each: {"schema": _BINARY} for each in BINARY_TABLE_TYPES},
            },
        }
    },
    responses={202: {"model": SnapshotReply, "description": "stored, not queryable yet"}},
)
async def publish_snapshot(
    ws: PathId,
    dataset: PathId,
    request: Request,
    response: Response,
    here: Here,
    *,
    mode: PublishingMode = "replace",
    restore: Restore = False,
) -> SnapshotReply:
    """Publish the next snapshot; 201 once it can be queried, 202 when that takes longer.

    `append` puts the rows of a CSV file below those of the newest snapshot; both together are the
    next one. A withdrawn dataset is refused unless `restore` asks for it to serve again.
    """
    publish = _append if mode == "append" else _replace
    published = await publish(request, here, ws, dataset, restore=restore)
    state = await _wait_until_queryable(here, ws, dataset, published.revision)
    response.status_code = 201 if state == "ready" else 202
    return SnapshotReply(
        snapshot=published.revision,
        sequence=published.sequence,
        content_sha256=published.content_sha256,
        event_id=published.event_id,
        state=state,
        changed=published.changed,
    )


@router.get("/datasets/{dataset}/snapshots/{number}")
async def read_snapshot(
    ws: PathId, dataset: PathId, number: RevisionNumber, here: Here
) -> PinnedReply:
    """Return the pinned hashes of one snapshot."""
    return PinnedReply.of(await _authorised(here, ws, dataset, number))


@router.get("/datasets/{dataset}/schema")
async def read_schema(ws: PathId, dataset: PathId, here: Here) -> SchemaReply:
    """Return the columns of the serving snapshot that the caller may see, and what they hold."""
    pinned = await _authorised(here, ws, dataset, None)
    if pinned.extraction_sha256 is None:
        message = "the snapshot cannot be queried yet; ask for its state"
        raise without_text(pinned, message)
    schema = await here.query("execution", "schema", pinned, queries.DatasetSchema)
    return SchemaReply(
        dataset=PinnedReply.of(schema.dataset),
        columns=schema.columns,
        rows=schema.rows,
        statistics=schema.statistics,
        types_from_all_rows=types_from_all_rows(pinned, [name for name, _ in schema.columns]),
    )


@router.post("/query")
async def run_query(ws: PathId, body: SqlBody, request: Request, here: Here) -> Response:
    """Run a statement over the datasets that the caller may read; not a verified answer."""
    scope = await here.query(
        "release", "datasets", queries.OfWorkspace(workspace_id=ws), queries.DatasetScope
    )
    question = queries.RunQuery(
        workspace_id=ws,
        sql=body.sql,
        datasets=scope.datasets,
        offset=body.offset,
        limit=body.limit,
    )
    asked = here.query("execution", "sql", question, queries.QueryResult)
    result = await answered(request, here, asked)
    return Response(result.json_text, media_type="application/json")


async def _replace(
    request: Request, here: Context, workspace_id: str, dataset_id: str, *, restore: bool
) -> commands.PublishedOutcome:
    target = Target(workspace_id, "dataset", dataset_id)
    stored = await receive_upload(request, here, target)
    command = commands.PublishSnapshot(
        workspace_id=workspace_id,
        dataset_id=dataset_id,
        content_sha256=stored.sha256,
        media_type=stored.media_type,
        size_bytes=stored.size_bytes,
        restore=restore,
    )
    return await stored.here.command(
        "ingestion", "publish-snapshot", command, commands.PublishedOutcome
    )


async def _append(
    request: Request, here: Context, workspace_id: str, dataset_id: str, *, restore: bool
) -> commands.PublishedOutcome:
    await permit_upload(here, workspace_id, "dataset", dataset_id)
    async with arriving_upload(request, here) as arrived:
        return await append_table(arrived, workspace_id, dataset_id, restore=restore)


async def _authorised(
    here: Context, workspace_id: str, dataset_id: str, snapshot: int | None
) -> queries.PinnedRevision:
    question = queries.OfResource(
        workspace_id=workspace_id, kind="dataset", resource_id=dataset_id, revision=snapshot
    )
    return await here.query("release", "authorise", question, queries.PinnedRevision)


async def _wait_until_queryable(
    here: Context, workspace_id: str, dataset_id: str, snapshot: int
) -> str:
    state = "pending"
    with suppress(TimeoutError):
        async with asyncio.timeout(QUERYABLE_WITHIN_S):
            state = await _state(here, workspace_id, dataset_id, snapshot)
            while state == "pending":
                await asyncio.sleep(_POLL_S)
                state = await _state(here, workspace_id, dataset_id, snapshot)
    return state


async def _state(here: Context, workspace_id: str, dataset_id: str, snapshot: int) -> str:
    pinned = await _authorised(here, workspace_id, dataset_id, snapshot)
    if pinned.state == "failed":
        raise snapshot_failed(pinned.reason or SnapshotFailed.code, pinned.field)
    return pinned.state
