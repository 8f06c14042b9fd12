"""Work that one process does, for as long as it lives: its lease is renewed until the work ends.

So a lease can be short, however long a document may take: a process that is gone leaves its work to
others within `LEASE_S`, and one that cannot renew stops before another one begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chancery.indexing.domain.wishes import LEASE_S
from chancery.indexing.errors import LeaseLost
from chancery.kernel.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Renewing:
    """How often a lease is renewed; `failures_max` in a row end the work before the lease ends."""

    every_s: float = LEASE_S / 6
    within_s: float = LEASE_S / 12
    failures_max: int = 3

    @property
    def stops_within_s(self) -> float:
        """Return how long after its last renewal the work goes on at most."""
        return self.failures_max * (self.every_s + self.within_s)


USUAL: Renewing = Renewing()


async def hold(
    work: Awaitable[object], renew: Callable[[], Awaitable[bool]], renewing: Renewing = USUAL
) -> None:
    """Do `work`, whose lease was just taken; `renew` tells whether it is still ours.

    Raises:
        LeaseLost: it is not, or cannot be known to be; the work was cut off.
    """
    try:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(_keep(renew, renewing))
            await work
            keeping.cancel()
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors


async def _keep(renew: Callable[[], Awaitable[bool]], renewing: Renewing) -> None:
    failures = 0
    while failures < renewing.failures_max:
        await asyncio.sleep(renewing.every_s)
        try:
            async with asyncio.timeout(renewing.within_s):
                is_ours = await renew()
        except (Unavailable, TimeoutError):
            failures += 1
            continue
        if not is_ours:
            break
        failures = 0
    message = "the lease of this work is over, or another process has it"
    raise LeaseLost(message)
