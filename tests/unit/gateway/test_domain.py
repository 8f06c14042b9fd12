"""The pure parts of the edge: frames, passages, keys and ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.queries import EventRow
from chancery.gateway.domain.calls import Call, caller_of, checked_key
from chancery.gateway.domain.frames import frame, resume_after
from chancery.gateway.domain.passages import OCCURRENCES_MAX, find_passage
from chancery.kernel.errors import Rejected
from tests.unit.gateway.fakes import TOKEN


def call(key: str = "k", route: str = "POST /v1/x") -> Call:
    """Return a call of one caller."""
    return Call(caller_of(f"Bearer {TOKEN}"), route, key, "a" * 64, None)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=200))
def test_a_frame_carries_its_data_whole(data: str) -> None:
    lines = frame("r", EventRow(number=3, event="sealed", data=data)).decode()

    carried = [line[6:] for line in lines.split("\n") if line.startswith("data: ")]
    assert "\n".join(carried) == data
    assert lines.startswith("id: r.3\nevent: sealed\n")
    assert lines.endswith("\n\n")


@pytest.mark.parametrize(("given_id", "number"), [(None, 0), ("", 0), ("r.7", 7), ("other.7", 0)])
def test_a_resume_starts_behind_the_last_event_of_this_run(
    given_id: str | None, number: int
) -> None:
    assert resume_after(given_id, "r") == number


@pytest.mark.parametrize("given_id", ["7", "r.", "r.x", "r.-1", "r.7.8", "r 7"])
def test_a_foreign_event_id_is_refused(given_id: str) -> None:
    with pytest.raises(Rejected) as caught:
        resume_after(given_id, "r")

    assert caught.value.field == "Last-Event-ID"


@given(st.text(max_size=20), st.text(min_size=1, max_size=5), st.text(max_size=20))
def test_a_passage_that_stands_in_the_text_is_never_absent(
    before: str, passage: str, after: str
) -> None:
    found = find_passage(before + passage + after, passage, None, None)

    assert found.verdict in {"match", "ambiguous"}


def test_a_repeated_passage_is_ambiguous_and_offsets_decide() -> None:
    assert find_passage("aXaX", "X", None, None) == ("ambiguous", 2, None, None)
    assert find_passage("aXaX", "X", 3, 4) == ("match", 1, 3, 4)
    assert find_passage("a😀X", "X", 2, 3).verdict == "match"
    assert find_passage("a not b", "a b", None, None).verdict == "absent"


@pytest.mark.parametrize("passage", ["a", "aaaaaa", "a" * 20_000])
def test_places_without_number_are_counted_up_to_a_bound(passage: str) -> None:
    """Counting all of them, each letter by letter, took the gateway from everybody for hours."""
    text = "a" * 4_000_000

    assert find_passage(text, passage, None, None) == ("ambiguous", OCCURRENCES_MAX, None, None)
    assert find_passage(text + passage + "b", passage + "b", None, None).verdict == "match"


@pytest.mark.parametrize(("start", "end"), [(1, None), (None, 1), (2, 1), (1, 1)])
def test_half_or_reversed_offsets_are_refused(start: int | None, end: int | None) -> None:
    with pytest.raises(Rejected) as caught:
        find_passage("abc", "b", start, end)

    assert caught.value.code == "invalid_offsets"


@pytest.mark.req("EV-14")
def test_one_key_creates_one_id_per_route_and_noun() -> None:
    assert call().created_id("run") == call().created_id("run")
    assert call().created_id("run") != call(key="other").created_id("run")
    assert call().created_id("run") != call(route="POST /v1/y").created_id("run")
    assert call().created_id("run") != call().created_id("conversation")


@pytest.mark.parametrize("key", ["", "a b", "ä", "x" * 201, "a\n"])
def test_a_key_outside_its_alphabet_is_refused(key: str) -> None:
    with pytest.raises(Rejected) as caught:
        checked_key(key)

    assert caught.value.code == "invalid_idempotency_key"
