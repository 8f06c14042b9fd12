"""Where a command calls and with which token; the operator's goes to the system of its folder only.

That token may do everything, and whoever listens at an address may not be that system: it is sent
only while a process holds the data folder, and only to the port that this process recorded there.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

import httpx

from chancery.client.command.output import ISSUES_ONE, WrongUsage
from chancery.client.command.settings import (
    CommandSettings,
    NoToken,
    operator_token,
    recorded_url,
    server_token,
    server_url,
    without_login,
)
from chancery.embedded.errors import NotRunning

_HERE = frozenset({"127.0.0.1", "localhost"})


class TokenForAnother(WrongUsage):
    """There is no token but the operator's, which is not for this address."""

    code = NoToken.code


@dataclass(frozen=True, slots=True)
class Called:
    """An address and the token that goes there."""

    url: str
    token: str = field(repr=False)


def called(settings: CommandSettings) -> Called:
    """Return where to call and as whom; nothing is sent.

    Raises:
        TokenForAnother: without a token of its own, an address is given that is not the system's.
        NotRunning: nothing is given, and no system runs on the data folder.
        NoToken: the token cannot be read there.
    """
    if settings.token is not None:
        return Called(server_url(settings), server_token(settings))
    recorded, given = recorded_url(settings.data_dir), _given(settings)
    if given is not None and (recorded is None or not _is_same(given[1], recorded)):
        raise _for_another(settings, *given)
    if recorded is None:
        raise _not_running(settings)
    return Called(recorded, operator_token(settings.data_dir))


def in_the_clear(url: str) -> str | None:
    """Return the host to which a token would travel unencrypted over a network, if any."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return None
    if parsed.scheme != "http" or parsed.host == "localhost":
        return None
    try:
        return None if ipaddress.ip_address(parsed.host).is_loopback else parsed.host
    except ValueError:
        return parsed.host or None


def _given(settings: CommandSettings) -> tuple[str, str] | None:
    """Return the variable that names an address, and the address."""
    if settings.url is not None:
        return "CHANCERY_URL", settings.url
    if "http_port" in settings.model_fields_set:
        return "CHANCERY_HTTP_PORT", server_url(settings)
    return None


def _is_same(given: str, recorded: str) -> bool:
    try:
        one, other = httpx.URL(given), httpx.URL(recorded)
    except httpx.InvalidURL:
        return False
    is_plain = not one.userinfo and not one.query and one.path in {"", "/"}
    is_here = one.scheme == other.scheme and one.host in _HERE and one.port == other.port
    return is_plain and is_here


def _for_another(settings: CommandSettings, variable: str, url: str) -> TokenForAnother:
    message = (
        f"CHANCERY_TOKEN is not set, and {variable} names {without_login(url)}: the operator's "
        f"token of {settings.data_dir} is only for the system that runs on that folder; "
        f"{ISSUES_ONE} there, or unset {variable}"
    )
    return TokenForAnother(message, field="CHANCERY_TOKEN")


def _not_running(settings: CommandSettings) -> NotRunning:
    message = (
        f"no system that is ready runs on {settings.data_dir}; start it with `chancery up`, or set "
        "CHANCERY_DATA_DIR to the folder of one that runs, or CHANCERY_URL and CHANCERY_TOKEN"
    )
    return NotRunning(message, field="CHANCERY_DATA_DIR")
