"""Whoever reads a message makes no error of each of a hundred thousand wrong entries."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, Field, ValidationError

from chancery.events.authority import DatasetDeclared, Measure, RowFilter
from chancery.events.declarations import WrittenDeclaration
from chancery.events.envelope import Many
from tests.unit.events.lists import models_of, read_to_their_end
from tests.unit.events.test_requests import HOMES


class _Inner(BaseModel):
    names: list[str]


class _Planted(BaseModel):
    pair: tuple[int, str]
    many: Many[int]
    bounded: Annotated[Many[int], Field(max_length=3)] | None = None
    plain: tuple[int, ...]
    inner: Many[_Inner]


def test_a_list_that_is_read_to_its_end_is_found_wherever_it_stands() -> None:
    assert read_to_their_end(_Planted) == [".inner.names", ".plain"]


def test_every_list_of_every_message_is_read_up_to_its_first_wrong_entry() -> None:
    models = [each for home in HOMES for each in models_of(home)]

    found = {each.__name__: read_to_their_end(each) for each in models}

    assert {name: lists for name, lists in found.items() if lists} == {}
    assert {"DatasetDeclared", "PostMessage", "RunGathered", "SearchFound"} & found.keys()


WRONG = [0.5] * 1000


@pytest.mark.parametrize(
    ("model", "data", "places"),
    [
        (RowFilter, {"roles": WRONG, "column": "c", "allowed": WRONG}, ["roles.0", "allowed.0"]),
        (Measure, {"name": "m", "aggregate": "sum", "synonyms": WRONG}, ["synonyms.0"]),
        (WrittenDeclaration, {"row_filters": WRONG, "measures": WRONG}, ["row_filters.0"]),
        (
            DatasetDeclared,
            {"row_filters": [{"roles": WRONG, "column": "c", "allowed": ["a"]}] * 110},
            ["row_filters.0.roles.0"],
        ),
    ],
)
def test_of_a_thousand_wrong_entries_one_is_told(
    model: type[BaseModel], data: dict[str, object], places: list[str]
) -> None:
    with pytest.raises(ValidationError) as refused:
        model.model_validate(data)

    told = [".".join(map(str, each["loc"])) for each in refused.value.errors()]
    assert [each for each in told if "." in each][: len(places)] == places
    assert len(told) < 10


def test_lists_of_right_entries_are_read_to_their_end() -> None:
    roles = ["reader", "curator", "publisher", "admin"]
    allowed = [str(number) for number in range(1000)]

    read = RowFilter.model_validate({"roles": roles, "column": "c", "allowed": allowed})

    assert [list(read.roles), list(read.allowed)] == [roles, allowed]
    with pytest.raises(ValidationError, match="at most 1000 items"):
        RowFilter.model_validate({"roles": roles, "column": "c", "allowed": [*allowed, "x"]})
