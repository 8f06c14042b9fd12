"""Whether each setting that is given can be used: it is read, and what it names is asked.

Nothing is made and nothing is changed. No finding repeats a secret: not even a login in a URL.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, get_args
from urllib.parse import unquote, urlsplit

from chancery.attest.signing import SigningKey
from chancery.bus import connection as bus
from chancery.client.command.findings import Finding, finding
from chancery.client.command.settings import (
    CommandSettings,
    InvalidSetting,
    server_token,
    without_login,
)
from chancery.events.authority import Language
from chancery.kernel.errors import ChanceryError, Rejected
from chancery.store.blobs import open_blobs
from chancery.store.pool import PoolLimits, connect

WITHIN_S: Final = 10.0
_LIMITS: Final = PoolLimits(connect_timeout_s=5.0)
_NAME: Final = "chancery-doctor"


async def examine_given(settings: CommandSettings) -> list[Finding]:
    """Return a finding for each setting that is given and names something, or is a key."""
    given = settings.model_fields_set
    looks = _looks(settings).items()
    findings = [finding(_variable(name), look) for name, look in looks if name in given]
    asks = [_asked(_variable(name), ask) for name, ask in _asks(settings).items() if name in given]
    return [*findings, *await asyncio.gather(*asks)]


def _looks(settings: CommandSettings) -> dict[str, Callable[[], str]]:
    return {
        "language": lambda: _language(settings.language),
        "signing_key": lambda: _signing_key(settings),
        "token_key": lambda: _token_key(settings),
        "token": lambda: _token(settings),
    }


def _asks(settings: CommandSettings) -> dict[str, Callable[[], Awaitable[str]]]:
    return {
        "nats_url": lambda: _nats(settings),
        "postgres_dsn": lambda: _postgres(settings),
        "blobs_url": lambda: _blobs(settings),
    }


async def _asked(variable: str, ask: Callable[[], Awaitable[str]]) -> Finding:
    """Return what is told; what goes wrong otherwise is told by its kind alone."""
    try:
        async with asyncio.timeout(WITHIN_S):
            return Finding(variable, is_well=True, detail=await ask())
    except ChanceryError as error:
        detail = error.detail
    except TimeoutError:
        detail = f"nothing answered within {WITHIN_S:.0f} s"
    except (OSError, ValueError):
        detail = "it cannot be read as an address"
    remedy = f"set {variable} to what answers, or unset it for the embedded one"
    return Finding(variable, is_well=False, detail=f"{detail}; {remedy}")


async def _nats(settings: CommandSettings) -> str:
    # The driver would tell of every attempt, on a line of its own.
    logging.getLogger("chancery.bus").setLevel(logging.CRITICAL)
    url = settings.nats_url
    for each in url.split(","):
        if urlsplit(each).scheme not in {"nats", "tls"} or not urlsplit(each).hostname:
            raise InvalidSetting("it is no address like nats://HOST:4222")
    async with bus.connect(url, name=_NAME, api_prefix=settings.nats_api_prefix):
        return f"{without_login(url)} answers"


async def _postgres(settings: CommandSettings) -> str:
    async with connect(settings.require_dsn(), name=_NAME, limits=_LIMITS):
        return "the database answers"


async def _blobs(settings: CommandSettings) -> str:
    url = settings.require_blobs_url()
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.path:
        return await asyncio.to_thread(_folder, Path(unquote(parts.path)))
    await open_blobs(url).tenants()
    return f"{url} answers"


def _folder(path: Path) -> str:
    existing = next(each for each in (path, *path.parents) if each.exists())
    if not existing.is_dir() or not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        message = f"{existing} is no folder that can be written"
        raise Rejected(message, code="unusable_folder")
    return f"{path} can be written" if existing == path else f"{path} can be made"


def _language(language: str) -> str:
    known = get_args(Language)
    if language not in known:
        message = f"it must be one of {', '.join(known)}"
        raise Rejected(message, code="unknown_language")
    return language


def _signing_key(settings: CommandSettings) -> str:
    assert settings.signing_key is not None, "it is given"
    return f"the key {SigningKey.from_hex(settings.signing_key.get_secret_value()).key_id}"


def _token_key(settings: CommandSettings) -> str:
    settings.require_token_key()
    return "is long enough"


def _token(settings: CommandSettings) -> str:
    server_token(settings)
    return "is a token by its form"


def _variable(name: str) -> str:
    return f"CHANCERY_{name}".upper()
