"""The spans that a running system wrote, by trace."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from tests.e2e.running import System


class Span(BaseModel):
    """One span as the services write it."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    attributes: dict[str, str]


def spans_beside(folder: Path) -> Path:
    """Return the file to which the services of the system in `folder` write their spans."""
    return folder.with_name("spans.jsonl")


def spans_of(system: System) -> list[Span]:
    """Return every span that was written whole so far."""
    lines = spans_beside(system.folder).read_bytes().splitlines(keepends=True)
    return [Span.model_validate_json(line) for line in lines if line.endswith(b"\n")]


def traces_with(spans: list[Span], service: str, name: str) -> dict[str, list[Span]]:
    """Return the traces in which `service` has a span called `name`, by trace id."""
    wanted = {span.trace_id for span in spans if (span.service, span.name) == (service, name)}
    return {trace: [span for span in spans if span.trace_id == trace] for trace in wanted}
