"""The builder reaches the bounds of a schema, and says when there is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.codec import MODELS
from chancery.testkit.contracts.samples import Sampler, Unbounded
from chancery.testkit.contracts.schemas import event_schema
from tests.contract.validity import mistakes


def build(schema: dict[str, Any], percent: int = 100) -> object:
    """Return the sample of a schema without definitions."""
    return Sampler({}, percent, "x").value(schema)


def test_the_largest_value_reaches_each_bound() -> None:
    text = {"type": "string", "minLength": 1, "maxLength": 4}
    schema = {
        "type": "object",
        "properties": {"texts": {"type": "array", "maxItems": 2, "items": text}},
    }

    assert build(schema) == {"texts": ["xxxx", "xxxx"]}
    assert build({"type": "integer", "maximum": 7}) == 7
    assert build({"enum": ["a", "abc", "ab"]}) == "abc"
    assert build({"anyOf": [{"type": "null"}, text]}) == "xxxx"


def test_the_smallest_value_has_only_what_is_required() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"type": "boolean"}},
        "required": ["a"],
    }

    assert build(schema, 0) == {"a": 3}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "array", "items": {"type": "boolean"}},
        {"type": "object", "additionalProperties": {"type": "boolean"}},
        {"type": "string", "pattern": "^never seen$"},
        {"type": "number"},
    ],
)
def test_a_schema_without_a_bound_is_reported(schema: dict[str, Any]) -> None:
    with pytest.raises(Unbounded):
        build(schema)


@given(name=st.sampled_from(sorted(MODELS)), percent=st.integers(0, 100))
def test_each_sample_of_an_event_is_valid_by_its_schema(name: str, percent: int) -> None:
    schema = event_schema(MODELS[name])
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)

    sample = Sampler(definitions, min(percent, 4), "x").value(schema)

    assert mistakes(schema, sample) == []
