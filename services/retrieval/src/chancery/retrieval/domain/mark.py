"""Where the reader of INDEX stands, and whether what it left on disk still fits the stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything up to `position` of the stream made at `stream_created` is in the indexes.

    `tenants` are the positions that each tenant's index had then: one that is behind was lost.
    """

    stream_created: datetime
    position: int
    tenants: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Start:
    """From where to read on; `fresh` says that what is on disk belongs to another stream."""

    after: int
    fresh: bool = False


def start_from(
    mark: Mark | None, *, stream_created: datetime, last: int, positions: Mapping[str, int]
) -> Start:
    """Return where to read on, given the indexes' own `positions` and the stream as it is.

    An index that is behind its mark was lost or damaged: everything is read again, and the other
    indexes skip what they hold. Without a mark nothing tells which stream the indexes are from; a
    stream that was made again, or ends before what they hold, is another one.
    """
    if mark is None:
        return Start(0, fresh=bool(positions))
    ahead = max([mark.position, *positions.values()]) > last
    if mark.stream_created != stream_created or ahead:
        return Start(0, fresh=True)
    lost = any(positions.get(tenant, 0) < held for tenant, held in mark.tenants.items())
    return Start(0) if lost else Start(mark.position)
