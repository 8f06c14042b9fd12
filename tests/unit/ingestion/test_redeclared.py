"""Declared again over the bus, a source or dataset keeps what is not spoken of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chancery.events.authority import DatasetDeclared, SourceDeclared, VisibilityChanged
from chancery.events.intake import DatasetSubmitted, IntakeRejected, SourceSubmitted
from chancery.kernel.canonical import canonical_hash
from tests.unit.ingestion.producing import cloud_event, opened, structured
from tests.unit.ingestion.test_submitted_kinds import DATASET, SOURCE, accepted, read, refusal

POLICY: Mapping[str, Any] = {
    **DATASET,
    "visibility": "restricted",
    "row_filters": [{"roles": ["reader"], "column": "cost", "allowed": [3]}],
}
TITLED: Mapping[str, Any] = {"workspace_id": "ws", "dataset_id": "d1", "title": "Sales"}


@pytest.mark.req("EV-9", "CR-27")
async def test_a_title_alone_opens_no_column_and_no_row() -> None:
    edge = await opened()
    await edge.send(DatasetSubmitted.TYPE, POLICY, event_id="e1")

    accepted(await edge.send(DatasetSubmitted.TYPE, TITLED, event_id="e2"))
    emptied: Mapping[str, Any] = {**TITLED, "columns": {}, "row_filters": []}
    accepted(await edge.send(DatasetSubmitted.TYPE, emptied, event_id="e3"))

    first, titled, bare = edge.appended()
    assert isinstance(first, DatasetDeclared)
    assert titled == first.model_copy(update={"title": "Sales"})
    assert isinstance(bare, DatasetDeclared)
    assert (bare.columns, bare.row_filters, bare.measures) == ({}, (), first.measures)
    assert bare.visibility == "restricted"


@pytest.mark.req("EV-9", "CR-27")
async def test_a_filter_that_stays_has_to_fit_the_types_that_are_new() -> None:
    edge = await opened()
    await edge.send(DatasetSubmitted.TYPE, POLICY, event_id="e1")
    dated = {**TITLED, "columns": {"cost": {"type": "date"}}}

    told = await edge.send(DatasetSubmitted.TYPE, dated, event_id="e2")

    assert refusal(told) == ("policy_filter_value", "data.columns.cost.type")
    assert len(edge.appended()) == 1


@pytest.mark.req("EV-9", "CR-27")
@pytest.mark.parametrize("name", ["in", "allowed"])
async def test_a_filter_that_is_sent_is_told_by_the_name_that_its_sender_gave_its_values(
    name: str,
) -> None:
    edge = await opened()
    filters = [{"roles": ["reader"], "column": "cost", name: ["2024-01-01", "soon"]}]
    dated = {**TITLED, "columns": {"cost": {"type": "date"}}, "row_filters": filters}

    told = await edge.send(DatasetSubmitted.TYPE, dated, event_id="e1")

    assert refusal(told) == ("policy_filter_value", f"data.row_filters.0.{name}.1")
    assert isinstance(told.data, IntakeRejected)
    assert told.data.detail.startswith(f"row_filters.0.{name}.1 must be a date")


@pytest.mark.req("EV-9", "CR-27")
async def test_a_source_keeps_who_may_read_it() -> None:
    edge = await opened()
    await edge.send(SourceSubmitted.TYPE, {**SOURCE, "visibility": "restricted"}, event_id="e1")
    await edge.send(SourceSubmitted.TYPE, {**SOURCE, "title": "Guide"}, event_id="e2")
    await edge.send(SourceSubmitted.TYPE, {**SOURCE, "visibility": "workspace"}, event_id="e3")

    first, titled, *rest = edge.appended()
    assert isinstance(first, SourceDeclared)
    assert titled == first.model_copy(update={"title": "Guide"})
    assert [type(each) for each in rest] == [SourceDeclared, VisibilityChanged]


@pytest.mark.req("EV-14")
@pytest.mark.parametrize(
    ("type_", "data", "left_out"),
    [
        (SourceSubmitted.TYPE, {**SOURCE, "authority": None, "date": None}, {"visibility"}),
        (
            DatasetSubmitted.TYPE,
            {**TITLED},
            {"visibility", "columns", "row_filters", "measures"},
        ),
    ],
)
def test_a_declaration_of_an_earlier_build_is_recognised_still(
    type_: str, data: Mapping[str, Any], left_out: set[str]
) -> None:
    at_first: Mapping[str, Any] = {
        "visibility": "workspace",
        "columns": {},
        "row_filters": [],
        "measures": [],
    }
    known = {**data, **{name: at_first[name] for name in left_out}}

    found = read(structured(cloud_event(type_, data)), type_)

    assert found.request_sha256 == canonical_hash({"type": type_, "data": known})
    assert all(getattr(found.data, name) is None for name in left_out)
