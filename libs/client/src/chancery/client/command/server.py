"""The server that a command calls, with the token that it calls it with."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from chancery.client.command.settings import CommandSettings, server_token, server_url
from chancery.client.http import Chancery, connect

ABSENCE_S = 2.0
"""A person wants to know soon that nothing runs there."""


def server_client(settings: CommandSettings) -> AbstractAsyncContextManager[Chancery]:
    """Open a client of the configured server.

    Raises:
        NoToken: when there is none to call it with.
    """
    return connect(server_url(settings), server_token(settings), absence_s=ABSENCE_S)
