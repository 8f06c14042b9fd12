"""Files that become tables."""

from __future__ import annotations

import tempfile
from pathlib import Path

from chancery.tabular.engine import Engine

PARQUET_TYPE = "application/vnd.apache.parquet"


def parquet_of(select: str) -> bytes:
    """Return what a statement gives, as a Parquet file."""
    with Engine() as engine, tempfile.TemporaryDirectory() as folder:
        engine.run("SET TimeZone='UTC'")
        file = Path(folder) / "file.parquet"
        engine.run(f"COPY ({select}) TO '{file}' (FORMAT parquet)")
        return file.read_bytes()
