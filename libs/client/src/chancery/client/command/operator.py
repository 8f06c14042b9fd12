"""The operator's way onto the bus: the user that provisions, as configured or of a data folder."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

from chancery.bus.accounts import ADMIN
from chancery.bus.connection import Connection, connect
from chancery.bus.request import TIMEOUT_S, ask
from chancery.client.command.settings import CommandSettings, InvalidSetting, without_login
from chancery.embedded.folder import require_running
from chancery.embedded.nats import listening_port, user_url
from chancery.embedded.nats_users import ADMIN_FILE, load_users
from chancery.events.requests import Caller, Message, Request, request_type
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Unavailable
from chancery.kernel.ids import random_id

NAME: Final = "chancery-operator"

BodyT = TypeVar("BodyT", bound=Message)
AnswerT = TypeVar("AnswerT", bound=Message)

OPERATOR: Final = Caller(
    tenant="operator", principal="operator", credential_id="operator", proof=sha256_hex(b"")
)
"""Who asks: no principal of a tenant; the login on the bus is the proof."""


@asynccontextmanager
async def operator_bus(settings: CommandSettings, folder: Path) -> AsyncGenerator[Connection]:
    """Log in to the bus of CHANCERY_NATS_URL, or to the one that runs in the data folder.

    Raises:
        NotRunning: there is neither.
        Unavailable: it does not answer.
    """
    # The driver would tell of every attempt.
    logging.getLogger("chancery.bus").setLevel(logging.CRITICAL)
    url = operator_url(settings, folder)
    async with AsyncExitStack() as stack:
        try:
            connection = await stack.enter_async_context(
                connect(url, name=NAME, api_prefix=settings.nats_api_prefix)
            )
        except Unavailable as error:
            message = f"no NATS answers at {without_login(url)}; start it or set CHANCERY_NATS_URL"
            raise Unavailable(message, field="CHANCERY_NATS_URL") from error
        yield connection


def operator_url(settings: CommandSettings, folder: Path) -> str:
    """Return the URL with the operator's login.

    Raises:
        NotRunning: none is set, and no system runs on the folder.
        InvalidSetting: none is set, and the NATS of the system that runs is another one.
    """
    if "nats_url" in settings.model_fields_set:
        return settings.nats_url
    require_running(folder)
    nats = folder / "nats"
    port = listening_port(nats)
    if port is None or not (nats / ADMIN_FILE).exists():
        message = "set CHANCERY_NATS_URL to the user that provisions"
        raise InvalidSetting(message, field="CHANCERY_NATS_URL")
    return user_url(ADMIN, load_users(nats).admin, port)


async def ask_owner(
    connection: Connection,
    subject: str,
    body: Message,
    reply: type[AnswerT],
    *,
    timeout_s: float = TIMEOUT_S,
) -> AnswerT:
    """Ask a service as its operator.

    Raises:
        ChanceryError: what the owner raised, or `Unavailable` when it does not answer.
    """
    request = operator_request(subject, body)
    return await ask(connection, subject, request, reply, timeout_s=timeout_s)


def operator_request(subject: str, body: BodyT) -> Request[BodyT]:
    """Return a request of the operator."""
    return request_type(type(body))(
        caller=OPERATOR,
        route=subject,
        idempotency_key=random_id(),
        request_sha256=sha256_hex(body.model_dump_json().encode()),
        body=body,
    )
