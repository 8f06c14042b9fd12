"""The settings of retrieval, beside those that every service has."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from chancery.runtime.settings import ServiceSettings


class RetrievalSettings(ServiceSettings):
    """`workers` runs are gathered for at a time; the index stands in `data_dir`."""

    workers: int = Field(default=8, ge=1, le=64)

    @property
    def index_folder(self) -> Path:
        """Return the folder with one index per tenant; it can be removed at any time."""
        return self.data_dir / "index"

    @property
    def checkpoint_file(self) -> Path:
        """Return the file beside it that says how far the indexes have come."""
        return self.data_dir / "index-checkpoint.json"
