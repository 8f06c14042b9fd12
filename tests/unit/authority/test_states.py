"""States survive their JSON form exactly, and unknown ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import given

from chancery.authority.states import State, from_json, kind_of, to_json
from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.kernel.errors import Corrupt
from tests.unit.authority.worlds import DATASET_STATE, PRINCIPAL, SOURCE_STATE, states


@pytest.mark.req("EV-5")
@given(states)
def test_json_form_is_an_exact_inverse(state: State) -> None:
    written = canonical_bytes(to_json(state))

    again = from_json(kind_of(state), parse_json(written))

    assert again == state
    assert canonical_bytes(to_json(again)) == written


def test_a_boolean_cell_stays_apart_from_a_number() -> None:
    stored = dict(to_json(DATASET_STATE))
    stored["row_filters"] = [{"roles": ["reader"], "column": "c", "allowed": [True, 1]}]

    again = from_json("dataset", stored)

    assert to_json(again)["row_filters"] == stored["row_filters"]


@pytest.mark.req("EV-5")
@pytest.mark.parametrize(
    ("kind", "state", "field", "value"),
    [
        ("source", SOURCE_STATE, "visibility", "galactic"),
        ("source", SOURCE_STATE, "added_later", 1),
        ("dataset", DATASET_STATE, "measures", [{"name": "n", "aggregate": "median"}]),
        ("principal", PRINCIPAL, "memberships", {"ws": "owner"}),
        ("policy", None, "language", "tlh"),
        ("galaxy", None, "title", "x"),
    ],
)
def test_unknown_kinds_fields_and_values_are_refused(
    kind: str, state: State | None, field: str, value: Json
) -> None:
    stored = {} if state is None else dict(to_json(state))

    with pytest.raises(Corrupt, match=r"unknown|malformed") as refused:
        from_json(kind, {**stored, field: value})

    assert refused.value.code == "malformed_state"


def test_a_state_is_refused_under_another_kind() -> None:
    with pytest.raises(Corrupt):
        from_json("principal", to_json(SOURCE_STATE))
