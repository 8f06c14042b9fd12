"""The settings of ingestion, beside those that every service has."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from chancery.runtime.settings import ServiceSettings


class IngestionSettings(ServiceSettings):
    """`operator_token_file` None means `operator.token` in the data folder.

    `max_upload_bytes` bounds a text that was uploaded before it is submitted over the bus.
    """

    operator_token_file: Path | None = None
    max_upload_bytes: int = Field(default=16 * 1024 * 1024, ge=1, le=1024 * 1024 * 1024)

    @property
    def operator_token_path(self) -> Path:
        """Return where the operator's token is written on the first start."""
        return self.operator_token_file or self.data_dir / "operator.token"
