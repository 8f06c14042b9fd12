"""Statistics that were computed before: a snapshot never changes, so they never grow old."""

from __future__ import annotations

from dataclasses import dataclass, field

from chancery.tabular.statistics import TableStatistics

REMEMBERED_MAX = 64
"""The statistics that are kept; those of 500 columns take about 200 KB."""

Known = tuple[str, str, str]
"""A tenant, the hash of a snapshot's rows, and what of it may be read."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The newest statistics, up to `REMEMBERED_MAX`."""

    found: dict[Known, TableStatistics] = field(default_factory=dict[Known, TableStatistics])

    def get(self, key: Known) -> TableStatistics | None:
        """Return what is remembered under `key`, or None."""
        return self.found.get(key)

    def keep(self, key: Known, statistics: TableStatistics) -> None:
        """Remember `statistics`, and forget the oldest beyond the bound."""
        self.found[key] = statistics
        if len(self.found) > REMEMBERED_MAX:
            self.found.pop(next(iter(self.found)))
