"""Cuts that were made before: a snapshot never changes, so neither does a cut under one policy."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from chancery.execution.errors import InputTooLarge
from chancery.execution.ports import Cutter
from chancery.kernel.canonical import Json, canonical_bytes, sha256_hex
from chancery.kernel.errors import Corrupt, Rejected, TooLarge
from chancery.tabular.jobs import Table, Uncut
from chancery.tabular.schema import TableSchema

CUTS_BYTES_MAX = 64 * 1024 * 1024
"""The cuts that are kept; that of a million rows in four columns takes about 5 MiB."""

_DIED = "sql_resources"
"""How a process ends that was killed, or that needed more memory than it may."""

KEPT_S = 600.0
"""How long a cut is kept at most, so that what was erased leaves the memory, too."""

CutKey = tuple[str, str, str]
"""A tenant, the hash of a snapshot's rows, and that of what policy lets a caller read of it."""


@dataclass(slots=True)
class _Flight:
    """A cut that somebody makes while others wait for the same."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    made: bytes | None = None
    failed: Rejected | Corrupt | None = None
    has_died: bool = False


class Cuts:
    """Makes cuts, one at a time of the same, and keeps the newest within `bytes_max`."""

    def __init__(
        self, cutter: Cutter, *, bytes_max: int = CUTS_BYTES_MAX, kept_s: float = KEPT_S
    ) -> None:
        """Begin with nothing."""
        self._cutter = cutter
        self._bytes_max = bytes_max
        self._kept_s = kept_s
        self._kept = OrderedDict[CutKey, tuple[bytes, float]]()
        self._flights: dict[CutKey, _Flight] = {}
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Return how many bytes are kept."""
        return self._size_bytes

    async def of(
        self,
        key: CutKey,
        schema: TableSchema,
        stored: Callable[[], Awaitable[Uncut]],
        *,
        bytes_max: int,
    ) -> Table:
        """Return the cut under `key`, of what `stored` reads when it was not made before.

        Whoever comes while it is made waits for it, and is refused with it when it cannot be made.
        When its making is given up, or a caller's room or this moment is what it lacks, that is so
        for the one who made it, and the next one makes it; once so when its process dies.

        Raises:
            TooLarge: it takes more than `bytes_max`, or does so together with what is stored.
            Rejected, Corrupt: as `Cutter.cut`.
        """
        found = self._remembered(key)
        if found is None:
            found = await self._made(key, stored, bytes_max)
        if len(found) > bytes_max:
            message = "what may be read of the datasets that sql names is too large; name fewer"
            raise InputTooLarge(message, field="sql")
        return Table(schema, found)

    async def _made(
        self, key: CutKey, stored: Callable[[], Awaitable[Uncut]], bytes_max: int
    ) -> bytes:
        flight = self._flights.setdefault(key, _Flight())
        flight.waiting += 1
        try:
            async with flight.turn:
                if flight.failed is not None:
                    raise flight.failed
                if flight.made is None:
                    flight.made = await self._cut(flight, stored, bytes_max)
                    self._keep(key, flight.made)
                return flight.made
        finally:
            flight.waiting -= 1
            is_over = not flight.waiting or flight.failed is not None
            if is_over and self._flights.get(key) is flight:
                del self._flights[key]

    async def _cut(
        self, flight: _Flight, stored: Callable[[], Awaitable[Uncut]], bytes_max: int
    ) -> bytes:
        try:
            uncut = await stored()
            room = max(0, bytes_max - len(uncut.parquet))
            return (await self._cutter.cut(uncut, bytes_max=room)).parquet
        except TooLarge:
            raise
        except (Rejected, Corrupt) as error:
            # A process that dies fails its statement only; when the next one dies too, it is the
            # snapshot, and those who wait need not find that out one after the other.
            if error.code != _DIED or flight.has_died:
                flight.failed = error
            flight.has_died = True
            raise

    def _remembered(self, key: CutKey) -> bytes | None:
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def _keep(self, key: CutKey, made: bytes) -> None:
        if len(made) > self._bytes_max:
            return
        self._drop(key)
        self._kept[key] = made, time.monotonic() + self._kept_s
        self._size_bytes += len(made)
        while self._size_bytes > self._bytes_max:
            self._drop(next(iter(self._kept)))
        asyncio.get_running_loop().call_later(self._kept_s, self._drop_old, key)

    def _drop(self, key: CutKey) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._size_bytes -= len(found[0])

    def _drop_old(self, key: CutKey) -> None:
        """Drop a cut when its time is over; it may be a newer one under the same key."""
        found = self._kept.get(key)
        if found is not None and found[1] <= time.monotonic():
            self._drop(key)


def cut_key(tenant: str, extraction_sha256: str, uncut: Uncut) -> CutKey:
    """Return the key of the cut that the policy of `uncut` asks for."""
    columns: list[Json] = [[each.name, each.duckdb_type] for each in uncut.schema.columns]
    filters: list[Json] = [[each.column, list(each.values)] for each in uncut.filters]
    policy = sha256_hex(canonical_bytes({"columns": columns, "filters": filters}))
    return tenant, extraction_sha256, policy
