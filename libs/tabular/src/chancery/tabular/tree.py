"""Reading JSON trees whose shape was validated before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chancery.kernel.canonical import Json
from chancery.kernel.errors import Corrupt


def as_object(value: Json) -> Mapping[str, Json]:
    """Return `value`, which must be an object."""
    if isinstance(value, Mapping):
        return value
    raise _malformed()


def as_items(value: Json) -> Sequence[Json]:
    """Return `value`, which must be an array."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    raise _malformed()


def as_text(value: Json) -> str:
    """Return `value`, which must be a string."""
    if isinstance(value, str):
        return value
    raise _malformed()


def as_integer(value: Json) -> int:
    """Return `value`, which must be an integer."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _malformed()


def texts(value: Json) -> tuple[str, ...]:
    """Return `value`, which must be an array of strings."""
    return tuple(as_text(each) for each in as_items(value))


def objects_within(value: Json) -> Iterator[Mapping[str, Json]]:
    """Yield every object in `value`, itself first."""
    pending: list[Json] = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            yield current
            pending.extend(current.values())
        elif isinstance(current, Sequence) and not isinstance(current, str):
            pending.extend(current)


def own_objects(query: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Yield the objects in a query node, but not those of the queries nested in it."""
    pending: list[Json] = list(query.values())
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            if str(current.get("type")).endswith("_NODE"):
                continue
            yield current
            pending.extend(current.values())
        elif isinstance(current, Sequence) and not isinstance(current, str):
            pending.extend(current)


def _malformed() -> Corrupt:
    message = "a validated tree has an unexpected shape"
    return Corrupt(message, code="malformed_tree")
