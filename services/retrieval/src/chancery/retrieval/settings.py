"""The settings of retrieval, beside those that every service has."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from chancery.events.topology import RETRIEVAL_REPLICAS_MAX
from chancery.runtime.settings import ServiceSettings


class RetrievalSettings(ServiceSettings):
    """`workers` runs are gathered for at a time; the index stands in `data_dir`.

    `replica` is which of several this is, the first being 0: no two may share a number or a folder.
    """

    workers: int = Field(default=8, ge=1, le=64)
    replica: int = Field(default=0, ge=0, lt=RETRIEVAL_REPLICAS_MAX)

    @property
    def index_folder(self) -> Path:
        """Return the folder with one index per tenant; it can be removed at any time."""
        return self.data_dir / "index"
