"""A dataset's declaration as somebody writes it: a field that nobody reads is refused by name.

An event takes unknown fields, since a later build may have added them; what is written must not: a
misspelled `roles` would show a column to everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, Field

from chancery.events.authority import ColumnName, ColumnPolicy, Declaration, Measure, RowFilter
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


class WrittenDeclaration(Declaration):
    """A declaration whose columns, row filters and measures have no field that is not known."""

    columns: Mapping[
        ColumnName, Annotated[ColumnPolicy, BeforeValidator(_only_known(ColumnPolicy))]
    ] = Field(default_factory=dict, max_length=500)
    row_filters: tuple[Annotated[RowFilter, BeforeValidator(_only_known(RowFilter))], ...] = Field(
        default=(), max_length=50
    )
    measures: tuple[Annotated[Measure, BeforeValidator(_only_known(Measure))], ...] = Field(
        default=(), max_length=50
    )
