"""A dataset's declaration as somebody writes it, where every part may be left out.

What is left out stays as it is, so that a new title opens nothing; an empty part removes it. A
field that nobody reads is refused by name: an event takes unknown fields, since a later build may
have added them; what is written must not, since a misspelled `roles` would show a column to
everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Final, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    JsonValue,
    model_validator,
)
from pydantic.config import JsonDict

from chancery.events.authority import (
    ColumnName,
    ColumnPolicy,
    Measure,
    RowFilter,
    check_declaration_size,
)
from chancery.kernel.canonical import Json

Part: TypeAlias = "Json | BaseModel"
"""What a part of a declaration is before it is read."""


def _only_known(model: type[BaseModel]) -> Callable[[Part], Part]:
    known = frozenset(model.model_fields)

    def check(value: Part) -> Part:
        if isinstance(value, Mapping) and not known.issuperset(value):
            message = f"must have no other fields than {', '.join(sorted(known))}"
            raise ValueError(message)
        return value

    return check


def _in_for_allowed(value: Part) -> Part:
    """Read `in` as `allowed`: the one is what people write, the other what events have."""
    if not isinstance(value, Mapping) or "in" not in value:
        return value
    if "allowed" in value:
        message = "must have `in` or `allowed`, which are the same, and not both"
        raise ValueError(message)
    return {("allowed" if name == "in" else name): each for name, each in value.items()}


def at_first(value: JsonValue = None) -> Callable[[JsonDict], None]:
    """Return what makes the schema of an optional field tell what it is at first when left out."""

    def change(schema: JsonDict) -> None:
        variants = schema.pop("anyOf")
        assert isinstance(variants, list), "the field is of one type, or None"
        said = variants[0]
        assert isinstance(said, dict), "a schema is an object"
        schema.update(said)
        del schema["default"]
        if value is not None:
            schema["default"] = value

    return change


class PartialDeclaration(BaseModel):
    """A declaration as a command carries it: None keeps what the dataset has."""

    columns: Annotated[Mapping[ColumnName, ColumnPolicy], Field(max_length=500)] | None = None
    row_filters: Annotated[tuple[RowFilter, ...], Field(max_length=50)] | None = None
    measures: Annotated[tuple[Measure, ...], Field(max_length=50)] | None = None

    @model_validator(mode="after")
    def _fits_into_an_event(self) -> Self:
        check_declaration_size(self)
        return self


_KEPT: Final = "left out: none of a new dataset, and as it is of one that is there; empty: none"

_EITHER_NAME: Final = "its values are `allowed`; `in` is accepted as another name of them"

_Columns = Mapping[ColumnName, Annotated[ColumnPolicy, BeforeValidator(_only_known(ColumnPolicy))]]
_RowFilters = tuple[
    Annotated[
        RowFilter,
        BeforeValidator(_only_known(RowFilter)),
        BeforeValidator(_in_for_allowed),
        Field(description=_EITHER_NAME),
    ],
    ...,
]
_Measures = tuple[Annotated[Measure, BeforeValidator(_only_known(Measure))], ...]


class WrittenDeclaration(PartialDeclaration):
    """A declaration whose columns, row filters and measures have no field that is not known."""

    columns: Annotated[_Columns, Field(max_length=500)] | None = Field(
        default=None, description=_KEPT, json_schema_extra=at_first()
    )
    row_filters: Annotated[_RowFilters, Field(max_length=50)] | None = Field(
        default=None, description=_KEPT, json_schema_extra=at_first([])
    )
    measures: Annotated[_Measures, Field(max_length=50)] | None = Field(
        default=None, description=_KEPT, json_schema_extra=at_first([])
    )
