"""Builds the smallest and the largest value that a JSON Schema of ours allows.

The largest is as large as the schema allows, so a schema without a bound is a mistake that this
module reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chancery.events.authority import LINE_PATTERN
from chancery.kernel.canonical import SAFE_INTEGER_MAX, Json, canonical_bytes

WIDEST: Final = "\U0001d11e"
"""A character of four bytes in UTF-8, as wide as a printable one gets."""

ESCAPED: Final = "\x01"
"""A control character: six bytes in JSON, wider than any other."""

MOMENT: Final = "2026-01-02T03:04:05.678901Z"
_KNOWN: Final[Mapping[str, tuple[str, str]]] = {
    r"^[A-Za-z0-9_-]{1,64}$": ("a", "Z" * 64),
    r"^(group:)?[A-Za-z0-9_-]{1,64}$": ("a", "group:" + "Z" * 64),
    r"^[0-9a-f]{64}$": ("0" * 64, "f" * 64),
    r"^[a-z0-9_]{1,64}$": ("a", "z" * 64),
    r"^[a-z0-9_.-]{1,64}$": ("a", "z" * 64),
    r"^\d{4}-\d{2}-\d{2}$": ("2026-01-02", "2026-12-31"),
}
"""The shortest and the longest text of each pattern that bounds its own length."""


class Unbounded(AssertionError):
    """A text, list or mapping of a message has no bound, so the message has none either."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """Builds values for schemas whose references stand in `definitions`.

    `percent` 0 builds the smallest value; 100 the largest, anything between scales every length.
    `character` fills texts that allow it.
    """

    definitions: Mapping[str, Json]
    percent: int
    character: str = WIDEST

    def value(self, schema: Json) -> Json:
        """Return a value that `schema` allows."""
        node = self._resolved(schema)
        if "const" in node:
            return node["const"]
        if "enum" in node:
            return self._longest(list(_sequence(node["enum"])))
        for union in ("oneOf", "anyOf"):
            if union in node:
                return self._longest([self.value(item) for item in _sequence(node[union])])
        return self._typed(node)

    def _typed(self, node: Mapping[str, Json]) -> Json:
        match node.get("type"):
            case "object":
                return self._object(node)
            case "array":
                return [self.value(node["items"])] * self._length(node, "Items")
            case "string":
                return self._text(node)
            case "integer":
                return _number(node, "minimum", 0) if self.percent == 0 else self._top(node)
            case "boolean":
                return False
            case "null":
                return None
            case other:
                message = f"no sample is known for the type {other!r}"
                raise Unbounded(message)

    def _object(self, node: Mapping[str, Json]) -> Json:
        properties = _mapping(node.get("properties", {}))
        required = set(_sequence(node.get("required", ())))
        built = {
            name: self.value(item)
            for name, item in properties.items()
            if self.percent > 0 or name in required
        }
        if isinstance(node.get("additionalProperties"), Mapping):
            return built | self._entries(node)
        return built

    def _entries(self, node: Mapping[str, Json]) -> dict[str, Json]:
        """Return the entries of a mapping; a number makes each key another one."""
        key = self._text(_mapping(node.get("propertyNames", {})))
        names = [f"{n:03}{key[3:]}" for n in range(self._length(node, "Properties"))]
        return {name: self.value(node["additionalProperties"]) for name in names}

    def _text(self, node: Mapping[str, Json]) -> str:
        if node.get("format") == "date-time":
            return MOMENT
        pattern = node.get("pattern")
        if isinstance(pattern, str) and pattern != LINE_PATTERN:
            if pattern not in _KNOWN:
                message = f"add the shortest and the longest text of {pattern!r} to samples.py"
                raise Unbounded(message)
            return _KNOWN[pattern][0 if self.percent == 0 else 1]
        fill = WIDEST if pattern == LINE_PATTERN else self.character
        return ("a" if self.percent == 0 else fill) * self._length(node, "Length")

    def _length(self, node: Mapping[str, Json], what: str) -> int:
        maximum = node.get(f"max{what}")
        least = _number(node, f"min{what}", 0)
        if self.percent == 0:
            return least
        if not isinstance(maximum, int):
            message = f"a {node.get('type')} of a message needs a max{what}"
            raise Unbounded(message)
        return max(least, maximum * self.percent // 100)

    def _top(self, node: Mapping[str, Json]) -> int:
        return _number(node, "maximum", SAFE_INTEGER_MAX)

    def _longest(self, values: Sequence[Json]) -> Json:
        if self.percent == 0:
            return values[0]
        return max(values, key=lambda value: len(canonical_bytes(value)))

    def _resolved(self, schema: Json) -> Mapping[str, Json]:
        node = _mapping(schema)
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return node
        return _mapping(self.definitions[reference.rpartition("/")[2]])


def _number(node: Mapping[str, Json], key: str, default: int) -> int:
    value = node.get(key, default)
    assert isinstance(value, int)
    return value


def _mapping(value: Json) -> Mapping[str, Json]:
    assert isinstance(value, Mapping)
    return value


def _sequence(value: Json) -> Sequence[Json]:
    assert isinstance(value, Sequence)
    return value
