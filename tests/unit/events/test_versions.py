"""Events of an older version are read as the newest one says it; their bounds still hold."""

from __future__ import annotations

import json

import pytest

from chancery.events import authority_knowledge, index, index_v1, intake
from chancery.events.authority_knowledge import EvidenceRoot, evidence_hash, ordered
from chancery.events.codec import MODELS, UPCASTERS, UndecodableEvent, decode, encode
from chancery.events.envelope import EventData
from chancery.testkit.contracts.examples import largest, smallest

PAIRS = tuple(zip(index_v1.MODELS, index.MODELS, strict=True))


@pytest.mark.req("EV-4")
@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda model: model.TYPE)
def test_an_index_event_of_version_1_is_read_as_version_2(
    old: type[EventData], new: type[EventData]
) -> None:
    for written in (smallest(old), largest(old)):
        event = decode(written)

        assert type(event.data) is new
        assert event.envelope.type == new.TYPE
        assert json.loads(encode(event))["data"] == json.loads(written)["data"]
        assert decode(encode(event)) == event


@pytest.mark.req("EV-4")
@pytest.mark.req("EV-9")
def test_a_submission_of_version_1_is_read_as_version_2() -> None:
    revision = decode(smallest(intake.RevisionSubmitted)).data
    withdrawal = decode(smallest(intake.WithdrawalSubmitted)).data

    said = json.loads(smallest(intake.WithdrawalSubmitted))["data"]
    assert isinstance(revision, intake.DocumentSubmitted)
    assert isinstance(withdrawal, intake.ResourceWithdrawalSubmitted)
    assert (withdrawal.kind, withdrawal.resource_id) == ("source", said["source_id"])


@pytest.mark.req("EV-4")
def test_both_versions_of_one_event_say_the_same() -> None:
    old = smallest(index_v1.RevisionReady)
    new = json.loads(old)
    new["type"] = index.RevisionReady.TYPE

    assert decode(old) == decode(json.dumps(new).encode())


def test_version_1_keeps_its_bounds() -> None:
    fields = json.loads(smallest(index_v1.RevisionReady))
    fields["data"]["kind"] = "item"

    with pytest.raises(UndecodableEvent) as caught:
        decode(json.dumps(fields).encode())
    fields["type"] = index.RevisionReady.TYPE
    event = decode(json.dumps(fields).encode())

    assert caught.value.code == "invalid_event"
    assert isinstance(event.data, index.RevisionReady)
    assert event.data.kind == "item"


@pytest.mark.req("EV-4")
@pytest.mark.parametrize("model", [*authority_knowledge.MODELS, *index.MODELS])
def test_a_newer_version_or_a_missing_field_is_refused_not_guessed(
    model: type[EventData],
) -> None:
    fields = json.loads(smallest(model))
    newer = {**fields, "type": model.TYPE.rpartition(".")[0] + ".v9"}
    cases = [(newer, "unknown_event_type")]
    if fields["data"]:
        first = min(fields["data"])
        data = {key: value for key, value in fields["data"].items() if key != first}
        cases.append(({**fields, "data": data}, "invalid_event"))

    for event, code in cases:
        with pytest.raises(UndecodableEvent) as caught:
            decode(json.dumps(event).encode())
        assert caught.value.code == code
    assert type(decode(json.dumps(fields).encode()).data) is model


def test_every_upcast_leads_to_a_type_that_is_written() -> None:
    for old, (new, _) in UPCASTERS.items():
        assert old in MODELS
        assert new in MODELS
        assert new not in UPCASTERS


@pytest.mark.req("CR-3")
def test_the_hash_of_evidence_does_not_depend_on_the_order_it_was_named_in() -> None:
    first = EvidenceRoot(kind="source", key="a", id="a", revision=1, content_sha256="0" * 64)
    second = EvidenceRoot(kind="dataset", key="b", id="b", revision=2, content_sha256="1" * 64)
    newer = first.model_copy(update={"revision": 2})

    assert ordered((first, second)) == (second, first)
    assert evidence_hash((first, second)) == evidence_hash((second, first))
    assert len({evidence_hash(each) for each in ((), (first,), (newer,), (first, second))}) == 4
