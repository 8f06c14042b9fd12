"""A table that grows by appended rows has a longest size."""

from __future__ import annotations

import pytest

from chancery.events.intake import DatasetSubmitted, SnapshotSubmitted
from chancery.ingestion.domain import appending
from chancery.kernel.canonical import sha256_hex
from tests.unit.ingestion.producing import opened
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
