"""The reader's mark in a small file beside the index folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chancery.events.envelope import Moment
from chancery.kernel.errors import Unavailable
from chancery.retrieval.domain.mark import Mark

FORMAT = 4
"""Raise it whenever analyzers, passages or the index schema change: everything is built again."""


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    stream_created: Moment
    position: int = Field(ge=0)
    tenants: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FileCheckpoint:
    """The `Checkpoint` in one file.

    It is replaced at once but not synced: torn by a power cut it is like a lost one. One of another
    format is like a lost one too, unless it `keeps_format`: then the index is used as it is.
    """

    path: Path
    keeps_format: bool = False

    def load(self) -> Mark | None:
        """Return the last mark; see `Checkpoint.load`."""
        found = self._read()
        if found is None or not (self.keeps_format or found.format == FORMAT):
            return None
        return Mark(found.stream_created, found.position, found.tenants)

    def is_outdated(self) -> bool:
        """Tell whether the index beside it was built in another format."""
        found = self._read()
        return found is not None and found.format != FORMAT

    def store(self, mark: Mark) -> None:
        """Keep `mark`; see `Checkpoint.store`."""
        before = self._read() if self.keeps_format else None
        found = _File(
            format=FORMAT if before is None else before.format,
            stream_created=mark.stream_created,
            position=mark.position,
            tenants=mark.tenants,
        )
        partial = self.path.with_suffix(".partial")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.write_text(found.model_dump_json(), encoding="utf-8")
            partial.replace(self.path)
        except OSError as error:
            message = "the index folder cannot be written to now"
            raise Unavailable(message, code="index_folder_away") from error

    def _read(self) -> _File | None:
        try:
            return _File.model_validate_json(self.path.read_bytes())
        except (OSError, ValidationError):
            return None
