"""Each rule of compatibility bites, and an added optional field passes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from chancery.testkit.contracts.compatibility import breaks, removed

Change = Callable[[dict[str, Any]], object]


def schema() -> dict[str, Any]:
    """Return a schema with every construct that events use."""
    return {
        "title": "chancery.thing.happened.v1",
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^a+$"},
            "name": {"type": "string", "minLength": 1, "maxLength": 9},
            "count": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
            "role": {"enum": ["reader", "admin"], "type": "string"},
            "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
            "parts": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/Part"}},
            "by_name": {
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/Part"},
                "propertyNames": {"maxLength": 64},
            },
            "fact": {"oneOf": [{"$ref": "#/$defs/Part"}, {"$ref": "#/$defs/Other"}]},
        },
        "required": ["id", "role"],
        "$defs": {
            "Part": {"type": "object", "properties": {"key": {"type": "string"}}},
            "Other": {"type": "object", "properties": {"kind": {"const": "other"}}},
        },
    }


def changed(change: Change) -> list[tuple[str, str]]:
    """Return the breaks between the schema and a changed copy."""
    new = copy.deepcopy(schema())
    change(new)
    return [(item.place, item.rule) for item in breaks(schema(), new)]


INCOMPATIBLE: list[tuple[Change, str, str]] = [
    (lambda new: new["properties"].pop("name"), "name", "field removed"),
    (
        lambda new: (new["properties"].update(x={}), new["required"].append("x")),
        "x",
        "required field added",
    ),
    (lambda new: new["required"].append("name"), "name", "field became required"),
    (lambda new: new["required"].remove("id"), "id", "field became optional"),
    (lambda new: new["properties"]["name"].update(type="integer"), "name", "type changed"),
    (lambda new: new["properties"]["id"].update(pattern="^b+$"), "id", "pattern changed"),
    (lambda new: new["properties"]["id"].pop("pattern"), "id", "pattern changed"),
    (lambda new: new["properties"]["name"].update(format="date"), "name", "format changed"),
    (lambda new: new["properties"]["count"].update(default=3), "count", "default changed"),
    (lambda new: new["properties"]["name"].update(maxLength=8), "name", "maxLength narrowed"),
    (lambda new: new["properties"]["name"].update(maxLength=10), "name", "maxLength widened"),
    (lambda new: new["properties"]["name"].pop("maxLength"), "name", "maxLength widened"),
    (lambda new: new["properties"]["id"].update(maxLength=4), "id", "maxLength narrowed"),
    (lambda new: new["properties"]["name"].update(minLength=2), "name", "minLength narrowed"),
    (lambda new: new["properties"]["name"].update(minLength=0), "name", "minLength widened"),
    (lambda new: new["properties"]["count"].update(minimum=2), "count", "minimum narrowed"),
    (lambda new: new["properties"]["count"].update(maximum=4), "count", "maximum narrowed"),
    (lambda new: new["properties"]["parts"].update(maxItems=2), "parts", "maxItems narrowed"),
    (
        lambda new: new["properties"]["role"].update(enum=["admin"]),
        "role",
        "enum member 'reader' removed",
    ),
    (
        lambda new: new["properties"]["role"]["enum"].append("owner"),
        "role",
        "enum member 'owner' added",
    ),
    (lambda new: new["properties"]["note"]["anyOf"].pop(), "note", "variant removed"),
    (lambda new: new["properties"]["fact"]["oneOf"].append({}), "fact", "variant added"),
    (
        lambda new: new["properties"]["note"]["anyOf"][0].update(maxLength=4),
        "note|1",
        "maxLength narrowed",
    ),
    (
        lambda new: new["$defs"]["Other"]["properties"]["kind"].update(const="else"),
        "fact|2.kind",
        "const changed",
    ),
    (
        lambda new: new["properties"]["by_name"]["propertyNames"].update(maxLength=9),
        "by_name{propertyNames}",
        "maxLength narrowed",
    ),
    (
        lambda new: new["properties"]["by_name"].update(additionalProperties=False),
        "by_name",
        "additionalProperties changed",
    ),
    (lambda new: new.update(additionalProperties=False), "", "additionalProperties changed"),
]


@pytest.mark.req("EV-2")
@pytest.mark.parametrize(("change", "place", "rule"), INCOMPATIBLE)
def test_a_change_that_needs_a_new_version_is_named(change: Change, place: str, rule: str) -> None:
    assert changed(change) == [(place, rule)]


@pytest.mark.req("EV-2")
def test_a_change_in_a_shared_definition_is_named_at_each_use() -> None:
    found = changed(lambda new: new["$defs"]["Part"]["properties"]["key"].update(maxLength=3))

    assert {place for place, _ in found} == {
        "parts[].key",
        "by_name{additionalProperties}.key",
        "fact|1.key",
    }


COMPATIBLE: list[Change] = [
    lambda new: None,
    lambda new: new["properties"].update(added={"type": "string", "default": "x"}),
    lambda new: new["$defs"]["Part"]["properties"].update(added={"type": "integer"}),
    lambda new: new.update(title="Another title", description="Told better."),
    lambda new: new["properties"]["name"].update(description="What people call it."),
    lambda new: new["properties"]["role"]["enum"].reverse(),
]


@pytest.mark.req("EV-2")
@pytest.mark.parametrize("change", COMPATIBLE)
def test_an_added_optional_field_or_a_better_description_passes(change: Change) -> None:
    assert changed(change) == []


def test_a_field_called_required_or_enum_is_a_field() -> None:
    new = copy.deepcopy(schema())
    new["properties"].update(required={"type": "boolean"}, enum={"type": "string"})

    assert breaks(schema(), new) == []
    assert [item.rule for item in breaks(new, schema())] == ["field removed", "field removed"]


def test_a_removed_schema_is_named() -> None:
    assert removed(["a", "b"], ["b", "c"]) == ["a"]
    assert removed(["a"], ["a"]) == []
