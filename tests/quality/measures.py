"""The arithmetic of quality: pure functions of spans and confidences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from chancery.evidence.sentences import Span


def characters(spans: Iterable[Span]) -> int:
    """Return how many characters lie in the union of `spans`."""
    total, reached = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def common(one: Sequence[Span], other: Sequence[Span]) -> int:
    """Return how many characters lie in both unions."""
    return characters(one) + characters(other) - characters([*one, *other])


def recall(needed: Sequence[Span], shown: Sequence[Span]) -> float:
    """Return the share of the needed characters that is shown."""
    return common(needed, shown) / characters(needed)


def holds(shown: Span, needed: Sequence[Span]) -> bool:
    """Tell whether every needed span lies inside the shown one."""
    return all(shown[0] <= start and end <= shown[1] for start, end in needed)


def mean(values: Iterable[float]) -> float:
    """Return the mean, 0 of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def below(confidences: Sequence[float], threshold: float) -> float:
    """Return the share that is refused at `threshold`."""
    return mean(float(one < threshold) for one in confidences)


def threshold_for(withheld: Sequence[float], refused_min: float) -> float:
    """Return the smallest threshold at which at least `refused_min` of `withheld` is refused."""
    ordered = sorted(withheld)
    last = ordered[min(len(ordered), math.ceil(refused_min * len(ordered))) - 1]
    return math.nextafter(last, math.inf)
