"""Records are encoded without looking for floating-point numbers, so they may hold none."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping

import pytest
from pydantic import BaseModel, JsonValue, TypeAdapter

import chancery.events
import chancery.evidence
from chancery.events.envelope import EventData
from chancery.evidence.record import Record
from chancery.kernel.canonical import Json

_NAMED = ("properties", "$defs")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


class _Measured(Record):
    weight: float


class _Free(Record):
    anything: dict[str, JsonValue]


def _models(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in kind.__subclasses__():
        yield model
        yield from _models(model)


def _own_models() -> list[type[BaseModel]]:
    for package in (chancery.evidence, chancery.events):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    found = {*_models(Record), *_models(EventData)}
    return sorted((each for each in found if each.__module__.startswith("chancery.")), key=str)


def _may_hold_floats(model: type[BaseModel]) -> bool:
    schema: Json = TypeAdapter(model).json_schema()
    return any(_is_open(each) for each in _schemas(schema))


def _schemas(schema: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(schema, Mapping):
        yield schema
        inside = [part for key in _NAMED for part in _values(schema.get(key))]
        inside += [part for key in _LISTED for part in _items(schema.get(key))]
        for each in (*inside, schema.get("items"), schema.get("additionalProperties")):
            yield from _schemas(each)


def _values(schemas: Json) -> Iterable[Json]:
    return schemas.values() if isinstance(schemas, Mapping) else ()


def _items(schemas: Json) -> Iterable[Json]:
    return schemas if isinstance(schemas, list) else ()


def _is_open(schema: Mapping[str, Json]) -> bool:
    """Tell whether a value of this schema can be a number that is no integer."""
    says_something = {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} & set(schema)
    return schema.get("type") == "number" or not says_something


@pytest.mark.parametrize("model", _own_models(), ids=lambda model: model.__name__)
def test_no_record_or_event_holds_floats_unless_it_encodes_with_care(
    model: type[BaseModel],
) -> None:
    takes_care = issubclass(model, Record) and model.to_bytes is not Record.to_bytes

    assert takes_care or not _may_hold_floats(model)


@pytest.mark.parametrize("model", [_Measured, _Free])
def test_a_field_that_could_hold_one_would_be_seen(model: type[BaseModel]) -> None:
    assert _may_hold_floats(model)
