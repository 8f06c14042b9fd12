"""Starting an embedded server for tests, on another port when somebody took the one chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from chancery.embedded.process import ProcessSpec, RunningProcess, start
from chancery.testkit.waiting import wait_until

ATTEMPTS = 3
READY_WITHIN_S = 90


class Prepared(Protocol):
    """A server that is ready to be started."""

    @property
    def spec(self) -> ProcessSpec:
        """What to run."""
        ...

    def is_ready(self) -> bool:
        """Tell whether it takes connections."""
        ...


ServerT = TypeVar("ServerT", bound=Prepared)


def start_prepared(prepare: Callable[[], ServerT]) -> tuple[ServerT, RunningProcess]:
    """Start what `prepare` returns and wait until it is ready; prepare again when it ends first.

    Raises:
        AssertionError: it is not ready in time, or keeps ending.
    """
    attempts_left = ATTEMPTS
    while True:
        attempts_left -= 1
        server = prepare()
        process = start(server.spec)
        if wait_until(lambda one=server, of=process: _state(one, of), READY_WITHIN_S) == "ready":
            return server, process
        process.stop()
        if attempts_left == 0:
            message = f"it ended {ATTEMPTS} times; {server.spec.log_path} says why"
            raise AssertionError(message)


def _state(server: Prepared, process: RunningProcess) -> str:
    if process.exit_code() is not None:
        return "ended"
    return "ready" if server.is_ready() else ""
