"""A dataset's declaration as somebody writes it, where every part may be left out.

What is left out stays as it is, so that a new title opens nothing; an empty part removes it. A
field that nobody reads is refused by name: an event takes unknown fields, since a later build may
have added them; what is written must not, since a misspelled `roles` would show a column to
everybody.
"""

from __future__ import annotations

import re
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
from chancery.events.envelope import Many
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError

Part: TypeAlias = "Json | BaseModel"
"""What a part of a declaration is before it is read."""


def _only_known(model: type[BaseModel]) -> Callable[[Part], Part]:
    known = frozenset(model.model_fields)
    written = {"in" if name == "allowed" else name for name in known}

    def check(value: Part) -> Part:
        if isinstance(value, Mapping) and not known.issuperset(value):
            message = f"must have no other fields than {', '.join(sorted(written))}"
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


def as_written(told: str, data: Part) -> str:
    """Return what is told of a declaration with the name that the values of a filter have in it.

    Where neither is there, it is the one that people write.
    """
    filters = data.get("row_filters") if isinstance(data, Mapping) else None
    if not isinstance(filters, list):
        return told

    def name(match: re.Match[str]) -> str:
        number = int(match["number"])
        written = filters[number] if number < len(filters) else None
        is_other = not isinstance(written, Mapping) or "allowed" in written
        return match[0] if is_other else f"{match['filter']}.in"

    return _VALUES.sub(name, told)


def name_as_written(error: ChanceryError, data: Part) -> None:
    """Make an error tell its places as `data` names them."""
    error.detail = as_written(error.detail, data)
    error.field = None if error.field is None else as_written(error.field, data)


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
    row_filters: Annotated[Many[RowFilter], Field(max_length=50)] | None = None
    measures: Annotated[Many[Measure], Field(max_length=50)] | None = None

    @model_validator(mode="after")
    def _fits_into_an_event(self) -> Self:
        check_declaration_size(self)
        return self


_VALUES: Final = re.compile(r"(?P<filter>\brow_filters\.(?P<number>[0-9]{1,4}))\.allowed\b")
_KEPT: Final = "left out: none of a new dataset, and as it is of one that is there; empty: none"

_EITHER_NAME: Final = "its values are `allowed`; `in` is accepted as another name of them"

_Columns = Mapping[ColumnName, Annotated[ColumnPolicy, BeforeValidator(_only_known(ColumnPolicy))]]
_RowFilters = Many[
    Annotated[
        RowFilter,
        BeforeValidator(_only_known(RowFilter)),
        BeforeValidator(_in_for_allowed),
        Field(description=_EITHER_NAME),
    ]
]
_Measures = Many[Annotated[Measure, BeforeValidator(_only_known(Measure))]]


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
