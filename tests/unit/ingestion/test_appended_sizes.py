"""A table that grows by appended rows has a longest size, and continues the newest snapshot."""

from __future__ import annotations

from typing import Any

import pytest

from chancery.events.commands import PublishSnapshot
from chancery.events.intake import DatasetSubmitted, SnapshotSubmitted
from chancery.ingestion.domain import appending, knowledge
from chancery.kernel.canonical import sha256_hex
from tests.unit.ingestion.producing import opened
from tests.unit.ingestion.test_execution import request
from tests.unit.ingestion.test_submitted_kinds import CSV, DATASET, SNAPSHOT, accepted, refusal


@pytest.mark.req("EV-9")
@pytest.mark.parametrize("longest", [40, 39])
async def test_a_table_that_would_grow_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch, longest: int
) -> None:
    edge = await opened()
    more = {**SNAPSHOT, "mode": "append", "text": "customer,cost\nbob,4\n"}
    monkeypatch.setattr(appending, "APPENDED_BYTES_MAX", longest)
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="e1")
    await edge.send(SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV}, event_id="e2")

    told = await edge.send(SnapshotSubmitted.TYPE, more, event_id="e3")

    if longest == len(CSV) + len("customer,cost\nbob,4\n"):
        assert accepted(told).revision == 2
    else:
        assert refusal(told) == ("append_too_large", "data.mode")


@pytest.mark.req("EV-9")
async def test_a_table_that_is_too_long_already_is_refused_before_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edge = await opened()
    more = {**SNAPSHOT, "mode": "append", "text": "customer,cost\nbob,4\n"}
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="e1")
    await edge.send(SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV}, event_id="e2")
    await edge.blobs.delete("default", sha256_hex(CSV.encode()))

    gone = await edge.send(SnapshotSubmitted.TYPE, more, event_id="e3")
    monkeypatch.setattr(appending, "APPENDED_BYTES_MAX", len(CSV) - 1)
    too_long = await edge.send(SnapshotSubmitted.TYPE, more, event_id="e4")

    assert refusal(gone)[0] == "blob_not_found"
    assert refusal(too_long) == ("append_too_large", "data.mode")


@pytest.mark.req("EV-9")
@pytest.mark.parametrize("media_type", ["application/csv", "text/csv; charset=utf-8"])
async def test_csv_by_its_other_names_is_appended_to_csv(media_type: str) -> None:
    edge = await opened()
    named = {**SNAPSHOT, "media_type": media_type}
    more = {**named, "mode": "append", "text": "customer,cost\nbob,4\n"}
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="e1")
    await edge.send(SnapshotSubmitted.TYPE, {**named, "text": CSV}, event_id="e2")

    assert accepted(await edge.send(SnapshotSubmitted.TYPE, more, event_id="e3")).revision == 2


@pytest.mark.req("EV-9")
async def test_rows_are_appended_to_the_snapshot_that_came_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edge = await opened()
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="e1")
    await edge.send(SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV}, event_id="e2")
    blobs, between = type(edge.blobs), b"customer,cost\nzoe,9\n"
    get, is_first = blobs.get, [True]

    async def overtaken(self: Any, tenant: str, sha256: str, *, limit: int) -> bytes:
        if is_first.pop() if is_first else False:
            other = PublishSnapshot(
                workspace_id="ws",
                dataset_id="d1",
                content_sha256=await edge.blobs.put("default", between),
                media_type="text/csv",
                size_bytes=len(between),
            )
            await edge.executor.execute(knowledge.PUBLISH_SNAPSHOT, request(other, key="other"))
        return await get(self, tenant, sha256, limit=limit)

    monkeypatch.setattr(blobs, "get", overtaken)
    more = {**SNAPSHOT, "mode": "append", "text": "customer,cost\nbob,4\n"}
    told = accepted(await edge.send(SnapshotSubmitted.TYPE, more, event_id="e3"))

    assert told.revision == 3
    joined = await edge.blobs.get("default", told.content_sha256 or "", limit=100)
    assert joined == b"customer,cost\nzoe,9\nbob,4\n"
