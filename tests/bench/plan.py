"""The skeleton's streams, durables and subjects: those of the real path under other names."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chancery.bus.provision import Plan
from chancery.events import topology
from chancery.events.topology import Consumer, Stream

REQUESTED: Final = "requested"
ADMITTED: Final = "admitted"
GATHERED: Final = "gathered"
PROPOSED: Final = "proposed"

CUT: Final = "bench-cut"
NUDGES: Final = "bench-nudge"

RUNS: Final = replace(
    topology.stream(topology.RUNS), name="BENCH_RUNS", subjects=("bench-stage.*.*",)
)
AUTHORITY: Final = replace(
    topology.stream(topology.AUTHORITY), name="BENCH_AUTHORITY", subjects=(CUT,)
)
RELEASES: Final = replace(
    topology.stream(topology.RELEASES), name="BENCH_RELEASES", subjects=("bench-release.*",)
)
STREAMS: Final[tuple[Stream, ...]] = (RUNS, AUTHORITY, RELEASES)


def stage_subject(run: str, event: str) -> str:
    """Return the subject of one stage of one run."""
    return f"bench-stage.{run}.{event}"


def release_subject(run: str) -> str:
    """Return the subject that says that a run ended."""
    return f"bench-release.{run}"


def _worker(name: str, event: str) -> Consumer:
    real = topology.consumer(name)
    return replace(
        real, name=f"bench-{name}", stream=RUNS.name, subjects=(stage_subject("*", event),)
    )


WORKERS: Final[dict[str, Consumer]] = {
    REQUESTED: _worker(topology.RELEASE_REQUESTED, REQUESTED),
    ADMITTED: _worker(topology.RETRIEVAL_RUNS, ADMITTED),
    GATHERED: _worker(topology.EXECUTION_RUNS, GATHERED),
    PROPOSED: _worker(topology.RELEASE_PROPOSED, PROPOSED),
}
"""The durable that receives each stage's event."""

READER: Final = replace(
    topology.consumer(topology.RELEASE_AUTHORITY), name="bench-authority", stream=AUTHORITY.name
)
PLAN: Final = Plan(streams=STREAMS, consumers=(*WORKERS.values(), READER))

PROCESSES: Final[dict[str, tuple[str, ...]]] = {
    "release": (REQUESTED, PROPOSED),
    "retrieval": (ADMITTED,),
    "execution": (GATHERED,),
}
"""Which events each process of the skeleton receives, as the services do."""
