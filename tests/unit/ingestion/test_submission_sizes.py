"""A submission of nothing but wrong values is rejected before an error is made of each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from chancery.events.intake import DatasetSubmitted
from chancery.ingestion.domain import submissions
from chancery.ingestion.domain.submissions import ENTRIES_MAX, Letter, read_submission
from chancery.ingestion.errors import InvalidSubmission
from chancery.kernel.canonical import canonical_bytes

LITERAL = "must be a text of at most 500 characters, a whole number, true or false"
DATASET: dict[str, JsonValue] = {"workspace_id": "ws", "dataset_id": "orders", "title": "Orders"}


def read(type_name: str, data: JsonValue) -> DatasetSubmitted:
    """Return what a submission says."""
    letter = Letter("acme", "desk", type_name, "e1", 1)
    event: JsonValue = {
        "specversion": "1.0", "id": "e1", "source": "/desk", "type": type_name, "data": data,
    }  # fmt: skip
    found = read_submission(letter, canonical_bytes(event), {}).data
    assert isinstance(found, DatasetSubmitted)
    return found


def filtering(allowed: list[JsonValue]) -> dict[str, JsonValue]:
    """Return a dataset with a row filter of these values."""
    row_filter: JsonValue = {"roles": ["reader"], "column": "region", "in": allowed}
    return {**DATASET, "row_filters": [row_filter]}


def entries(made: Callable[[], JsonValue]) -> list[JsonValue]:
    """Return one more than there may be."""
    return [made() for _ in range(ENTRIES_MAX + 1)]


def names() -> dict[str, JsonValue]:
    """Return an object with one name more than there may be."""
    return {str(number): 1 for number in range(ENTRIES_MAX + 1)}


class Unread:
    """A model that nothing may be read as."""

    @classmethod
    def model_validate(cls, _data: object) -> None:
        """Fail."""
        message = "it was read"
        raise AssertionError(message)


def test_as_many_values_as_a_row_filter_may_have_are_taken() -> None:
    allowed: list[JsonValue] = [f"r{each}" for each in range(ENTRIES_MAX)]

    filters = read(DatasetSubmitted.TYPE, filtering(allowed)).row_filters

    assert filters is not None
    assert [list(each.allowed) for each in filters] == [allowed]


TOO_MANY: list[tuple[JsonValue, str]] = [
    ({**DATASET, "measures": entries(dict)}, "data.measures"),
    (filtering(entries(dict)), "data.row_filters.0.in"),
    ({**DATASET, "columns": names()}, "data.columns"),
    (names(), "data"),
    (entries(int), "data"),
]


@pytest.mark.parametrize(("data", "field"), TOO_MANY)
def test_more_entries_than_anything_has_are_rejected_with_their_place_and_not_read(
    monkeypatch: pytest.MonkeyPatch, data: JsonValue, field: str
) -> None:
    """240 KB of them kept ingestion from everybody for three seconds."""
    monkeypatch.setattr(submissions, "_MODELS", {DatasetSubmitted.TYPE: Unread})

    with pytest.raises(InvalidSubmission) as rejected:
        read(DatasetSubmitted.TYPE, data)

    assert rejected.value.field == field
    assert rejected.value.detail == f"{field}: must have at most 1,000 entries"


@pytest.mark.parametrize("wrong", [{}, [], None, "x" * 501])
def test_of_wrong_values_of_a_row_filter_the_first_is_named_by_its_place(wrong: JsonValue) -> None:
    with pytest.raises(InvalidSubmission) as rejected:
        read(DatasetSubmitted.TYPE, filtering(["north", wrong, wrong]))

    assert rejected.value.field == "data.row_filters.0.in.1"
    assert rejected.value.detail == f"data.row_filters.0.in.1: {LITERAL}"
