"""Submissions over the bus: both modes read alike, and each mistake is named by its field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.bus.headers import EVENT_HEADERS, event_headers
from chancery.bus.load import Stored
from chancery.events.authority import RevisionPublished, RevisionWithdrawn, SourceDeclared
from chancery.events.codec import encode
from chancery.events.envelope import SIZE_BYTES_MAX
from chancery.events.intake import (
    TEXT_BYTES_MAX,
    IntakeAccepted,
    IntakeRejected,
    RevisionSubmitted,
    SourceSubmitted,
    WithdrawalSubmitted,
)
from chancery.events.topology import INGESTION_INTAKE, INTAKE, intake_subject
from chancery.ingestion.domain.submissions import Letter, letter_of, read_submission
from chancery.ingestion.errors import InvalidSubmission
from chancery.ingestion.handlers.intake import RejectingParking
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Unavailable
from chancery.runtime.delivery import Received
from chancery.runtime.parking import ParkedMessage
from chancery.store.blobs import upload_place
from tests.unit.ingestion.moments import NOW
from tests.unit.ingestion.producing import Edge, binary, cloud_event, opened, structured

TEXT = "Reviews are owned by the platform team."
SOURCE: Mapping[str, Any] = {"workspace_id": "ws", "source_id": "s1", "title": "Handbook"}
REVISION: Mapping[str, Any] = {
    "workspace_id": "ws",
    "source_id": "s1",
    "media_type": "text/plain",
    "text": TEXT,
}
WITHDRAWAL: Mapping[str, Any] = {"workspace_id": "ws", "source_id": "s1"}


def read(received: Received, type_: str = SourceSubmitted.TYPE) -> Any:
    subject = intake_subject("default", "desk", type_)
    letter = letter_of(subject, received.payload, received.headers, 7)
    assert letter is not None
    return read_submission(letter, received.payload, received.headers)


@pytest.mark.req("EV-9")
@given(
    source=st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1,
                   max_size=40),
    title=st.text("abc éß ", min_size=1, max_size=30).map(lambda text: f"t{text}t"),
)  # fmt: skip
def test_both_modes_say_the_same(source: str, title: str) -> None:
    event = cloud_event(SourceSubmitted.TYPE, {**SOURCE, "title": title}, source=source)

    assert read(structured(event)) == read(binary(event))


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("event", "field"),
    [
        (cloud_event(SourceSubmitted.TYPE, {**SOURCE, "title": ""}), "data.title"),
        (cloud_event(SourceSubmitted.TYPE, {"workspace_id": "ws"}), "data.source_id"),
        (cloud_event(SourceSubmitted.TYPE, {**SOURCE, "visiblity": "private"}), "data.visiblity"),
        (cloud_event(SourceSubmitted.TYPE, {**SOURCE, "source_id": "a b"}), "data.source_id"),
        (cloud_event(SourceSubmitted.TYPE, None), "data"),
        (cloud_event(SourceSubmitted.TYPE, SOURCE, id="a b"), "id"),
        (cloud_event(SourceSubmitted.TYPE, SOURCE, specversion="0.3"), "specversion"),
        (cloud_event(SourceSubmitted.TYPE, SOURCE, tenant="other"), "tenant"),
        (cloud_event(WithdrawalSubmitted.TYPE, WITHDRAWAL), "type"),
        (cloud_event(SourceSubmitted.TYPE, SOURCE, datacontenttype="text/xml"), "datacontenttype"),
    ],
)
def test_a_mistake_is_named_by_its_field(event: dict[str, Any], field: str) -> None:
    for received in (structured(event), binary(event)):
        with pytest.raises(InvalidSubmission) as refusal:
            read(received)

        assert refusal.value.field == field


@pytest.mark.req("CL-8")
def test_a_mistake_is_told_in_a_sentence_and_not_repeated() -> None:
    wrong = cloud_event(SourceSubmitted.TYPE, {**SOURCE, "source_id": "quagmire 7741"})

    with pytest.raises(InvalidSubmission) as refusal:
        read(structured(wrong))

    told = "data.source_id: must be 1 to 64 characters of A-Z a-z 0-9 _ -"
    assert refusal.value.detail == told


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b"\xff", b'{"a":1,"a":2}', b" " * (SIZE_BYTES_MAX + 1)]
)
def test_what_is_no_event_is_refused_and_named_by_its_place(payload: bytes) -> None:
    letter = letter_of(intake_subject("t", "p", "x"), payload, {}, 9)

    assert letter is not None
    assert letter.event_id == "sequence-9"
    with pytest.raises(InvalidSubmission):
        read_submission(letter, payload, {})


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(InvalidSubmission) as refusal:
        read(structured(cloud_event("chancery.intake.gift.v1", {})), "chancery.intake.gift.v1")

    assert (refusal.value.field, refusal.value.code) == ("type", "unknown_event_type")


@given(size=st.integers(TEXT_BYTES_MAX - 2, TEXT_BYTES_MAX + 2))
def test_a_text_may_have_128_kib(size: int) -> None:
    event = cloud_event(RevisionSubmitted.TYPE, {**REVISION, "text": "a" * size})
    received = Received(json.dumps(event).encode(), {})

    if size <= TEXT_BYTES_MAX:
        assert len(read(received, RevisionSubmitted.TYPE).data.text) == size
    else:
        with pytest.raises(InvalidSubmission, match=r"data\.text"):
            read(received, RevisionSubmitted.TYPE)


@pytest.fixture
async def edge() -> Edge:
    return await opened()


@pytest.mark.req("EV-9")
async def test_a_source_is_declared_published_and_withdrawn_by_its_sender(edge: Edge) -> None:
    declared = await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="e1")
    published = await edge.send(RevisionSubmitted.TYPE, REVISION, event_id="e2")
    await edge.send(WithdrawalSubmitted.TYPE, WITHDRAWAL, event_id="e3")

    kinds = [type(data) for data in edge.appended()]
    assert (kinds[0], kinds[-2], kinds[-1]) == (
        SourceDeclared,
        RevisionPublished,
        RevisionWithdrawn,
    )
    assert isinstance(declared.data, IntakeAccepted)
    assert declared.data.changed
    assert isinstance(published.data, IntakeAccepted)
    assert (published.data.revision, published.data.content_sha256) == (
        1,
        sha256_hex(TEXT.encode()),
    )
    assert published.envelope.actor == "desk"
    assert await edge.blobs.get("default", sha256_hex(TEXT.encode()), limit=100) == TEXT.encode()


@pytest.mark.req("EV-9")
@pytest.mark.parametrize(
    ("sender", "data", "code", "field"),
    [
        (("default", "desk"), {**SOURCE, "workspace_id": "other"}, "not_found", "workspace_id"),
        (("default", "desk"), {**SOURCE, "workspace_id": "none"}, "not_found", "workspace_id"),
        (("default", "reading"), SOURCE, "not_permitted", "workspace_id"),
        (("default", "nobody"), SOURCE, "unknown_principal", None),
        (("other", "desk"), SOURCE, "unknown_principal", None),
    ],
)
async def test_who_may_not_publish_there_is_told_so_and_nothing_is_applied(
    edge: Edge, sender: tuple[str, str], data: Mapping[str, Any], code: str, field: str | None
) -> None:
    outcome = await edge.send(SourceSubmitted.TYPE, data, sender=sender)

    assert isinstance(outcome.data, IntakeRejected)
    named = None if field is None else f"data.{field}"
    assert (outcome.data.code, outcome.data.field) == (code, named)
    assert (outcome.tenant, outcome.envelope.actor) == sender
    assert edge.appended() == []


@pytest.mark.req("EV-9")
async def test_a_revision_that_is_refused_stores_no_bytes(edge: Edge) -> None:
    await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="e1")
    refused = [
        await edge.send(
            RevisionSubmitted.TYPE, REVISION, event_id="e2", sender=("default", "reading")
        ),
        await edge.send(RevisionSubmitted.TYPE, {**REVISION, "text": "a\x00b"}, event_id="e3"),
        await edge.send(RevisionSubmitted.TYPE, {**REVISION, "text": " \n"}, event_id="e4"),
        await edge.send(
            RevisionSubmitted.TYPE, {**REVISION, "content_sha256": "0" * 64}, event_id="e5"
        ),
    ]

    found = [each.data for each in refused]
    assert [each.code for each in found if isinstance(each, IntakeRejected)] == [
        "not_permitted", "nul_byte", "empty_content", "invalid_submission",
    ]  # fmt: skip
    assert edge.blobs.stored == {}
    assert (await edge.send(RevisionSubmitted.TYPE, REVISION, event_id="e6")).data.TYPE.endswith(
        "accepted.v1"
    )


@pytest.mark.req("EV-9")
async def test_an_upload_is_published_by_who_uploaded_it_alone(edge: Edge) -> None:
    content = b"x" * (TEXT_BYTES_MAX + 1)
    place = upload_place("reading")
    sha256 = await edge.blobs.put_run("default", place, content)
    await edge.send(SourceSubmitted.TYPE, SOURCE, event_id="e1")
    data = {**WITHDRAWAL, "media_type": "text/plain", "content_sha256": sha256}

    refused = await edge.send(RevisionSubmitted.TYPE, data, event_id="e2")
    await edge.blobs.put_run("default", upload_place("desk"), content)
    taken = await edge.send(RevisionSubmitted.TYPE, data, event_id="e3")

    assert isinstance(refused.data, IntakeRejected)
    assert (refused.data.code, refused.data.field) == ("blob_not_found", "data.content_sha256")
    assert isinstance(taken.data, IntakeAccepted)
    assert taken.data.content_sha256 == sha256
    assert not await edge.blobs.exists("default", sha256, run=upload_place("desk"))


@pytest.mark.req("EV-9")
async def test_a_repeated_submission_changes_nothing(edge: Edge) -> None:
    first = await edge.send(SourceSubmitted.TYPE, SOURCE)
    before = len(edge.log.messages)

    again = await edge.send(SourceSubmitted.TYPE, SOURCE, again=True)
    later = await edge.send(SourceSubmitted.TYPE, SOURCE)

    assert again == later == first
    assert len(edge.outcomes.told) == 1
    assert len(edge.log.messages) == before


@pytest.mark.req("EV-9")
async def test_an_id_that_is_used_for_another_submission_is_refused(edge: Edge) -> None:
    await edge.send(SourceSubmitted.TYPE, SOURCE)
    before = len(edge.log.messages)

    outcome = await edge.send(SourceSubmitted.TYPE, {**SOURCE, "source_id": "s2"})

    assert isinstance(outcome.data, IntakeRejected)
    assert (outcome.data.code, outcome.data.field) == ("idempotency_key_reused", "id")
    assert len(edge.log.messages) == before


async def test_an_outcome_that_could_not_be_told_is_told_after_the_next_delivery(
    edge: Edge,
) -> None:
    edge.outcomes.failures = 1
    with pytest.raises(Unavailable):
        await edge.send(SourceSubmitted.TYPE, SOURCE)
    appended = edge.appended()

    outcome = await edge.send(SourceSubmitted.TYPE, SOURCE, again=True)

    assert isinstance(outcome.data, IntakeAccepted)
    assert outcome.data.changed
    assert edge.appended() == appended


def given_up(received: Received) -> ParkedMessage:
    """Return a message that failed too often, as the chassis parks it."""
    subject = intake_subject("default", "desk", SourceSubmitted.TYPE)
    headers = event_headers(received.headers)
    return ParkedMessage(
        stream=INTAKE,
        consumer=INGESTION_INTAKE,
        stored=Stored(3, subject, received.payload, NOW, None, headers),
        reason="retries_exhausted",
        attempts=40,
        tenant="default",
    )


@pytest.mark.req("EV-7", "EV-9")
@pytest.mark.parametrize(
    ("received", "told_under"),
    [
        (structured(cloud_event(SourceSubmitted.TYPE, SOURCE)), "e1"),
        (binary(cloud_event(SourceSubmitted.TYPE, SOURCE)), "e1"),
        (binary(cloud_event(SourceSubmitted.TYPE, {**SOURCE, "id": "of-another"})), "e1"),
        (binary(cloud_event(SourceSubmitted.TYPE, {"id": "of-another"}, id="a b")), "sequence-3"),
        (structured(cloud_event(SourceSubmitted.TYPE, {"id": "of-another"}, id=7)), "sequence-3"),
        (Received(b'{"id": "of-another"}', {"ce-specversion": "1.0"}), "sequence-3"),
    ],
)
async def test_what_failed_too_often_is_told_under_its_own_id_and_not_kept(
    edge: Edge, received: Received, told_under: str
) -> None:
    await RejectingParking(edge.intake).park(given_up(received))

    told = edge.outcomes.told[-1]
    assert isinstance(told.data, IntakeRejected)
    assert (told.envelope.subject, told.data.code) == (told_under, "retries_exhausted")
    assert SOURCE["title"].encode() not in encode(told)


@given(
    attributes=st.dictionaries(
        st.sampled_from(sorted(EVENT_HEADERS | {"Ce-Id", "CE-TYPE", "ce-extra", "Nats-Msg-Id"})),
        st.one_of(st.just("1.0"), st.just(SourceSubmitted.TYPE), st.text("ab%2", max_size=6)),
    ),
    has_id=st.booleans(),
)
def test_what_is_kept_of_the_headers_says_the_same_as_all_of_them(
    attributes: dict[str, str], *, has_id: bool
) -> None:
    payload = json.dumps({**SOURCE, **({"id": "of-another"} if has_id else {})}).encode()
    subject = intake_subject("default", "desk", SourceSubmitted.TYPE)
    kept = event_headers(attributes)
    letter = letter_of(subject, payload, attributes, 3)

    assert letter_of(subject, payload, kept, 3) == letter
    assert letter is not None
    assert _said(letter, payload, kept) == _said(letter, payload, attributes)


def _said(letter: Letter, payload: bytes, headers: Mapping[str, str]) -> object:
    try:
        return read_submission(letter, payload, headers)
    except InvalidSubmission as refusal:
        return (refusal.code, refusal.field, refusal.detail)
