"""Datasets, snapshots, items and other documents over the bus: what HTTP takes, decided alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chancery.events.authority import DatasetDeclared, DatasetWithdrawn, SnapshotPublished
from chancery.events.authority_knowledge import DraftSaved, ItemWithdrawn, VersionPublished
from chancery.events.envelope import Event
from chancery.events.intake import (
    DatasetSubmitted,
    DocumentSubmitted,
    DraftSubmitted,
    FileDeletionSubmitted,
    FileSubmitted,
    IntakeAccepted,
    IntakeRejected,
    PublicationSubmitted,
    ResourceWithdrawalSubmitted,
    RevisionSubmitted,
    SnapshotSubmitted,
    SourceSubmitted,
    WithdrawalSubmitted,
)
from chancery.events.topology import intake_subject
from chancery.ingestion.domain.submissions import Submission, letter_of, read_submission
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Unavailable
from chancery.runtime.delivery import Received
from chancery.store.blobs import upload_place
from tests.unit.ingestion.producing import Edge, binary, cloud_event, opened, structured

SOURCE: Mapping[str, Any] = {"workspace_id": "ws", "source_id": "s1", "title": "Handbook"}
DOCUMENT: Mapping[str, Any] = {"workspace_id": "ws", "source_id": "s1", "media_type": "text/plain"}
DATASET: Mapping[str, Any] = {
    "workspace_id": "ws",
    "dataset_id": "d1",
    "title": "Orders",
    "columns": {"cost": {"type": "integer", "roles": ["publisher"]}},
    "measures": [{"name": "orders", "aggregate": "count"}],
}
CSV = "customer,cost\nada,3\n"
SNAPSHOT: Mapping[str, Any] = {"workspace_id": "ws", "dataset_id": "d1", "media_type": "text/csv"}
DRAFT: Mapping[str, Any] = {
    "workspace_id": "ws",
    "item_id": "i1",
    "draft_id": "first",
    "title": "Who reviews",
    "kind": "rule",
    "domain": "works",
    "text": "Reviews are owned by the platform team.",
}
PUBLICATION: Mapping[str, Any] = {
    "workspace_id": "ws",
    "item_id": "i1",
    "draft_id": "first",
    "content_sha256": sha256_hex(str(DRAFT["text"]).encode()),
}
FILE: Mapping[str, Any] = {
    "title": "Minutes",
    "media_type": "text/plain",
    "text": "The board meets on Tuesdays.",
}
PDF = b"%PDF-1.4 text %%EOF"


@pytest.fixture
async def edge() -> Edge:
    return await opened()


def read(received: Received, type_: str) -> Submission:
    letter = letter_of(intake_subject("default", "desk", type_), *parts(received), 7)
    assert letter is not None
    return read_submission(letter, *parts(received))


def parts(received: Received) -> tuple[bytes, Mapping[str, str]]:
    return received.payload, received.headers


def accepted(event: Event) -> IntakeAccepted:
    assert isinstance(event.data, IntakeAccepted), event.data
    return event.data


def refusal(event: Event) -> tuple[str, str | None]:
    assert isinstance(event.data, IntakeRejected), event.data
    return event.data.code, event.data.field


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("type_", "data"),
    [
        (DocumentSubmitted.TYPE, {**DOCUMENT, "text": "a"}),
        (DatasetSubmitted.TYPE, DATASET),
        (SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV}),
        (DraftSubmitted.TYPE, DRAFT),
        (PublicationSubmitted.TYPE, PUBLICATION),
        (
            ResourceWithdrawalSubmitted.TYPE,
            {"workspace_id": "ws", "kind": "item", "resource_id": "i1"},
        ),
        (FileSubmitted.TYPE, FILE),
        (FileDeletionSubmitted.TYPE, {"file_id": "f1"}),
    ],
)
def test_both_modes_say_the_same_of_every_kind(type_: str, data: Mapping[str, Any]) -> None:
    event = cloud_event(type_, data)

    assert read(structured(event), type_) == read(binary(event), type_)


@pytest.mark.req("EV-9")
@pytest.mark.req("EV-4")
def test_a_submission_of_version_1_asks_for_the_same_as_its_successor() -> None:
    old = cloud_event(WithdrawalSubmitted.TYPE, {"workspace_id": "ws", "source_id": "s1"})
    new = {"workspace_id": "ws", "kind": "source", "resource_id": "s1"}
    text = {**DOCUMENT, "text": "a"}

    withdrawal = read(structured(old), WithdrawalSubmitted.TYPE)
    revision = read(structured(cloud_event(RevisionSubmitted.TYPE, text)), RevisionSubmitted.TYPE)

    assert withdrawal.data == ResourceWithdrawalSubmitted.model_validate(new)
    assert revision.data == DocumentSubmitted.model_validate(text)


@pytest.mark.req("EV-9")
async def test_a_dataset_is_declared_published_appended_to_and_withdrawn(edge: Edge) -> None:
    more = {**SNAPSHOT, "mode": "append", "text": "customer,cost\nbob,4\n"}
    withdrawal = {"workspace_id": "ws", "kind": "dataset", "resource_id": "d1"}

    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="e1")
    first = accepted(
        await edge.send(SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV}, event_id="e2")
    )
    second = accepted(await edge.send(SnapshotSubmitted.TYPE, more, event_id="e3"))
    await edge.send(ResourceWithdrawalSubmitted.TYPE, withdrawal, event_id="e4")
    late = await edge.send(SnapshotSubmitted.TYPE, more, event_id="e5")

    declared, *published, withdrawn = edge.appended()
    assert isinstance(declared, DatasetDeclared)
    assert declared.columns["cost"].roles == ("publisher",)
    assert [type(each) for each in published] == [SnapshotPublished] * 2
    assert isinstance(withdrawn, DatasetWithdrawn)
    assert (first.revision, second.revision) == (1, 2)
    joined = await edge.blobs.get("default", second.content_sha256 or "", limit=100)
    assert joined == b"customer,cost\nada,3\nbob,4\n"
    assert refusal(late) == ("withdrawn", "data.restore")


@pytest.mark.req("EV-9")
async def test_the_first_append_makes_the_first_snapshot(edge: Edge) -> None:
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="e1")
    told = await edge.send(
        SnapshotSubmitted.TYPE, {**SNAPSHOT, "mode": "append", "text": CSV}, event_id="e2"
    )

    assert (accepted(told).revision, accepted(told).content_sha256) == (1, sha256_hex(CSV.encode()))


@pytest.mark.req("EV-9")
@pytest.mark.req("EV-14")
async def test_rows_whose_outcome_could_not_be_told_are_appended_once(edge: Edge) -> None:
    more = {**SNAPSHOT, "mode": "append", "text": "customer,cost\nbob,4\n"}
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="e1")
    await edge.send(SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV}, event_id="e2")
    edge.outcomes.failures = 1
    with pytest.raises(Unavailable):
        await edge.send(SnapshotSubmitted.TYPE, more, event_id="e3")
    stored, appended = dict(edge.blobs.stored), edge.appended()

    told = accepted(await edge.send(SnapshotSubmitted.TYPE, more, event_id="e3", again=True))

    assert (told.revision, told.changed) == (2, True)
    assert edge.appended() == appended
    assert edge.blobs.stored == stored
    edge.outcomes.told.clear()  # Forgotten: the same id with other rows is no repeat all the same.
    more["text"] = "customer,cost\neve,5\n"
    other = await edge.send(SnapshotSubmitted.TYPE, more, event_id="e3", again=True)
    assert refusal(other) == ("idempotency_key_reused", "id")


@pytest.mark.req("EV-9")
@pytest.mark.req("CR-3")
async def test_an_item_is_drafted_published_exactly_and_withdrawn(edge: Edge) -> None:
    text = {"media_type": "text/plain", "text": "The ground that it stands on."}
    evidence = [{"kind": "source", "id": "s1", "revision": 1}]
    draft = {**DRAFT, "evidence": evidence, "tags": ["review"]}
    withdrawal = {"workspace_id": "ws", "kind": "item", "resource_id": "i1"}
    await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="e1")
    await edge.send(DocumentSubmitted.TYPE, {**DOCUMENT, **text}, event_id="e2")

    saved = accepted(await edge.send(DraftSubmitted.TYPE, draft, event_id="e3"))
    other = await edge.send(
        PublicationSubmitted.TYPE,
        {**PUBLICATION, "evidence": evidence, "content_sha256": "0" * 64},
        event_id="e4",
    )
    bare = await edge.send(PublicationSubmitted.TYPE, PUBLICATION, event_id="e5")
    published = accepted(
        await edge.send(
            PublicationSubmitted.TYPE, {**PUBLICATION, "evidence": evidence}, event_id="e6"
        )
    )
    await edge.send(ResourceWithdrawalSubmitted.TYPE, withdrawal, event_id="e7")

    drafted, version, withdrawn = edge.appended()[-3:]
    assert isinstance(drafted, DraftSaved)
    assert isinstance(version, VersionPublished)
    assert isinstance(withdrawn, ItemWithdrawn)
    assert refusal(other) == ("draft_changed", "data.content_sha256")
    assert refusal(bare) == ("draft_changed", "data.evidence")
    assert (saved.content_sha256, saved.revision) == (PUBLICATION["content_sha256"], None)
    assert (published.revision, published.version_id) == (1, version.version_id)
    assert published.evidence_sha256 == saved.evidence_sha256 == version.evidence_sha256


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("type_", "data"),
    [
        (DatasetSubmitted.TYPE, DATASET),
        (SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV}),
        (SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": CSV, "mode": "append"}),
        (DraftSubmitted.TYPE, DRAFT),
        (PublicationSubmitted.TYPE, PUBLICATION),
        (
            ResourceWithdrawalSubmitted.TYPE,
            {"workspace_id": "ws", "kind": "dataset", "resource_id": "d1"},
        ),
    ],
)
async def test_who_may_not_is_refused_and_nothing_is_stored(
    edge: Edge, type_: str, data: Mapping[str, Any]
) -> None:
    reader = await edge.send(type_, data, event_id="r", sender=("default", "reading"))
    elsewhere = await edge.send(type_, {**data, "workspace_id": "other"}, event_id="w")
    foreign = await edge.send(type_, data, event_id="f", sender=("other", "desk"))

    assert refusal(reader) == ("not_permitted", "data.workspace_id")
    assert refusal(elsewhere) == ("not_found", "data.workspace_id")
    assert refusal(foreign)[0] == "unknown_principal"
    assert edge.appended() == []
    assert edge.blobs.stored == {}


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("type_", "data", "code", "field"),
    [
        (
            DatasetSubmitted.TYPE,
            {**DATASET, "columns": {"cost": {"rolse": ["publisher"]}}},
            "invalid_submission",
            "columns.cost",
        ),
        (
            DatasetSubmitted.TYPE,
            {**DATASET, "measures": [{"name": "sum", "aggregate": "sum"}]},
            "measure_without_column",
            "measures.0.column",
        ),
        (
            DatasetSubmitted.TYPE,
            {**DATASET, "row_filters": [{"roles": ["reader"], "column": "a", "allowed": ["\x00"]}]},
            "unreadable_text",
            "row_filters.0.allowed.0",
        ),
        (SnapshotSubmitted.TYPE, {**SNAPSHOT, "text": "a,b\n1\n"}, "csv_ragged_row", "text"),
        (SnapshotSubmitted.TYPE, SNAPSHOT, "invalid_submission", "text"),
        (
            SnapshotSubmitted.TYPE,
            {**SNAPSHOT, "media_type": "image/png", "text": "a"},
            "unsupported_media_type",
            "media_type",
        ),
        (
            SnapshotSubmitted.TYPE,
            {**SNAPSHOT, "media_type": "application/vnd.apache.parquet", "text": "PAR1"},
            "invalid_submission",
            "text",
        ),
        (
            SnapshotSubmitted.TYPE,
            {**SNAPSHOT, "media_type": "text/csv; charset=UTF-16", "text": "a\n1\n"},
            "unsupported_charset",
            "media_type",
        ),
        (
            SnapshotSubmitted.TYPE,
            {**SNAPSHOT, "media_type": "text/csv; header=absent", "text": "a\n1\n"},
            "csv_header_absent",
            "media_type",
        ),
        (DraftSubmitted.TYPE, {**DRAFT, "text": " "}, "empty_content", "text"),
        (DraftSubmitted.TYPE, {**DRAFT, "text": "\u200b\u00ad"}, "empty_content", "text"),
        (DraftSubmitted.TYPE, {**DRAFT, "tags": ["a", "a"]}, "invalid_submission", "tags"),
        (PublicationSubmitted.TYPE, PUBLICATION, "not_found", "item_id"),
        (
            DocumentSubmitted.TYPE,
            {**DOCUMENT, "media_type": "application/pdf", "text": "%PDF-"},
            "invalid_submission",
            "text",
        ),
    ],
)
async def test_a_mistake_of_any_kind_is_named_and_nothing_is_applied(
    edge: Edge, type_: str, data: Mapping[str, Any], code: str, field: str
) -> None:
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="begin")
    before = edge.appended()

    told = await edge.send(type_, data, event_id="wrong")

    assert refusal(told) == (code, f"data.{field}")
    assert edge.appended() == before
    assert edge.blobs.stored == {}


@pytest.mark.req("EV-9")
async def test_evidence_that_is_not_there_is_named_by_its_place(edge: Edge) -> None:
    unknown = [{"kind": "source", "id": "none", "revision": 1}]

    told = await edge.send(DraftSubmitted.TYPE, {**DRAFT, "evidence": unknown})

    assert refusal(told) == ("not_found", "data.evidence.0")
    assert edge.appended() == []


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("type_", "data", "content"),
    [
        (DocumentSubmitted.TYPE, {**DOCUMENT, "media_type": "application/pdf"}, PDF),
        (SnapshotSubmitted.TYPE, SNAPSHOT, CSV.encode()),
        (SnapshotSubmitted.TYPE, {**SNAPSHOT, "mode": "append"}, CSV.encode()),
        (
            DraftSubmitted.TYPE,
            {name: value for name, value in DRAFT.items() if name != "text"},
            b"The whole body.",
        ),
    ],
)
async def test_only_who_uploaded_the_bytes_can_name_them(
    edge: Edge, type_: str, data: Mapping[str, Any], content: bytes
) -> None:
    await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="e1")
    await edge.send(DatasetSubmitted.TYPE, DATASET, event_id="e2")
    sha256 = await edge.blobs.put_run("default", upload_place("reading"), content)
    named = {**data, "content_sha256": sha256}

    refused = await edge.send(type_, named, event_id="e3")
    await edge.blobs.put_run("default", upload_place("desk"), content)
    taken = accepted(await edge.send(type_, named, event_id="e4"))

    assert refusal(refused) == ("blob_not_found", "data.content_sha256")
    assert taken.content_sha256 == sha256
    assert await edge.blobs.get("default", sha256, limit=100) == content
    assert not await edge.blobs.exists("default", sha256, run=upload_place("desk"))
    assert await edge.blobs.exists("default", sha256, run=upload_place("reading"))


@pytest.mark.req("EV-9")
@pytest.mark.req("EV-14")
async def test_a_repeated_submission_of_any_kind_changes_nothing(edge: Edge) -> None:
    sent = [
        (DatasetSubmitted.TYPE, DATASET, "e1"),
        (SnapshotSubmitted.TYPE, {**SNAPSHOT, "mode": "append", "text": CSV}, "e2"),
        (DraftSubmitted.TYPE, DRAFT, "e3"),
        (PublicationSubmitted.TYPE, PUBLICATION, "e4"),
    ]
    for type_, data, event_id in sent:
        accepted(await edge.send(type_, data, event_id=event_id))
    appended, told = edge.appended(), list(edge.outcomes.told)

    for type_, data, event_id in sent:
        await edge.send(type_, data, event_id=event_id)
    other = await edge.send(PublicationSubmitted.TYPE, PUBLICATION, event_id="e1")

    assert len(appended) == 4
    assert edge.appended() == appended
    assert edge.outcomes.told[:-1] == told
    assert refusal(other) == ("idempotency_key_reused", "id")
