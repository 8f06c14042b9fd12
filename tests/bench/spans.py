"""The spans file of a run of the bench: which traces are whole asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from tests.bench.arithmetic import Span

LAST_STAGE: Final = "seal"
SUBJECT: Final = "chancery.subject"


class Line(BaseModel):
    """One line of the file."""

    name: str
    trace_id: str
    start_us: int
    end_us: int
    attributes: dict[str, str]

    @property
    def span(self) -> Span:
        """Return what the arithmetic needs."""
        return Span(self.trace_id, self.name, self.start_us, self.end_us)


def read_lines(path: Path) -> list[Line]:
    """Return every whole line of the file; the last one may be cut off."""
    return [Line.model_validate_json(line) for line in path.read_bytes().split(b"\n")[:-1]]


def sealed_traces(lines: Sequence[Line], runs: Collection[str]) -> Mapping[str, list[Span]]:
    """Return the traces of `runs` in which something was sealed, by trace id."""
    wanted = {line.trace_id for line in lines if line.attributes.get(SUBJECT) in runs}
    sealed = {line.trace_id for line in lines if line.name == LAST_STAGE}
    traces: dict[str, list[Span]] = {trace_id: [] for trace_id in wanted & sealed}
    for line in lines:
        if line.trace_id in traces:
            traces[line.trace_id].append(line.span)
    return traces
