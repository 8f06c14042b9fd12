"""What waits to be indexed by itself: wishes to do it again, and what takes long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from chancery.indexing.domain.history import ResourceRef

EVERY_S = 60.0
"""How long the same wish is not granted again."""

LEASE_S = 120.0
"""How long after its last sign of life the work of a process is taken up by another one."""

WHOLE = 0
"""The number that stands for the whole resource in the place of a revision."""


@dataclass(frozen=True, slots=True)
class Wish:
    """`revision` of `ref`, or the `WHOLE` of it; `request_id` tells repeats of one request."""

    ref: ResourceRef
    revision: int
    request_id: str


@dataclass(frozen=True, slots=True)
class SlowRevision:
    """A revision whose extraction takes longer than others should wait."""

    ref: ResourceRef
    revision: int


WorkT = TypeVar("WorkT", Wish, SlowRevision)
"""What waits."""
