"""The log that the rebuild is measured on: every event counts, and the order is always the same."""

from __future__ import annotations

from collections import Counter

from chancery.authority.evolve import evolve
from chancery.authority.names import AggregateRef
from chancery.authority.states import State
from tests.bench.rebuild import log

AGGREGATES = 40


def test_every_aggregate_has_its_turns_in_a_mixed_order() -> None:
    turns = log.order(AGGREGATES)

    assert Counter(turns) == dict.fromkeys(range(AGGREGATES), log.EVENTS_EACH)
    assert turns != sorted(turns)
    assert turns == log.order(AGGREGATES)


def test_no_event_breaks_a_rule() -> None:
    states: dict[AggregateRef, State] = {}

    for ref, data in log.events(AGGREGATES):
        states[ref] = evolve(ref.kind, states.get(ref), data)

    assert len(states) == AGGREGATES
    assert {ref.kind for ref in states} == {"source", "principal"}
