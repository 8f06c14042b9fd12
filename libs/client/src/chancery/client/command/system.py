"""`up`, and running something against a system that lives as long as it takes."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from chancery.bus import connection as bus
from chancery.bus.provision import Plan, apply
from chancery.client.command.output import tell, tell_json
from chancery.client.command.settings import TOKEN_FILE, CommandSettings, load_settings
from chancery.embedded.database import migrate_database
from chancery.embedded.settings import UpSettings, UpSteps, service_argv
from chancery.embedded.supervisor import Announce
from chancery.embedded.up import up
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.runtime.settings import process_environment

T = TypeVar("T")

_URL = re.compile(r"http://\S+")


class NotStarted(Unavailable):
    """The system ended before it was ready, or while it was used; why was told."""

    code = "not_started"


async def run_up(data_dir: Path | None, port: int | None, *, as_json: bool) -> int:
    """Run everything until a signal; return the exit code of `up`."""
    settings = load_settings()
    wanted = _wanted(settings, data_dir, port)

    def announce(line: str) -> None:
        found = _URL.search(line)
        if as_json:
            tell_json({"line": line, "url": found[0] if found else None})
            return
        tell(line)
        if found:
            _tell_next(wanted.data_dir, is_usual=wanted.data_dir == settings.data_dir)

    return await up(wanted, announce=announce, steps=_steps(settings))


def _tell_next(folder: Path, *, is_usual: bool) -> None:
    tell(f"The operator's token is in {folder.absolute() / TOKEN_FILE}; logs are beside it.")
    where = "" if is_usual else f"CHANCERY_DATA_DIR={shlex.quote(str(folder.absolute()))} "
    tell(f"Next, in another terminal: {where}{_command()} workspace create NAME")


def _command() -> str:
    """Return how this command is called: by its name when that is found, else by its path."""
    beside = Path(sys.executable).with_name("chancery")
    return "chancery" if shutil.which("chancery") or not beside.exists() else str(beside)


async def with_system(folder: Path, announce: Announce, work: Callable[[str], Awaitable[T]]) -> T:
    """Start a system in `folder` on a free port, do `work` with its URL, and stop it again.

    Raises:
        NotStarted: when the system ends before the work does.
    """
    settings = load_settings()
    wanted = UpSettings(folder, http_port=0, environment=process_environment())
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def listen(line: str) -> None:
        found = _URL.search(line)
        if found and not ready.done():
            ready.set_result(found[0])
        else:
            announce(line)

    async def worker() -> T:
        return await work(await ready)

    system = partial(up, wanted, announce=listen, steps=_steps(settings))
    return await _beside(system, worker)


def _wanted(settings: CommandSettings, data_dir: Path | None, port: int | None) -> UpSettings:
    given = settings.model_fields_set
    return UpSettings(
        data_dir=data_dir or settings.data_dir,
        http_port=settings.http_port if port is None else port,
        nats_url=settings.nats_url if "nats_url" in given else None,
        postgres_dsn=settings.postgres_dsn,
        blobs_url=settings.blobs_url,
        environment=process_environment(),
    )


def _steps(settings: CommandSettings) -> UpSteps:
    async def provision(nats_url: str) -> None:
        async with bus.connect(nats_url, name="chancery-up") as connection:
            await apply(connection, Plan(ack_wait_s=settings.ack_wait_s))

    return UpSteps(migrate=migrate_database, provision=provision, service_argv=service_argv)


async def _beside(
    system: Callable[[], Coroutine[None, None, int]], work: Callable[[], Coroutine[None, None, T]]
) -> T:
    """Return what `work` returns; whichever of the two ends first ends the other."""
    failures: list[ChanceryError] = []
    working: asyncio.Task[T] | None = None
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(system())
            working = group.create_task(work())
            await asyncio.wait({running, working}, return_when=asyncio.FIRST_COMPLETED)
            running.cancel()
            working.cancel()
    except* ChanceryError as group_of_errors:
        failures.extend(_leaves(group_of_errors))
    if failures:
        raise failures[0]
    if working is None or working.cancelled():
        message = "the system stopped before the work was done; what it told says why"
        raise NotStarted(message)
    return working.result()


def _leaves(group: ExceptionGroup[ChanceryError]) -> Iterator[ChanceryError]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
