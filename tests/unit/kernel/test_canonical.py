"""Canonical JSON and hashing: one value, one byte string."""

from __future__ import annotations

import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.canonical import (
    SAFE_INTEGER_MAX,
    Encoded,
    Json,
    canonical_bytes,
    canonical_hash,
    exact_bytes,
    parse_json,
    salted_hash,
    sha256_hex,
)
from chancery.kernel.errors import Corrupt

scalars: st.SearchStrategy[Json] = (
    st.none()
    | st.booleans()
    | st.integers(-SAFE_INTEGER_MAX, SAFE_INTEGER_MAX)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
values: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner)
    ),
    max_leaves=12,
)


@given(values)
def test_parsing_is_the_inverse_of_canonical_bytes(value: Json) -> None:
    assert parse_json(canonical_bytes(value)) == value


anything: st.SearchStrategy[Json] = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@given(anything)
def test_the_quick_way_writes_what_the_standard_demands(value: Json) -> None:
    try:
        expected = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        with pytest.raises(ValueError, match="canonical"):
            canonical_bytes(value)
    else:
        assert canonical_bytes(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"\U0001f600": 1, "\uffff": 2, "a": 3},
        {"\x7f\x00\x1f\u2028": '\u0080"\\/'},
        [1e21, 1e-7, 0.1, -0.0, 100.0],
        ["\ud800"],
        {1: "a key that is no text"},
        [-(2**53)],
    ],
)
def test_no_value_takes_the_quick_way_wrongly(value: Json) -> None:
    try:
        expected = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        with pytest.raises(ValueError, match="canonical"):
            canonical_bytes(value)
    else:
        assert canonical_bytes(value) == expected


@given(values)
def test_a_value_without_floats_has_one_form_whoever_writes_it(value: Json) -> None:
    assert exact_bytes(value) == rfc8785.dumps(value)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), values))
def test_parts_that_are_encoded_already_give_the_bytes_of_the_whole(value: dict[str, Json]) -> None:
    parts = {key: Encoded(canonical_bytes(part)) for key, part in value.items()}

    assert exact_bytes(parts) == canonical_bytes(value)


@pytest.mark.parametrize("value", [SAFE_INTEGER_MAX + 1, ["\ud800"], {"a": [-(2**53)]}])
def test_what_has_no_canonical_form_is_refused_by_the_exact_way_too(value: Json) -> None:
    with pytest.raises(ValueError, match="canonical"):
        exact_bytes(value)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), scalars))
def test_the_order_of_keys_does_not_change_the_hash(value: dict[str, Json]) -> None:
    reordered = dict(reversed(value.items()))

    assert canonical_hash(reordered) == canonical_hash(value)


def test_an_integer_that_json_readers_would_round_is_refused() -> None:
    with pytest.raises(ValueError, match="canonical"):
        canonical_bytes(SAFE_INTEGER_MAX + 1)


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', "NaN", "[Infinity]", "{", "", "[" * 100_000])
def test_ambiguous_or_broken_json_is_refused(text: str) -> None:
    with pytest.raises(Corrupt) as caught:
        parse_json(text)

    assert caught.value.code == "malformed_json"


def test_a_salt_changes_the_hash_of_the_same_bytes() -> None:
    assert salted_hash("00" * 16, b"yes") != salted_hash("01" * 16, b"yes")
    assert salted_hash("00" * 16, b"yes") == sha256_hex(bytes(16) + b"yes")


def test_canonical_bytes_are_plain_json() -> None:
    assert json.loads(canonical_bytes({"b": [1, 2.5], "a": "é"})) == {"a": "é", "b": [1, 2.5]}
