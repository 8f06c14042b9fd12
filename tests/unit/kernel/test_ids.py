"""Ids: their alphabet, and derived ids that never collide by concatenation."""

from __future__ import annotations

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected
from chancery.kernel.ids import ID_PATTERN, NAMESPACE, derived_id, parse_id, random_id, resource_key


@given(st.from_regex(ID_PATTERN, fullmatch=True))
def test_a_well_formed_id_is_returned_unchanged(value: str) -> None:
    assert parse_id(value, field="source_id") == value


@pytest.mark.parametrize("value", ["", "a.b", "a b", "a\n", "ä", "a/b", "x" * 65, "*", ">"])
def test_an_id_that_would_break_a_subject_is_refused_by_field(value: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_id(value, field="source_id")

    assert caught.value.field == "source_id"
    assert caught.value.code == "invalid_id"
    assert not value or value not in caught.value.detail.split()


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_derived_ids_are_equal_only_for_equal_parts(left: list[str], right: list[str]) -> None:
    assert (derived_id(*left) == derived_id(*right)) == (left == right)


@given(st.lists(st.text(), max_size=4))
def test_a_derived_id_is_the_uuid5_of_its_parts(parts: list[str]) -> None:
    name = "".join(f"{len(part)}:{part}" for part in parts)

    assert derived_id(*parts) == str(uuid.uuid5(NAMESPACE, name))


def test_one_name_in_two_workspaces_has_two_keys() -> None:
    key = resource_key("one", "source", "handbook")

    assert key != resource_key("two", "source", "handbook")
    assert key != resource_key("one", "dataset", "handbook")
    assert re.fullmatch(ID_PATTERN, key)


def test_random_ids_differ() -> None:
    assert random_id() != random_id()
