"""Finds the lists of a model that are read to their end when their entries are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Final, TypeAlias, cast

from pydantic import BaseModel

Node: TypeAlias = "dict[str, Node] | list[Node] | str | None"
"""A part of the schema of the validator."""

_LISTS: Final = frozenset({"list", "set", "frozenset", "generator"})
_LEFT_OUT: Final = frozenset({"metadata", "serialization"})
"""What of a schema says nothing about reading."""


def read_to_their_end(model: type[BaseModel]) -> list[str]:
    """Return the lists of a model that make an error of each wrong entry.

    Each is told by the names of the fields that lead to it.
    """
    schema = cast("Node", model.__pydantic_core_schema__)
    return sorted(set(_found(schema, "", set())))


def models_of(home: ModuleType) -> list[type[BaseModel]]:
    """Return the models that a module defines."""
    values: list[object] = list(vars(home).values())
    classes = [each for each in values if isinstance(each, type)]
    return [
        each for each in classes if issubclass(each, BaseModel) and each.__module__ == home.__name__
    ]


def _found(schema: Node, place: str, seen: set[int]) -> Iterator[str]:
    if id(schema) in seen:
        return
    seen.add(id(schema))
    if isinstance(schema, dict) and not _takes_everything(schema):
        if _is_list(schema) and not schema.get("fail_fast"):
            yield place
        for name, inner in schema.items():
            is_field = isinstance(inner, dict) and inner.get("type") == "model-field"
            if name not in _LEFT_OUT:
                yield from _found(inner, f"{place}.{name}" if is_field else place, seen)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _found(inner, place, seen)


def _takes_everything(schema: dict[str, Node]) -> bool:
    """Tell whether any JSON fits: no entry of it is wrong."""
    return "JsonValue" in str(schema.get("ref", ""))


def _is_list(schema: dict[str, Node]) -> bool:
    kind = schema.get("type")
    if kind == "tuple":
        return schema.get("variadic_item_index") is not None
    return isinstance(kind, str) and kind in _LISTS
