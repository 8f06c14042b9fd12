"""What the database, or the way to it, says of a row that it does not take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import asyncpg

from chancery.bus.load import Stored
from chancery.kernel.errors import Corrupt

REFUSED: Final = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    Corrupt,
    UnicodeError,
)
"""A NUL, a number out of range, a broken check, an index entry that is too long."""


def is_doubtful(messages: Iterable[Stored]) -> bool:
    """Tell whether the database may refuse what a message says: it holds a NUL, escaped or not.

    Such a message is stored alone, so that no later one in its batch hides what is refused.
    """
    said = b" ".join([message.payload for message in messages])
    return b"\\u0000" in said or b"\0" in said
