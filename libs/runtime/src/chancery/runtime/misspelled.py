"""A field that nobody knows, and the one that was probably meant: only names of ours are told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Final, Union, get_args, get_origin

from pydantic import BaseModel

NAME_CHARACTERS_MAX: Final = 64
"""Above this nothing is compared: a caller can send a name of any length."""


def meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that `name` is nearest to, None when it is near none."""
    if len(name) > NAME_CHARACTERS_MAX:
        return None
    return next(iter(get_close_matches(name.lower(), sorted(known), n=1)), None)


def fields_at(model: object, place: Sequence[int | str]) -> frozenset[str]:
    """Return the names of the fields that there are at `place` within a model, none if it is none.

    `place` is where the validator found the thing, without the field itself.
    """
    if not place:
        return frozenset(name for each in _models(model) for name in _names(each))
    step, *rest = place
    if isinstance(step, int):
        return frozenset(name for each in get_args(model) for name in fields_at(each, rest))
    found: set[str] = set()
    for each in _models(model):
        field = each.model_fields.get(step)
        if field is not None:
            found |= fields_at(field.annotation, rest)
    return frozenset(found)


def _names(model: type[BaseModel]) -> Collection[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(annotation: object) -> Sequence[type[BaseModel]]:
    """Return the model that an annotation is, or those that it is one of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) is Annotated:
        return _models(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return [model for each in get_args(annotation) for model in _models(each)]
    return []
