"""The settings of ingestion, beside those that every service has."""

from __future__ import annotations

from pathlib import Path

from chancery.runtime.settings import ServiceSettings


class IngestionSettings(ServiceSettings):
    """`operator_token_file` None means `operator.token` in the data folder."""

    operator_token_file: Path | None = None

    @property
    def operator_token_path(self) -> Path:
        """Return where the operator's token is written on the first start."""
        return self.operator_token_file or self.data_dir / "operator.token"
