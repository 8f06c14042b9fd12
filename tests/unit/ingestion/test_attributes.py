"""The attributes of a submission: what CloudEvents demands, and what is said when one is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from chancery.events.commands import AddMember
from chancery.events.envelope import SIZE_BYTES_MAX
from chancery.events.intake import (
    SUBMISSIONS,
    TEXT_BYTES_MAX,
    DatasetSubmitted,
    DocumentSubmitted,
    DraftSubmitted,
    IntakeRejected,
    PublicationSubmitted,
    ResourceWithdrawalSubmitted,
    SnapshotSubmitted,
    SourceSubmitted,
    WithdrawalSubmitted,
)
from chancery.ingestion.domain import access
from chancery.ingestion.errors import InvalidSubmission
from chancery.testkit.contracts.schemas import event_schema
from tests.contract.validity import mistakes
from tests.unit.ingestion.producing import Edge, binary, cloud_event, opened, structured
from tests.unit.ingestion.test_execution import request
from tests.unit.ingestion.test_submitted_kinds import (
    CSV,
    DATASET,
    DOCUMENT,
    PUBLICATION,
    SNAPSHOT,
    SOURCE,
    accepted,
    read,
    refusal,
)

WITHDRAWAL: Mapping[str, Any] = {"workspace_id": "ws", "kind": "source", "resource_id": "s1"}
TEXT: Mapping[str, Any] = {**DOCUMENT, "text": "a"}


@pytest.fixture
async def edge() -> Edge:
    return await opened()


def takes(event: Mapping[str, Any]) -> bool:
    """Tell whether the server takes the event, in both modes alike."""
    found = set[bool]()
    for received in (structured(event), binary(event)):
        try:
            read(received, str(event["type"]))
            found.add(True)
        except InvalidSubmission:
            found.add(False)
    (both,) = found
    return both


@pytest.mark.req("EV-2", "EV-9")
@pytest.mark.parametrize("left_out", ["id", "source", "specversion", "type", "data"])
def test_what_cloud_events_demand_is_demanded_by_schema_and_server(left_out: str) -> None:
    event = cloud_event(SourceSubmitted.TYPE, SOURCE)
    schema = event_schema(SourceSubmitted)
    lacking = {name: value for name, value in event.items() if name != left_out}

    assert mistakes(schema, event) == []
    assert takes(event)
    assert mistakes(schema, lacking)
    with pytest.raises(InvalidSubmission):
        read(structured(lacking), SourceSubmitted.TYPE)


@pytest.mark.req("EV-2")
def test_no_submission_needs_more_than_that() -> None:
    for model in SUBMISSIONS:
        demanded = event_schema(model)["required"]
        assert demanded == ["specversion", "id", "source", "type", "data"], model.TYPE
    assert "subject" in str(event_schema(IntakeRejected)["required"])


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("time", "is_taken"),
    [
        ("2026-01-31T12:00:00Z", True),
        ("2026-01-31t12:00:00.1234567890z", True),
        ("2026-01-31T12:00:00+05:30", True),
        ("2016-12-31T23:59:60Z", True),
        ("yesterday", False),
        ("2026-01-31", False),
        ("2026-01-31T12:00:00", False),
        ("2026-02-31T12:00:00Z", False),
        ("2026-01-31T12:60:00Z", False),
        ("2026-01-31T24:00:00Z", False),
        ("2026-01-31T12:00:00+05:60", False),
        ("2026-01-31T12:00:00Z\n", False),
        ("1769860800", False),
        ("", False),
    ],
)
def test_a_time_that_is_there_is_a_moment(time: str, *, is_taken: bool) -> None:
    event = cloud_event(SourceSubmitted.TYPE, SOURCE, time=time)

    assert takes(event) is is_taken
    if not is_taken:
        with pytest.raises(InvalidSubmission) as refused:
            read(structured(event), SourceSubmitted.TYPE)
        told = "time: must be a moment as 2026-01-31T12:00:00Z"
        assert (refused.value.field, refused.value.detail) == ("time", told)


@pytest.mark.req("EV-9")
@pytest.mark.parametrize("subject", ["", "s" * 201, 7])
def test_a_subject_that_is_there_is_a_text(subject: object) -> None:
    event = cloud_event(SourceSubmitted.TYPE, SOURCE, subject=subject)

    with pytest.raises(InvalidSubmission) as refused:
        read(structured(event), SourceSubmitted.TYPE)

    assert refused.value.field == "subject"
    assert mistakes(event_schema(SourceSubmitted), event)
    # An attribute without a value is one that is not set: CloudEvents JSON format, section 2.3.
    assert read(structured({**event, "subject": None, "time": None}), SourceSubmitted.TYPE)


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("type_", "data", "field"),
    [
        (DocumentSubmitted.TYPE, TEXT, "source_id"),
        (WithdrawalSubmitted.TYPE, {"workspace_id": "ws", "source_id": "s1"}, "source_id"),
        (SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV}, "dataset_id"),
        (PublicationSubmitted.TYPE, PUBLICATION, "item_id"),
        (ResourceWithdrawalSubmitted.TYPE, WITHDRAWAL, "resource_id"),
    ],
)
async def test_what_is_not_there_is_named_by_its_own_field_to_members_alone(
    edge: Edge, type_: str, data: Mapping[str, Any], field: str
) -> None:
    absent = await edge.send(type_, data, event_id="e1")
    outside = await edge.send(type_, {**data, "workspace_id": "other"}, event_id="e2")
    nowhere = await edge.send(type_, {**data, "workspace_id": "none"}, event_id="e3")

    assert refusal(absent) == ("not_found", f"data.{field}")
    assert refusal(outside) == refusal(nowhere) == ("not_found", "data.workspace_id")


@pytest.mark.req("EV-9", "KO-9")
async def test_what_is_hidden_is_told_like_what_is_not_there(edge: Edge) -> None:
    hidden = {**SOURCE, "visibility": "private"}
    second = ("default", "second")
    member = AddMember(workspace_id="ws", principal="second", role="publisher")
    await edge.executor.execute(access.ADD_MEMBER, request(member, key="second"))
    accepted(await edge.send(SourceSubmitted.TYPE, hidden, event_id="e1"))

    seen = await edge.send(DocumentSubmitted.TYPE, TEXT, event_id="e2", sender=second)
    absent = {**TEXT, "source_id": "none"}
    missing = await edge.send(DocumentSubmitted.TYPE, absent, event_id="e3", sender=second)

    assert isinstance(seen.data, IntakeRejected)
    assert isinstance(missing.data, IntakeRejected)
    assert seen.data.model_copy(update={"intake_sequence": 0}) == missing.data.model_copy(
        update={"intake_sequence": 0}
    )
    assert seen.data.field == "data.source_id"
    accepted(await edge.send(DocumentSubmitted.TYPE, TEXT, event_id="e4"))


@pytest.mark.req("CL-8")
@pytest.mark.parametrize(
    ("type_", "data"),
    [
        (DocumentSubmitted.TYPE, DOCUMENT),
        (SnapshotSubmitted.TYPE, SNAPSHOT),
        (
            DraftSubmitted.TYPE,
            {"workspace_id": "ws", "item_id": "i", "draft_id": "d", "title": "T", "kind": "k",
             "domain": "d"},
        ),
    ],
)  # fmt: skip
def test_who_sends_too_long_a_text_is_told_where_it_goes(
    type_: str, data: Mapping[str, Any]
) -> None:
    told = dict[str | None, str]()
    for size in (TEXT_BYTES_MAX + 1, SIZE_BYTES_MAX):
        event = cloud_event(type_, {**data, "text": "a" * size})
        with pytest.raises(InvalidSubmission) as refused:
            read(structured(event), type_)
        told[refused.value.field] = refused.value.detail

    assert set(told) == {"data.text", "data"}
    assert all("POST /v1/blobs" in each and "content_sha256" in each for each in told.values())
    assert f'"maxLength": {TEXT_BYTES_MAX}' in json.dumps(event_schema(DocumentSubmitted))


@pytest.mark.req("EV-9", "EV-14")
@pytest.mark.parametrize("is_forgotten", [False, True])
async def test_a_reused_id_is_told_as_one_of_an_event_and_names_its_own_submission(
    edge: Edge, *, is_forgotten: bool
) -> None:
    first = accepted(await edge.send(DatasetSubmitted.TYPE, DATASET))
    if is_forgotten:
        edge.outcomes.told.clear()

    other = await edge.send(DatasetSubmitted.TYPE, {**DATASET, "title": "Other"})

    assert isinstance(other.data, IntakeRejected)
    assert refusal(other) == ("idempotency_key_reused", "id")
    assert "Idempotency-Key" not in other.data.detail
    assert "event id" in other.data.detail
    assert (first.intake_sequence, other.data.intake_sequence) == (1, 2)
    assert len(edge.appended()) == 1
