"""Producers of the embedded NATS: who may submit over the bus gets a user, while it runs."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from chancery.bus.accounts import create_producer
from chancery.bus.connection import connect
from chancery.embedded.errors import NotRunning
from chancery.embedded.nats import listening_port, user_url
from chancery.embedded.nats_users import load_users, write_accounts, write_users
from chancery.embedded.process import signal_running
from chancery.kernel.errors import Unavailable

RELOAD_S = 10.0
_ATTEMPT_S = 1.0
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a producer's client needs; the password in `url` is shown this once."""

    user: str
    url: str = field(repr=False)
    inbox_prefix: str


async def add_producer(folder: Path, *, run: Path, tenant: str, principal: str) -> Invitation:
    """Give a principal a NATS user and let the running server know; connections stay.

    Adding it again draws another password and ends the one before. What the principal may do is
    decided by its memberships when it submits, not here.

    Raises:
        Rejected: for an id that is none.
        NotRunning: when no server runs on this folder.
        Unavailable: when the server does not let the new user in.
    """
    producer = create_producer(tenant, principal)
    pid_path, port = run / "nats.pid", listening_port(folder)
    if port is None or not pid_path.exists():
        raise _not_running()
    users = load_users(folder).with_producer(producer)
    write_users(folder, users)
    write_accounts(folder, users)
    if not signal_running(pid_path, signal.SIGHUP):
        raise _not_running()
    url = user_url(producer.user, users.password(producer.user), port)
    await _until_let_in(url)
    return Invitation(producer.user, url, producer.inbox_prefix)


async def _until_let_in(url: str) -> None:
    deadline = time.monotonic() + RELOAD_S
    while time.monotonic() < deadline:
        await asyncio.sleep(_PAUSE_S)  # The server takes a moment; asking at once fails noisily.
        if await _is_let_in(url):
            return
    message = "NATS did not take the new user up; its log nats.log says why"
    raise Unavailable(message, code="not_reloaded")


async def _is_let_in(url: str) -> bool:
    try:
        async with connect(url, name="chancery-producers", timeout_s=_ATTEMPT_S):
            return True
    except Unavailable:
        return False


def _not_running() -> NotRunning:
    return NotRunning("no embedded NATS runs on this folder; start it with chancery up")
