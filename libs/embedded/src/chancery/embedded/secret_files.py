"""Secrets that are drawn once and then stay: keys and passwords in files only their owner reads."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from chancery.embedded.errors import SecretDamaged
from chancery.kernel.ids import random_id

_HEX_KEY = re.compile(r"[0-9a-f]{64}")


def hex_key(path: Path) -> str:
    """Return the 32-byte key in `path` as hex, drawing it when the file does not exist yet.

    Raises:
        SecretDamaged: when the file holds anything else; it is never overwritten.
    """
    if not path.exists():
        write_secret(path, secrets.token_bytes(32).hex())
    key = path.read_text(encoding="ascii", errors="replace").strip()
    if _HEX_KEY.fullmatch(key) is None:
        message = f"{path} does not hold 64 hex digits; restore it from a backup."
        raise SecretDamaged(message)
    return key


def new_password() -> str:
    """Return a fresh password of letters and digits, safe inside a URL."""
    return secrets.token_hex(24)


def write_secret(path: Path, text: str) -> None:
    """Write `text` to `path`, mode 0600, wholly or not at all, and on disk when this returns."""
    partial = path.with_name(f".{path.name}.{random_id()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
