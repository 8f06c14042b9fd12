"""Aggregates from the log, kept folded and continued from where they were read last."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from chancery.events.codec import decode
from chancery.ingestion.domain.aggregates import Address, Aggregate, Record, continued
from chancery.ingestion.ports import Log

AGGREGATES_MAX = 4096
LOADS_AT_ONCE = 64


@dataclass(slots=True)
class Aggregates:
    """The aggregates that were used last; each load asks the leader for what came since."""

    log: Log
    capacity: int = AGGREGATES_MAX
    _kept: OrderedDict[Address, Aggregate] = field(default_factory=OrderedDict[Address, Aggregate])

    async def load(self, addresses: Iterable[Address]) -> dict[Address, Aggregate]:
        """Return each aggregate as of now.

        Raises:
            Corrupt: an event cannot be decoded or contradicts its aggregate; nothing is decided on
                it until that is repaired.
            Unavailable: the leader does not answer.
        """
        wanted = tuple(addresses)
        found: dict[Address, Aggregate] = {}
        for begin in range(0, len(wanted), LOADS_AT_ONCE):
            some = wanted[begin : begin + LOADS_AT_ONCE]
            found |= zip(some, await self._together(some), strict=True)
        return found

    def learn(self, address: Address, records: tuple[Record, ...]) -> Aggregate:
        """Return the aggregate with the events just appended behind what was known of it."""
        return self._keep(address, continued(address, self._known(address), records))

    async def _together(self, addresses: tuple[Address, ...]) -> list[Aggregate]:
        try:
            async with asyncio.TaskGroup() as group:
                loading = [group.create_task(self._current(address)) for address in addresses]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return [task.result() for task in loading]

    async def _current(self, address: Address) -> Aggregate:
        known = self._known(address)
        records = [
            Record(stored.sequence, decode(stored.payload))
            async for stored in self.log.read(address.subject, known.sequence)
        ]
        return self._keep(address, continued(address, known, tuple(records)))

    def _known(self, address: Address) -> Aggregate:
        return self._kept.get(address, Aggregate())

    def _keep(self, address: Address, aggregate: Aggregate) -> Aggregate:
        """Keep the newer of two versions that concurrent loads made."""
        if aggregate.sequence >= self._known(address).sequence:
            self._kept[address] = aggregate
        self._kept.move_to_end(address)
        while len(self._kept) > self.capacity:
            self._kept.popitem(last=False)
        return aggregate
