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
ACTIVITY: Final = "activity"
PROPOSED: Final = "proposed"

CUT: Final = "bench-cut"
NUDGES: Final = "bench-nudge"
ASKED: Final = "bench-ask"
OPEN: Final = b"open"
ENDED: Final = b"ended"

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


_RECEIVED: Final = {
    topology.RELEASE_REQUESTED: REQUESTED,
    topology.RETRIEVAL_RUNS: ADMITTED,
    topology.EXECUTION_RUNS: GATHERED,
    topology.RELEASE_GATHERED: GATHERED,
    topology.RELEASE_ACTIVITY: ACTIVITY,
    topology.RELEASE_PROPOSED: PROPOSED,
}
WORKERS: Final = {name: _worker(name, event) for name, event in _RECEIVED.items()}
"""The durable that stands for each of the real path."""

PASSED_ON: Final[dict[str, tuple[str, ...]]] = {
    topology.RELEASE_REQUESTED: (ADMITTED,),
    topology.RETRIEVAL_RUNS: (GATHERED,),
    topology.EXECUTION_RUNS: (ACTIVITY, PROPOSED),
    topology.RELEASE_GATHERED: (),
    topology.RELEASE_ACTIVITY: (),
}
"""What is published for each message; what `proposed` brings is sealed."""

PROCESSES: Final[dict[str, tuple[str, ...]]] = {
    "retrieval": (topology.RETRIEVAL_RUNS,),
    "execution": (topology.EXECUTION_RUNS,),
    "release": (
        topology.RELEASE_REQUESTED,
        topology.RELEASE_GATHERED,
        topology.RELEASE_ACTIVITY,
        topology.RELEASE_PROPOSED,
    ),
}
"""Which durables each process serves, as the services do."""

READER: Final = replace(
    topology.consumer(topology.RELEASE_AUTHORITY), name="bench-authority", stream=AUTHORITY.name
)
PLAN: Final = Plan(streams=STREAMS, consumers=(*WORKERS.values(), READER))
