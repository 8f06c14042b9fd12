"""Our reader, counting only: `python -m tests.bench.rebuild.counting <events>`."""

from __future__ import annotations

import os
import sys
import time
from contextlib import aclosing

from chancery.bus.connection import Connection, connect
from chancery.bus.reader import PullReader
from chancery.events.topology import RELEASE_AUTHORITY_REBUILD, consumer
from chancery.runtime.process import run
from tests.bench.rebuild.told import NATS_VARIABLE, Replayed, peak_mb


async def measure(expected: int) -> None:
    """Print how long reading that many events takes."""
    async with connect(os.environ[NATS_VARIABLE], name="bench-counting") as bus:
        begun = time.perf_counter()
        count = await _count(bus, expected)
        seconds = time.perf_counter() - begun
    replayed = Replayed(events=count, seconds=seconds, peak_mb=peak_mb())
    print(replayed.model_dump_json(), flush=True)


async def _count(bus: Connection, expected: int) -> int:
    count = 0
    reader = PullReader(bus, consumer(RELEASE_AUTHORITY_REBUILD))
    async with aclosing(reader.read(0)) as batches:
        async for batch in batches:
            count += len(batch)
            if count >= expected:
                break
    return count


if __name__ == "__main__":
    sys.exit(run(lambda: measure(int(sys.argv[1]))))
