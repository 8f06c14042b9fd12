"""The context of a request has a greatest size, which is allowed, and nothing above it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.evidence.context import (
    CONTEXT_CHARACTERS_MAX,
    CONTEXT_PARTS_MAX,
    CONTEXT_SOURCES_MAX,
    is_too_much,
    parts_of,
)
from chancery.evidence.parts import PART_CHARACTERS, split_parts
from chancery.kernel.canonical import sha256_hex


@pytest.mark.req("CL-9")
def test_twelve_sources_are_allowed_and_thirteen_are_too_much() -> None:
    sources = [(f"s{number}", (0, 9)) for number in range(CONTEXT_SOURCES_MAX + 1)]

    assert not is_too_much(sources[:-1])
    assert is_too_much(sources)


@pytest.mark.req("CL-9")
def test_as_many_parts_as_fit_are_allowed_and_one_more_is_too_much() -> None:
    starts = range(0, PART_CHARACTERS * (CONTEXT_PARTS_MAX + 1), PART_CHARACTERS)
    parts = [("long", (start, start + 1000)) for start in starts]

    assert not is_too_much([*parts[:-1], *parts[:-1]])
    assert is_too_much(parts)
    assert is_too_much([("long", (0, len(parts) * PART_CHARACTERS))])


@pytest.mark.req("CL-9")
def test_parts_that_are_allowed_never_exceed_the_bound_on_characters() -> None:
    assert (CONTEXT_SOURCES_MAX, CONTEXT_CHARACTERS_MAX) == (12, 64_000)
    assert CONTEXT_PARTS_MAX * PART_CHARACTERS <= CONTEXT_CHARACTERS_MAX
    assert (CONTEXT_PARTS_MAX + 1) * PART_CHARACTERS > CONTEXT_CHARACTERS_MAX


@given(data=st.data(), length=st.integers(1, 20_000))
def test_a_place_lies_in_the_parts_that_share_a_character_with_it(
    data: st.DataObject, length: int
) -> None:
    text = "x" * length
    start = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(start + 1, length))

    parts = split_parts("key", 1, sha256_hex(text.encode()), text)

    assert list(parts_of((start, end))) == [
        part.ordinal for part in parts if part.start < end and start < part.end
    ]
