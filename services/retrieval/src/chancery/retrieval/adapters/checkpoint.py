"""The reader's mark in a small file beside the index folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chancery.events.envelope import Moment
from chancery.kernel.errors import Unavailable
from chancery.retrieval.domain.mark import Mark

FORMAT = 3
"""Raise it whenever analyzers, passages or the index schema change: all indexes are built again."""


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[3] = FORMAT
    stream_created: Moment
    position: int = Field(ge=0)
    tenants: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FileCheckpoint:
    """The `Checkpoint` in one file.

    It is replaced at once but not synced: torn by a power cut it is like a lost one.
    """

    path: Path

    def load(self) -> Mark | None:
        """Return the last mark; see `Checkpoint.load`."""
        try:
            found = _File.model_validate_json(self.path.read_bytes())
        except (OSError, ValidationError):
            return None
        return Mark(found.stream_created, found.position, found.tenants)

    def store(self, mark: Mark) -> None:
        """Keep `mark`; see `Checkpoint.store`."""
        found = _File(
            stream_created=mark.stream_created, position=mark.position, tenants=mark.tenants
        )
        partial = self.path.with_suffix(".partial")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.write_text(found.model_dump_json(), encoding="utf-8")
            partial.replace(self.path)
        except OSError as error:
            message = "the index folder cannot be written to now"
            raise Unavailable(message, code="index_folder_away") from error
