"""Every example that was ever written is read, and the largest event of each type is small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chancery.events.codec import MODELS, UPCASTERS, decode, encode
from chancery.events.envelope import SIZE_BYTES_MAX
from chancery.kernel.canonical import canonical_bytes
from chancery.testkit.contracts import examples
from chancery.testkit.contracts.samples import ESCAPED
from chancery.testkit.contracts.schemas import event_schema, short_name
from tests.contract.validity import mistakes

CONTRACTS = Path(__file__).parents[2] / "contracts"
WRITTEN = examples.read(CONTRACTS)


@pytest.mark.req("EV-2", "EV-4")
@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_an_example_is_read_as_it_was_written(name: str) -> None:
    content = WRITTEN[name]

    assert examples.unreadable(content) is None
    assert decode(encode(decode(content))) == decode(content)


@pytest.mark.req("EV-2")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_each_type_has_a_smallest_and_a_largest_example_that_its_schema_allows(name: str) -> None:
    schema = event_schema(MODELS[name])

    for size in ("minimal", "largest"):
        event = json.loads(WRITTEN[f"examples/{short_name(name)}/{size}.json"])

        assert mistakes(schema, event) == []
        assert mistakes(schema, {**event, "addedlater": 1}) == []
        assert mistakes(schema, {**event, "type": "chancery.other.happened.v1"})


@pytest.mark.req("EV-2")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_largest_valid_event_is_below_256_kib(name: str) -> None:
    # Control characters take six bytes each in JSON: nothing valid is wider.
    largest = examples.largest(MODELS[name], ESCAPED)

    read_back = encode(decode(largest))
    assert max(len(largest), len(read_back)) < SIZE_BYTES_MAX
    assert name in UPCASTERS or len(read_back) == len(largest)


def test_an_example_that_lost_its_type_or_a_bound_is_named() -> None:
    name = "examples/run.expired.v1/minimal.json"
    event = json.loads(WRITTEN[name])
    data = event["data"]
    wrong = [
        {**event, "type": "chancery.run.vanished.v1"},
        {**event, "data": {**data, "generation": 0}},
        {**event, "data": {**data, "gone": 1}},
        {**event, "time": "2026-01-02T04:04:05.678901+01:00"},
    ]

    reasons = [examples.unreadable(canonical_bytes(item)) for item in wrong]

    assert all(reason is not None for reason in reasons), reasons
    assert examples.unreadable(canonical_bytes(event)) is None
    assert examples.unreadable(WRITTEN[name] + b" " * SIZE_BYTES_MAX) is not None


def test_an_example_without_a_field_added_since_is_read_as_it_was_written() -> None:
    event = json.loads(WRITTEN["examples/run.gathered.v1/minimal.json"])

    assert "passages" not in event["data"]
    assert b'"passages"' in encode(decode(canonical_bytes(event)))
    assert examples.unreadable(canonical_bytes(event)) is None


@pytest.mark.req("EV-2")
def test_an_example_that_is_there_is_never_written_again(tmp_path: Path) -> None:
    made = {"examples/a/minimal.json": b"old"}
    examples.add(tmp_path, made)

    examples.add(tmp_path, {"examples/a/minimal.json": b"new", "examples/a/more.json": b"more"})

    assert examples.read(tmp_path) == {**made, "examples/a/more.json": b"more"}
