"""The rows that the writer of the authority projection remembers, within a bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chancery.release.domain.authority_fold import AggregateKey, AggregateRow

ROWS_MAX = 60_000
CHARACTERS_MAX = 16 * 1024 * 1024
"""A state in memory takes about three times the room of its text."""


@dataclass(slots=True)
class KnownRows:
    """What was written or read last; what was changed longest ago makes room.

    `is_all` tells that no other row exists, as after reading a log from its beginning.
    """

    rows_max: int = ROWS_MAX
    characters_max: int = CHARACTERS_MAX
    is_all: bool = False
    _rows: dict[AggregateKey, AggregateRow] = field(
        default_factory=dict[AggregateKey, AggregateRow]
    )
    _weights: dict[AggregateKey, int] = field(default_factory=dict[AggregateKey, int])
    _characters: int = 0

    @property
    def rows(self) -> Mapping[AggregateKey, AggregateRow]:
        """Return all of them."""
        return self._rows

    def keep(self, rows: Mapping[AggregateKey, AggregateRow]) -> None:
        """Remember rows as the newest."""
        for key in rows:
            self._rows.pop(key, None)
        self._rows.update(rows)

    def weigh(self, key: AggregateKey, characters: int) -> None:
        """Say how long the text of a state is, if it is remembered."""
        if key not in self._rows:
            return
        self._characters += characters - self._weights.get(key, 0)
        self._weights[key] = characters

    def make_room(self) -> None:
        """Forget the rows that are too many, whether they are stored yet or not."""
        for key in self._too_many():
            del self._rows[key]
            self._characters -= self._weights.pop(key, 0)
            self.is_all = False

    def forget(self) -> None:
        """Forget every row: what is stored is not known any more."""
        self._rows.clear()
        self._weights.clear()
        self._characters = 0
        self.is_all = False

    def _too_many(self) -> list[AggregateKey]:
        found: list[AggregateKey] = []
        characters = self._characters
        for key in self._rows:
            if len(self._rows) - len(found) <= self.rows_max and characters <= self.characters_max:
                break
            found.append(key)
            characters -= self._weights.get(key, 0)
        return found
