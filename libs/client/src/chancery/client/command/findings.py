"""One thing that `doctor` looked at, and whether anything has to be done about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chancery.kernel.errors import ChanceryError


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    is_well: bool
    detail: str


def finding(name: str, look: Callable[[], str]) -> Finding:
    """Return what `look` says, or what it fails with."""
    try:
        return Finding(name, is_well=True, detail=look())
    except ChanceryError as error:
        return Finding(name, is_well=False, detail=error.detail)
