"""The operator's token as a file that only its owner may read."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from chancery.kernel.errors import Unavailable

OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class OperatorTokenFile:
    """Written beside its place, made durable, then moved there: never half a token."""

    path: Path

    async def exists(self) -> bool:
        """Return whether the file is there."""
        return await asyncio.to_thread(self.path.exists)

    async def write(self, token: str) -> None:
        """Store `token` with one line end, durably, with mode 0600.

        Raises:
            Unavailable: with code `token_file_unwritable`.
        """
        try:
            await asyncio.to_thread(self._write, token)
        except OSError as error:
            message = "the operator's token file cannot be written; check the folder's permissions"
            raise Unavailable(message, code="token_file_unwritable") from error

    def _write(self, token: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
