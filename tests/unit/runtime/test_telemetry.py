"""Traces: one trace from parent to child, always with ids, exported only when asked for."""

from __future__ import annotations

import json
import re
from contextvars import copy_context
from pathlib import Path

import pytest
from opentelemetry import trace

from chancery.kernel.errors import Conflict
from chancery.runtime import telemetry
from chancery.runtime.settings import ServiceSettings

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[13]")


def test_a_traceparent_flows_without_any_exporter() -> None:
    with telemetry.span("outer"):
        outer = telemetry.current_traceparent()
        with telemetry.span("inner"):
            inner = telemetry.current_traceparent()

    assert outer is not None
    assert inner is not None
    assert TRACEPARENT.fullmatch(outer)
    assert outer[:35] == inner[:35]
    assert outer != inner


def test_a_span_continues_the_trace_of_a_message() -> None:
    with telemetry.span("stage", parent=PARENT):
        here = telemetry.current_traceparent() or ""

    assert here.split("-")[1] == PARENT.split("-")[1]
    assert here != PARENT


@pytest.mark.parametrize("parent", ["", "nonsense", "00-0-0-00", "00-" + "0" * 32 + "-x-01"])
def test_a_malformed_traceparent_starts_a_new_trace(parent: str) -> None:
    with telemetry.span("stage", parent=parent):
        assert TRACEPARENT.fullmatch(telemetry.current_traceparent() or "")


def test_there_is_no_traceparent_outside_of_spans() -> None:
    assert telemetry.current_traceparent() is None
    assert not trace.get_current_span().get_span_context().is_valid


def test_spans_are_written_as_lines_with_ids_and_codes_only(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    spans = telemetry.create_telemetry("release", ServiceSettings(spans_file=path))
    telemetry.use(spans)
    error = Conflict("the content of a message", code="raced")

    with pytest.raises(Conflict), telemetry.span("seal", parent=PARENT, ids={"run": "r1"}):
        raise error
    spans.close()

    (line,) = path.read_text("utf-8").splitlines()
    fields = json.loads(line)
    assert (fields["service"], fields["name"]) == ("release", "seal")
    assert fields["trace_id"] == PARENT.split("-")[1]
    assert fields["parent_id"] == PARENT.split("-")[2]
    assert fields["attributes"] == {"run": "r1", "error.type": "raced"}
    assert fields["start_us"] <= fields["end_us"]
    assert "content" not in line


def test_a_span_after_the_end_of_its_service_goes_nowhere_and_complains_of_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ended = telemetry.create_telemetry("release", ServiceSettings(spans_file=tmp_path / "spans"))

    def outlive() -> str:
        telemetry.use(ended)
        with telemetry.span("before"):
            pass
        ended.close()
        with telemetry.span("after"):
            return telemetry.current_trace_id()

    trace_id = copy_context().run(outlive)

    written = (tmp_path / "spans").read_text()
    assert "before" in written
    assert "after" not in written
    assert int(trace_id, 16) != 0
    assert caplog.records == []
