"""Runs `up` with fake services as a process of its own: `run_up.py SETTINGS_JSON`.

`unlucky` names a module of `chancery.embedded` and the ports that it finds free first: others have
them by the time of their use.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import SecretStr

from chancery.embedded import ports
from chancery.embedded.settings import UpSettings, UpSteps
from chancery.embedded.up import up
from chancery.store.migrations import migrate
from chancery.store.pool import connect

FAKE = Path(__file__).parent / "fake_service.py"


async def migrate_nothing(dsn: str, passwords: Mapping[str, SecretStr]) -> None:
    """Make the roles and no tables."""
    async with connect(dsn, name="test") as connection:
        await migrate(connection, (), passwords=passwords)


async def provision(_: str) -> None:
    """Leave the streams alone."""
    return


def service_argv(service: str) -> tuple[str, ...]:
    """Return the command of the fake service."""
    return (sys.executable, "-I", "-S", str(FAKE), service)


def find_first(module: str, unlucky: Sequence[int]) -> None:
    """Let `module` find these ports free before any other."""
    left = list(unlucky)

    def free_port() -> int:
        return left.pop(0) if left else ports.free_port()

    vars(importlib.import_module(f"chancery.embedded.{module}"))["free_port"] = free_port


def main() -> None:
    """Run until a signal and exit with what `up` says."""
    given = json.loads(sys.argv[1])
    for module, unlucky in given.get("unlucky", {}).items():
        find_first(module, unlucky)
    dsn = given.get("postgres_dsn")
    settings = UpSettings(
        data_dir=Path(given["data_dir"]),
        http_port=given["http_port"],
        nats_url=given.get("nats_url"),
        postgres_dsn=None if dsn is None else SecretStr(dsn),
    )
    steps = UpSteps(migrate_nothing, provision, service_argv)
    sys.exit(asyncio.run(up(settings, announce=lambda line: print(line, flush=True), steps=steps)))


if __name__ == "__main__":
    main()
