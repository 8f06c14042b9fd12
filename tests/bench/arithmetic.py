"""The arithmetic of the report: percentiles, ratios, and stages out of spans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict


class Summary(TypedDict):
    """Durations of one kind of ask, in milliseconds."""

    count: int
    p50_ms: float
    p95_ms: float
    max_ms: float


class Stage(TypedDict):
    """A span of the path: when it starts after the request, and how long it takes (medians)."""

    name: str
    count: int
    starts_ms: float
    takes_ms: float


@dataclass(frozen=True, slots=True)
class Span:
    """One span of one trace; microseconds."""

    trace_id: str
    name: str
    start_us: int
    end_us: int


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of all values do not exceed (nearest rank).

    Raises:
        ValueError: when there are no values, or `share` is not above 0 and at most 1.
    """
    if not values or not 0 < share <= 1:
        message = "a percentile needs values and a share above 0 and at most 1"
        raise ValueError(message)
    # Rounding keeps 0.95 * 20 = 19.000000000000004 from asking for one rank more.
    rank = math.ceil(round(share * len(values), 9))
    return sorted(values)[rank - 1]


def summary(seconds: Sequence[float]) -> Summary:
    """Return what the report says of durations in seconds."""
    return Summary(
        count=len(seconds),
        p50_ms=_milliseconds(percentile(seconds, 0.5)),
        p95_ms=_milliseconds(percentile(seconds, 0.95)),
        max_ms=_milliseconds(max(seconds)),
    )


def ratio(real: Summary, skeleton: Summary) -> float:
    """Return how many times the skeleton's median the real one takes."""
    if skeleton["p50_ms"] <= 0:
        message = "the skeleton took no time, so there is no ratio"
        raise ValueError(message)
    return round(real["p50_ms"] / skeleton["p50_ms"], 2)


def rate(count: int, seconds: float) -> float:
    """Return how many there were per second.

    Raises:
        ValueError: when there was no time for them.
    """
    if seconds <= 0:
        message = "a rate needs a time above 0"
        raise ValueError(message)
    return count / seconds


def median_share(ours: Sequence[float], beside: Sequence[float]) -> float:
    """Return the median of the quotients of rates that were measured by turns.

    Raises:
        ValueError: when there are none, or not as many of each.
    """
    if not ours or len(ours) != len(beside):
        message = "a share needs as many rates of the one as of the other"
        raise ValueError(message)
    shares = sorted(each / other for each, other in zip(ours, beside, strict=True))
    middle = len(shares) // 2
    found = shares[middle] if len(shares) % 2 else (shares[middle - 1] + shares[middle]) / 2
    return round(found, 3)


def stages(traces: Mapping[str, Sequence[Span]]) -> list[Stage]:
    """Return the median start and duration of each span name over `traces`, in order of start.

    Starts are counted from the first span of the trace. Of a name that a trace has more than once
    the first counts.
    """
    starts: dict[str, list[float]] = {}
    lengths: dict[str, list[float]] = {}
    for spans in traces.values():
        begin = min(span.start_us for span in spans)
        for span in _firsts(spans):
            starts.setdefault(span.name, []).append((span.start_us - begin) / 1000)
            lengths.setdefault(span.name, []).append((span.end_us - span.start_us) / 1000)
    found = [
        Stage(
            name=name,
            count=len(values),
            starts_ms=round(percentile(values, 0.5), 2),
            takes_ms=round(percentile(lengths[name], 0.5), 2),
        )
        for name, values in starts.items()
    ]
    return sorted(found, key=lambda stage: (stage["starts_ms"], stage["name"]))


def _firsts(spans: Sequence[Span]) -> list[Span]:
    found: dict[str, Span] = {}
    for span in sorted(spans, key=lambda each: each.start_us):
        found.setdefault(span.name, span)
    return list(found.values())


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)
