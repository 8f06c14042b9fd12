"""The rebuild of the authority projection: `python -m tests.bench.rebuild.rebuilding`."""

from __future__ import annotations

import os
import sys
import time

from pydantic import SecretStr

from chancery.bus.connection import connect
from chancery.events.topology import RELEASE_AUTHORITY, RELEASE_AUTHORITY_REBUILD, consumer
from chancery.release.adapters.authority_rows import AuthorityApplier
from chancery.release.adapters.projector import Projector
from chancery.release.adapters.table_sets import Rebuild
from chancery.release.ports.position import Position
from chancery.release.ports.table_sets import Progress
from chancery.runtime.process import run
from tests.bench.rebuild.told import DSN_VARIABLE, NATS_VARIABLE, Replayed, peak_mb


async def measure() -> None:
    """Print how long it takes to fill a fresh table set up to the end of the log."""
    async with connect(os.environ[NATS_VARIABLE], name="bench-rebuild") as bus:
        dsn = SecretStr(os.environ[DSN_VARIABLE])
        # A fresh set stands beside a live one, which is empty here.
        live = Projector(
            name="authority",
            bus=bus,
            dsn=dsn,
            consumer=consumer(RELEASE_AUTHORITY),
            new_applier=AuthorityApplier,
            position=Position(),
        )
        await live.prepare()
        rebuild = Rebuild(
            name="authority",
            bus=bus,
            dsn=dsn,
            consumer=consumer(RELEASE_AUTHORITY_REBUILD),
            new_applier=AuthorityApplier,
        )
        begun = time.perf_counter()
        checkpoint = await rebuild.rebuild(_silent)
        seconds = time.perf_counter() - begun
    events = checkpoint.mark.sequence
    replayed = Replayed(events=events, seconds=seconds, peak_mb=peak_mb())
    print(replayed.model_dump_json(), flush=True)


def _silent(progress: Progress) -> None:
    del progress


if __name__ == "__main__":
    sys.exit(run(measure))
