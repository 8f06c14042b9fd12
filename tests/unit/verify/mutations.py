"""Every way to change one place of a JSON document: leaves, fields and items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from chancery.kernel.canonical import Json

Path: TypeAlias = "tuple[str | int, ...]"


def leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield each path with its value, the containers left out."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def containers(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield each object and array with its path."""
    if isinstance(value, Mapping):
        yield path, value
        for key, item in value.items():
            yield from containers(item, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield path, value
        for index, item in enumerate(value):
            yield from containers(item, (*path, index))


def replaced(value: Json, path: Path, new: Json) -> Json:
    """Return `value` with `new` at `path`."""
    if not path:
        return new
    if isinstance(value, Mapping):
        return {k: replaced(v, path[1:], new) if k == path[0] else v for k, v in value.items()}
    assert isinstance(value, Sequence)
    assert not isinstance(value, str)
    return [replaced(v, path[1:], new) if i == path[0] else v for i, v in enumerate(value)]


def changed_leaf(value: Json) -> Iterator[Json]:
    """Yield other values of the same type, and then of another."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
            yield float(value) + 0.5
        case str() if value:
            yield _other_character(value, 0)
            yield _other_character(value, len(value) - 1)
            yield value[:-1]
            yield value + value[-1]
        case _:
            yield "x"
            yield 1
    yield None if value is not None else []


def without_one(container: Json) -> Iterator[Json]:
    """Yield the container without each of its fields or items."""
    if isinstance(container, Mapping):
        for gone in container:
            yield {key: item for key, item in container.items() if key != gone}
    elif isinstance(container, Sequence) and not isinstance(container, str):
        for gone in range(len(container)):
            yield [*container[:gone], *container[gone + 1 :]]


def with_one_more(container: Json) -> Iterator[Json]:
    """Yield the container with an unknown field, or with an item twice and turned around."""
    if isinstance(container, Mapping):
        yield {**container, "unknown": 1}
    elif isinstance(container, Sequence) and not isinstance(container, str):
        yield [*container, *(container[:1] or ["x"])]
        if list(container) != list(reversed(container)):
            yield list(reversed(container))


def _other_character(text: str, place: int) -> str:
    other = "0" if text[place] != "0" else "1"
    return text[:place] + other + text[place + 1 :]
