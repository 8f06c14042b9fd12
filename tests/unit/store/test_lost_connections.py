"""What the driver says of a connection that broke is unavailable; what it says of a bug is not."""

from __future__ import annotations

import asyncpg
import pytest

from chancery.kernel.errors import Unavailable
from chancery.store.pool import translate_errors

BROKEN = (
    asyncpg.InterfaceError("connection is closed"),
    asyncpg.InterfaceError("pool is closing"),
    asyncpg.InternalClientError("cannot switch to state 11; another operation is in progress"),
    asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
)
BUGS = (
    asyncpg.InterfaceError("the server expects 2 arguments for this query, 1 was passed"),
    asyncpg.DataError("invalid input for query argument $1: 'closed'"),
)


@pytest.mark.parametrize("error", BROKEN, ids=str)
def test_a_connection_that_broke_is_unavailable(error: Exception) -> None:
    with pytest.raises(Unavailable), translate_errors():
        raise error


@pytest.mark.parametrize("error", BUGS, ids=str)
def test_a_bug_stays_what_it_is(error: Exception) -> None:
    with pytest.raises(type(error)), translate_errors():
        raise error
