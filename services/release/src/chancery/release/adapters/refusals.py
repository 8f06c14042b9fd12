"""What the database, or the way to it, says of a row that it does not take."""

from __future__ import annotations

from typing import Final

import asyncpg

from chancery.kernel.errors import Corrupt

REFUSED: Final = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    Corrupt,
    UnicodeError,
)
"""A NUL, a number out of range, a broken check, an index entry that is too long."""
