"""The report's arithmetic: percentiles by nearest rank, ratios of medians, stages of traces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.arithmetic import (
    Span,
    Summary,
    median_share,
    percentile,
    rate,
    ratio,
    stages,
    summary,
)
from tests.bench.spans import Line, sealed_traces

durations = st.lists(st.floats(0.001, 100, allow_nan=False), min_size=1, max_size=60)


def timed(p50_ms: float) -> Summary:
    """Return a summary with this median."""
    return Summary(count=1, p50_ms=p50_ms, p95_ms=p50_ms, max_ms=p50_ms)


@pytest.mark.parametrize(
    ("count", "share", "expected"),
    [(1, 0.5, 1), (2, 0.5, 1), (3, 0.5, 2), (20, 0.95, 19), (40, 0.95, 38), (40, 1.0, 40)],
)
def test_a_percentile_is_the_value_of_its_rank(count: int, share: float, expected: int) -> None:
    values = [float(value) for value in range(count, 0, -1)]

    assert percentile(values, share) == expected


@given(values=durations, share=st.floats(0.01, 1))
def test_a_percentile_is_a_value_that_its_share_does_not_exceed(
    values: list[float], share: float
) -> None:
    found = percentile(values, share)

    below = sum(value <= found for value in values)
    under = sum(value < found for value in values)
    assert found in values
    assert below >= share * len(values) - 1e-6 * len(values)
    assert under < share * len(values) + 1e-6 * len(values)


@pytest.mark.parametrize(("values", "share"), [([], 0.5), ([1.0], 0.0), ([1.0], 1.1)])
def test_a_percentile_of_nothing_is_refused(values: list[float], share: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, share)


def test_a_summary_is_in_milliseconds() -> None:
    assert summary([0.2, 0.1, 0.4]) == Summary(count=3, p50_ms=200, p95_ms=400, max_ms=400)


def test_a_ratio_is_of_the_medians() -> None:
    assert ratio(timed(50), timed(20)) == 2.5
    with pytest.raises(ValueError, match="no time"):
        ratio(timed(50), timed(0))


def test_a_rate_is_per_second() -> None:
    assert rate(10, 4) == 2.5
    with pytest.raises(ValueError, match="above 0"):
        rate(1, 0)


@pytest.mark.parametrize(
    ("ours", "beside", "expected"),
    [
        ([1.0], [4.0], 0.25),
        ([1.0, 9.0, 3.0], [2.0, 10.0, 4.0], 0.75),
        ([1.0, 3.0], [2.0, 4.0], 0.625),
    ],
)
def test_a_share_is_the_median_of_what_was_measured_by_turns(
    ours: list[float], beside: list[float], expected: float
) -> None:
    assert median_share(ours, beside) == expected


@given(pairs=st.lists(st.tuples(st.floats(1, 100), st.floats(1, 100)), min_size=1))
def test_a_share_lies_between_the_shares_of_its_turns(pairs: list[tuple[float, float]]) -> None:
    shares = [ours / beside for ours, beside in pairs]

    found = median_share([ours for ours, _ in pairs], [beside for _, beside in pairs])

    assert min(shares) - 0.001 <= found <= max(shares) + 0.001


@pytest.mark.parametrize(("ours", "beside"), [([], []), ([1.0], [1.0, 2.0])])
def test_a_share_of_turns_that_do_not_pair_is_refused(
    ours: list[float], beside: list[float]
) -> None:
    with pytest.raises(ValueError, match="as many"):
        median_share(ours, beside)


def test_stages_are_medians_in_order_of_their_start() -> None:
    traces = {
        "a": [Span("a", "seal", 5_000, 9_000), Span("a", "request", 1_000, 3_000)],
        "b": [Span("b", "request", 0, 1_000), Span("b", "seal", 8_000, 9_000)],
        "c": [Span("c", "request", 0, 9_000), Span("c", "seal", 6_000, 8_000)],
    }

    found = [(item["name"], item["starts_ms"], item["takes_ms"]) for item in stages(traces)]

    assert found == [("request", 0.0, 2.0), ("seal", 6.0, 2.0)]


def test_of_a_repeated_span_the_first_counts() -> None:
    spans = [Span("a", "x", 2_000, 3_000), Span("a", "x", 1_000, 9_000), Span("a", "y", 0, 1)]

    found = {item["name"]: item["starts_ms"] for item in stages({"a": spans})}

    assert found == {"y": 0.0, "x": 1.0}


def test_only_sealed_traces_of_the_asked_runs_count() -> None:
    def line(trace: str, name: str, run: str | None = None) -> Line:
        attributes = {} if run is None else {"chancery.subject": run}
        return Line(name=name, trace_id=trace, start_us=0, end_us=1, attributes=attributes)

    lines = [
        line("t1", "request"), line("t1", "handle", "r1"), line("t1", "seal"),
        line("t2", "handle", "r2"), line("t2", "seal"),
        line("t3", "handle", "r3"),
    ]  # fmt: skip

    found = sealed_traces(lines, {"r1", "r3"})

    assert {trace: [span.name for span in spans] for trace, spans in found.items()} == {
        "t1": ["request", "handle", "seal"]
    }
