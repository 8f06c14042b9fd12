"""The bare pair beside which seals are measured: `python -m tests.bench.release.bare`.

One acknowledged JetStream publish of a cut's bytes, then one PostgreSQL commit of the bytes of a
release, in a process that does nothing else: 32 of them at a time, over the same pool.
"""

from __future__ import annotations

import os
import secrets
import sys
from typing import Final

from pydantic import BaseModel

from chancery.bus.connection import connect
from chancery.bus.publish import Outgoing, publish_message
from chancery.kernel.ids import random_id
from chancery.runtime.process import run
from chancery.store.pool import PoolLimits, open_pool
from chancery.store.queries import load_queries
from tests.bench.crowd import at_once

NATS_VARIABLE: Final = "BENCH_NATS_URL"
DSN_VARIABLE: Final = "BENCH_DSN"
SUBJECT: Final = "bench-bare"
WARM_UPS: Final = 100

_INSERT = load_queries("tests.bench")["insert_bare"]


class Took(BaseModel):
    """How long how many took."""

    count: int
    seconds: float


async def measure(count: int, workers: int, connections: int, sizes: tuple[int, int]) -> None:
    """Print how long `count` pairs took."""
    cut, row = (secrets.token_bytes(size) for size in sizes)
    limits = PoolLimits(connections_min=connections, connections_max=connections)
    pool = await open_pool(os.environ[DSN_VARIABLE], name="bench-bare", limits=limits)
    async with pool, connect(os.environ[NATS_VARIABLE], name="bench-bare") as bus:

        async def pair(_: int) -> None:
            outgoing = Outgoing(subject=SUBJECT, payload=cut, message_id=random_id())
            await publish_message(bus, outgoing)
            await pool.execute(_INSERT, random_id(), row)

        await at_once(workers, range(WARM_UPS), pair)
        seconds = await at_once(workers, range(count), pair)
    print(Took(count=count, seconds=seconds).model_dump_json(), flush=True)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    sys.exit(run(lambda: measure(numbers[0], numbers[1], numbers[2], (numbers[3], numbers[4]))))
