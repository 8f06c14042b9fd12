"""Within one version of an event only optional fields are added: finds every other change.

Both directions count. A narrowed bound leaves old events unreadable; a widened one, or a new member
of a closed set, is refused by the readers of the release before, which run beside the new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chancery.kernel.canonical import Json

_LOWER: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_UPPER: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "$defs", "$comment", "title", "description", "examples", "discriminator"}
)
_SPOKEN_OF: Final = frozenset({"properties", "required", "enum", "items", "oneOf", "anyOf"})
_BELOW: Final = frozenset({"additionalProperties", "propertyNames"})


@dataclass(frozen=True, slots=True, order=True)
class Break:
    """A change that needs a new version: where it is, and which rule it breaks."""

    place: str
    rule: str


@dataclass(frozen=True, slots=True)
class _Side:
    """One schema together with the definitions that its references name."""

    definitions: Mapping[str, Json]
    node: Mapping[str, Json]

    def at(self, value: Json) -> _Side:
        """Return the side of a schema inside this one, its reference followed."""
        node = _mapping(value)
        reference = node.get("$ref")
        if isinstance(reference, str):
            target = _mapping(self.definitions[reference.rpartition("/")[2]])
            node = {**target, **{key: node[key] for key in node if key != "$ref"}}
        return _Side(self.definitions, node)


def breaks(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[Break]:
    """Return what makes `new` more than `old` with optional fields added; empty when nothing."""
    before = _Side(_mapping(old.get("$defs", {})), old)
    after = _Side(_mapping(new.get("$defs", {})), new)
    return sorted(set(_compare("", before, after)))


def removed(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the schemas that are gone: a type that was on the log is read for ever."""
    return sorted(set(old) - set(new))


def _compare(place: str, old: _Side, new: _Side) -> Iterator[Break]:
    yield from _values(place, old.node, new.node)
    yield from _members(place, old.node, new.node)
    yield from _fields(place, old, new)
    for union in ("oneOf", "anyOf"):
        yield from _variants(place, union, old, new)
    if "items" in old.node and "items" in new.node:
        yield from _compare(f"{place}[]", old.at(old.node["items"]), new.at(new.node["items"]))
    for keyword in sorted(_BELOW):
        yield from _inner(place, keyword, old, new)


def _values(place: str, old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[Break]:
    """Compare every keyword that holds a plain value."""
    for keyword in sorted((old.keys() | new.keys()) - _ANNOTATIONS - _SPOKEN_OF - _BELOW):
        before, after = old.get(keyword), new.get(keyword)
        if before == after and (keyword in old) == (keyword in new):
            continue
        yield Break(place, f"{keyword} {_direction(keyword, before, after)}")


def _direction(keyword: str, before: Json, after: Json) -> str:
    if keyword not in _LOWER | _UPPER:
        return "changed"
    if not isinstance(before, int | float):
        return "narrowed"
    if not isinstance(after, int | float):
        return "widened"
    return "narrowed" if (after > before) == (keyword in _LOWER) else "widened"


def _members(place: str, old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[Break]:
    before, after = _texts(old.get("enum", ())), _texts(new.get("enum", ()))
    yield from (Break(place, f"enum member {name!r} removed") for name in sorted(before - after))
    yield from (Break(place, f"enum member {name!r} added") for name in sorted(after - before))


def _fields(place: str, old: _Side, new: _Side) -> Iterator[Break]:
    before, after = (_mapping(side.node.get("properties", {})) for side in (old, new))
    needed, needs = (_texts(side.node.get("required", ())) for side in (old, new))
    for name in sorted(before.keys() | after.keys()):
        here = f"{place}.{name}".lstrip(".")
        if name not in after:
            yield Break(here, "field removed")
        elif name not in before:
            if name in needs:
                yield Break(here, "required field added")
        else:
            if (name in needed) != (name in needs):
                yield Break(here, f"field became {'required' if name in needs else 'optional'}")
            yield from _compare(here, old.at(before[name]), new.at(after[name]))


def _variants(place: str, union: str, old: _Side, new: _Side) -> Iterator[Break]:
    before, after = (_sequence(side.node.get(union, ())) for side in (old, new))
    if len(before) != len(after):
        yield Break(place, "variant removed" if len(before) > len(after) else "variant added")
        return
    for number, (left, right) in enumerate(zip(before, after, strict=True), start=1):
        here = f"{place}|{number}" if len(before) > 1 else place
        yield from _compare(here, old.at(left), new.at(right))


def _inner(place: str, keyword: str, old: _Side, new: _Side) -> Iterator[Break]:
    before, after = old.node.get(keyword), new.node.get(keyword)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare(f"{place}{{{keyword}}}", old.at(before), new.at(after))
    elif before != after:
        yield Break(place, f"{keyword} changed")


def _texts(value: Json) -> set[str]:
    return {str(item) for item in _sequence(value)}


def _mapping(value: Json) -> Mapping[str, Json]:
    assert isinstance(value, Mapping)
    return value


def _sequence(value: Json) -> Sequence[Json]:
    assert isinstance(value, Sequence)
    return value
