"""Statistics are remembered, and not without bound."""

from __future__ import annotations

from chancery.execution.handlers.remembered import REMEMBERED_MAX, Remembered
from chancery.tabular.statistics import TableStatistics


def test_no_more_statistics_are_remembered_than_the_bound() -> None:
    remembered = Remembered()

    for number in range(REMEMBERED_MAX + 5):
        remembered.keep(("acme", str(number), ""), TableStatistics(number, ()))

    assert len(remembered.found) == REMEMBERED_MAX
    assert remembered.get(("acme", "4", "")) is None
    assert remembered.get(("acme", "5", "")) == TableStatistics(5, ())
