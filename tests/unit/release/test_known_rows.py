"""What the writer of a projection remembers of its rows stays within its bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chancery.release.adapters.known_rows import KnownRows
from chancery.release.domain.authority_fold import AggregateKey, AggregateRow

ROWS_MAX = 4
CHARACTERS_MAX = 20


def key_of(number: int) -> AggregateKey:
    return AggregateKey("acme", "principal", f"p{number}")


def row_of(sequence: int) -> AggregateRow:
    return AggregateRow(sequence, "type", "id", "0" * 64, None)


@given(st.lists(st.dictionaries(st.integers(0, 8), st.integers(0, 30), max_size=4), max_size=20))
def test_rows_and_characters_stay_within_their_bounds(stored: list[dict[int, int]]) -> None:
    known = KnownRows(ROWS_MAX, CHARACTERS_MAX, is_all=True)
    newest: dict[AggregateKey, AggregateRow] = {}
    weights: dict[AggregateKey, int] = {}
    has_lost = False

    for sequence, numbers in enumerate(stored, start=1):
        rows = {key_of(number): row_of(sequence) for number in numbers}
        newest |= rows
        known.keep(rows)
        for number, characters in numbers.items():
            weights[key_of(number)] = characters
            known.weigh(key_of(number), characters)
        known.make_room()

        assert len(known.rows) <= ROWS_MAX
        assert sum(weights[key] for key in known.rows) <= CHARACTERS_MAX
        assert all(newest[key] == row for key, row in known.rows.items())
        has_lost = has_lost or set(known.rows) != set(newest)
        assert known.is_all == (not has_lost)


def test_what_was_changed_longest_ago_makes_room() -> None:
    known = KnownRows(2)
    known.keep({key_of(1): row_of(1)})
    known.keep({key_of(2): row_of(2)})
    known.keep({key_of(1): row_of(3)})

    known.keep({key_of(3): row_of(4)})
    known.make_room()

    assert {key.id: row.sequence for key, row in known.rows.items()} == {"p1": 3, "p3": 4}


def test_what_is_not_remembered_weighs_nothing() -> None:
    known = KnownRows(ROWS_MAX, CHARACTERS_MAX)
    known.weigh(key_of(1), CHARACTERS_MAX + 1)

    known.keep({key_of(2): row_of(1)})
    known.make_room()

    assert set(known.rows) == {key_of(2)}


def test_after_forgetting_nothing_is_known() -> None:
    known = KnownRows(is_all=True)
    known.keep({key_of(1): row_of(1)})
    known.weigh(key_of(1), 5)

    known.forget()

    assert (dict(known.rows), known.is_all) == ({}, False)
