"""What a measured process of the rebuild bench is told, and tells."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Final

from pydantic import BaseModel

NATS_VARIABLE: Final = "BENCH_NATS_URL"
DSN_VARIABLE: Final = "BENCH_DSN"


class Replayed(BaseModel):
    """How long so many events took, and the most memory that the process had."""

    events: int
    seconds: float
    peak_mb: float


def peak_mb() -> float:
    """Return the most resident memory that this process has had.

    Linux counts the memory of whoever started it as well, unless its own record is read.
    """
    record = Path("/proc/self/status")
    if record.exists():
        lines = dict(line.split(":", 1) for line in record.read_text("ascii").splitlines())
        return round(int(lines["VmHWM"].split()[0]) / 1024, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)
