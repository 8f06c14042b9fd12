"""What was read and checked a moment ago, within bounds of size and age.

Only what its key names for good belongs here: bytes by their hash, and what was parsed from them.
Nothing stays longer than `AGE_S_MAX`, so that what was erased leaves the memory too.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

AGE_S_MAX: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Entry(Generic[ValueT]):
    value: ValueT
    weight: int
    since: float


@dataclass(slots=True)
class Remembered(Generic[KeyT, ValueT]):
    """The values used last whose weights together stay within `weight_max`."""

    weight_max: int
    age_s_max: float = AGE_S_MAX
    _entries: OrderedDict[KeyT, _Entry[ValueT]] = field(
        default_factory=OrderedDict[KeyT, _Entry[ValueT]]
    )
    _weight: int = 0

    def get(self, key: KeyT) -> ValueT | None:
        """Return the value, unless it is too old or was never kept."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if time.monotonic() - entry.since > self.age_s_max:
            self._forget(key)
            return None
        self._entries.move_to_end(key)
        return entry.value

    def keep(self, key: KeyT, value: ValueT, weight: int) -> None:
        """Keep a value; those used longest ago make room."""
        self._forget(key)
        self._entries[key] = _Entry(value, weight, time.monotonic())
        self._weight += weight
        while self._weight > self.weight_max:
            self._forget(next(iter(self._entries)))

    def _forget(self, key: KeyT) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= entry.weight
