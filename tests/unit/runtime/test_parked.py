"""What is told of a parked message: ids, numbers and hashes, whatever it holds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.client.command.parked import Wanted, parse_name
from chancery.events.topology import CONSUMERS, PARKING, Consumer
from chancery.kernel.errors import Rejected
from chancery.runtime.parked import parked_id, redacted

pytestmark = pytest.mark.req("EV-7")

SENTENCE = "Mara Lindt owns the reviews."
NAMES = ("id", "type", "subject", "actor", "tenant", "note", "run_id", "text", "content_sha256")


@given(st.lists(st.sampled_from(NAMES), min_size=1, unique=True), st.booleans())
def test_no_sentence_of_a_message_is_told_wherever_it_stands(
    names: list[str], is_inside: bool
) -> None:
    fields: dict[str, object] = dict.fromkeys(names, SENTENCE)
    payload = json.dumps({"data": fields} if is_inside else fields).encode()

    assert SENTENCE in payload.decode()
    assert redacted(payload) == {}


@given(st.binary(max_size=50))
def test_any_bytes_can_be_told_about(payload: bytes) -> None:
    told = redacted(payload)

    assert all(value and " " not in value for value in told.values())


def test_ids_numbers_and_hashes_are_told() -> None:
    data = {"run_id": "r1", "generation": 2, "content_sha256": "a" * 64, "text": "secret"}
    payload = json.dumps({"id": "e1", "type": "chancery.run.admitted.v1", "data": data}).encode()

    assert redacted(payload) == {
        "id": "e1",
        "type": "chancery.run.admitted.v1",
        "data.run_id": "r1",
        "data.generation": "2",
        "data.content_sha256": "a" * 64,
    }


@given(st.sampled_from(CONSUMERS), st.integers(1, 2**53))
def test_a_name_leads_back_to_its_message(consumer: Consumer, sequence: int) -> None:
    service, place = parse_name(parked_id(consumer.name, sequence))

    assert (service, place.consumer, place.sequence) == (consumer.service, consumer.name, sequence)


@pytest.mark.parametrize(
    "name", ["", "release-proposed", "release-proposed-0", "other-7", "x-\u0663"]
)
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_name(name)

    assert caught.value.code == "invalid_name"


def test_only_the_owner_of_a_consumer_is_asked() -> None:
    assert Wanted().services == PARKING
    assert Wanted(service="release").services == ("release",)
    assert Wanted(consumer="retrieval-runs").services == ("retrieval",)
    assert Wanted(service="release", consumer="retrieval-runs").services == ()
    with pytest.raises(Rejected, match="--service is one of"):
        Wanted(service="ingestion").check()
    with pytest.raises(Rejected, match="no consumer"):
        Wanted(consumer="nobody").check()
