"""Which failures pass, and when what failed so is tried again by itself: a few times, ever later.

How long a table takes, how much memory it needs and whether its process lives hang on the machine,
too; whether its bytes are there undamaged, on the store. Any other failure is of the content and
stays.
"""

from __future__ import annotations

from typing import Final

from chancery.indexing.domain.history import ResourceRef

PASSING: Final = frozenset({"sql_timeout", "sql_resources", "blob_not_found", "blob_corrupt"})
"""Why a snapshot may fail once and not again."""

ATTEMPTS_MAX: Final = 4

WAITS_S: Final = (60.0, 600.0, 3600.0)
"""How long after each attempt that failed the next one begins."""

assert len(WAITS_S) == ATTEMPTS_MAX - 1


def attempt_of(ref: ResourceRef, reason: str, before: int | None) -> int | None:
    """Return which attempt failed so, after `before`; None for a failure that stays."""
    passes = ref.kind == "dataset" and reason in PASSING
    return (before or 0) + 1 if passes else None


def next_attempt(attempt: int | None) -> int | None:
    """Return the attempt that follows one that failed, or None when none does."""
    return None if attempt is None or attempt >= ATTEMPTS_MAX else attempt + 1
