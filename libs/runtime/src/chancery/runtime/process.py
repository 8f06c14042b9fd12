"""A service as a process: settings, logs, the event loop, and an exit code that says what happened.

0 done, 1 refused or corrupt, 2 wrong settings, 3 a dependency is away.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from typing import Final, TypeGuard, TypeVar

import uvloop
from pydantic import ValidationError

from chancery.events.topology import Service
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.runtime.logging import configure_logging, describe, get_logger
from chancery.runtime.parent import watch_parent
from chancery.runtime.settings import ENV_PREFIX, ServiceSettings

DONE: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
UNAVAILABLE: Final = 3

GARBAGE_THRESHOLDS: Final = (20_000, 20, 20)
"""Messages and states hold no cycles: looking for some at every 700th object finds nothing."""

SettingsT = TypeVar("SettingsT", bound=ServiceSettings)

_log = get_logger("chancery.runtime")


def start(
    name: Service,
    settings_type: type[SettingsT],
    application: Callable[[SettingsT], Awaitable[None]],
) -> int:
    """Run a service until it ends and return its exit code."""
    try:
        settings = settings_type()
    except ValidationError as error:
        _complain(f"chancery {name}: {'; '.join(_wrong_settings(error))}")
        return USAGE
    except ChanceryError as error:
        _complain(f"chancery {name}: {error.detail}")
        return USAGE
    configure_logging(name, settings.log_level)
    if settings.parent_watch:
        watch_parent(settings.parent_pid)
    return run(lambda: application(settings))


def run(application: Callable[[], Awaitable[None]]) -> int:
    """Run an application's coroutine to its end and return the exit code for how it ended."""
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.enable()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_awaited(application))
    except KeyboardInterrupt:
        return DONE
    except Exception as error:  # noqa: BLE001 - the process ends here; the cause is logged.
        return _failed(_first_cause(error))
    return DONE


async def _awaited(application: Callable[[], Awaitable[None]]) -> None:
    await application()


def _failed(error: BaseException) -> int:
    _log.error("service ended", **describe(error))
    return UNAVAILABLE if isinstance(error, Unavailable) else REFUSED


def _first_cause(error: BaseException) -> BaseException:
    while _is_group(error):
        error = error.exceptions[0]
    return error


def _is_group(error: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    return isinstance(error, BaseExceptionGroup)


def _wrong_settings(error: ValidationError) -> list[str]:
    """Return a sentence per wrong setting, with its name and never its value."""
    return [
        f"{ENV_PREFIX}{'_'.join(str(step) for step in item['loc']).upper()}: {item['msg']}"
        for item in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def _complain(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
