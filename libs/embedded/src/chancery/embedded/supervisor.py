"""Keeps a set of child processes running: starts, watches, restarts and stops them.

Children come in stages. The children of a stage start side by side, and `start` returns when all of
them are ready. A child that dies is started again after a pause that grows; the pause and the count
of deaths begin anew each time it gets ready. At the end the stages stop in reverse order.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from chancery.embedded.errors import KeepsDying, PortBusy, PortTaken, StartFailed
from chancery.embedded.ports import check_port
from chancery.embedded.process import ProcessSpec, RunningProcess, start

Announce = Callable[[str], None]
"""Shows one line to the person who started us."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process to keep running; `is_ready` may block for a moment and never raises.

    `ports` are those that it opens and that were chosen before it was started.
    """

    spec: ProcessSpec
    is_ready: Callable[[], bool]
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the supervision; times in seconds."""

    ready_within_s: float = 180.0
    stop_within_s: float = 20.0
    poll_s: float = 0.05
    backoff_first_s: float = 0.25
    backoff_last_s: float = 4.0
    deaths_max: int = 5
    deaths_window_s: float = 60.0


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class _Tended:
    """What is known of one child: its process, when it died, and whether it is ready now."""

    child: Child
    process: RunningProcess
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    deaths: deque[float] = field(default_factory=deque[float])


class Supervisor:
    """Runs children while its `async with` block lasts.

    A child that keeps dying ends the block: its body is cancelled and an exception group with
    `KeepsDying` comes out; one that ended because somebody else has its port, with `PortTaken`.
    """

    def __init__(self, announce: Announce, limits: Limits = DEFAULT_LIMITS) -> None:
        """Show what happens to children with `announce`."""
        self._announce = announce
        self._limits = limits
        self._stages: list[list[_Tended]] = []
        self._tenders: list[asyncio.Task[None]] = []
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Begin to supervise."""
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop every child, the last stage first, each within the bound."""
        # Nothing is restarted any more; the group then has nothing left to wait for.
        for tender in self._tenders:
            tender.cancel()
        try:
            for stage in reversed(self._stages):
                await self._stop(stage)
        finally:
            await self._group.__aexit__(kind, error, trace)

    async def start(self, children: Sequence[Child]) -> None:
        """Start the children side by side and return when each is ready.

        Raises:
            StartFailed: when one cannot be started or is not ready in time.
        """
        stage: list[_Tended] = []
        self._stages.append(stage)
        for child in children:
            tended = _Tended(child, _spawn(child.spec))
            stage.append(tended)
            self._tenders.append(self._group.create_task(self._tend(tended)))
        try:
            async with asyncio.timeout(self._limits.ready_within_s):
                for tended in stage:
                    await tended.ready.wait()
        except TimeoutError as error:
            raise self._not_ready(stage) from error

    def is_ready(self, name: str) -> bool:
        """Tell whether the child of this name is ready at this moment."""
        tended = (tended for stage in self._stages for tended in stage)
        return any(one.child.spec.name == name and one.ready.is_set() for one in tended)

    async def _tend(self, tended: _Tended) -> None:
        pause = self._limits.backoff_first_s
        while True:
            was_ready = await self._watch(tended)
            if was_ready:
                pause = self._limits.backoff_first_s
            else:
                _check_ports(tended.child)
            self._count_death(tended, was_ready=was_ready)
            await asyncio.sleep(pause)
            pause = min(2 * pause, self._limits.backoff_last_s)
            tended.process = _spawn(tended.child.spec)

    async def _watch(self, tended: _Tended) -> bool:
        """Wait for the process to end, noting when it gets ready; tell whether it ever was."""
        was_ready = False
        while tended.process.exit_code() is None:
            if not was_ready and await asyncio.to_thread(tended.child.is_ready):
                was_ready = True
                tended.ready.set()
            await asyncio.sleep(self._limits.poll_s)
        tended.ready.clear()
        return was_ready

    def _count_death(self, tended: _Tended, *, was_ready: bool) -> None:
        spec = tended.child.spec
        now = time.monotonic()
        if was_ready:
            tended.deaths.clear()
        tended.deaths.append(now)
        while now - tended.deaths[0] > self._limits.deaths_window_s:
            tended.deaths.popleft()
        how = _how_it_ended(tended.process.exit_code())
        if len(tended.deaths) >= self._limits.deaths_max:
            message = (
                f"{spec.name} ended {len(tended.deaths)} times without getting ready "
                f"(last: {how}); {spec.log_path} says why."
            )
            raise KeepsDying(message)
        self._announce(f"{spec.name} ended ({how}); starting it again.")

    async def _stop(self, stage: Sequence[_Tended]) -> None:
        processes = [tended.process for tended in stage]
        for process in processes:
            process.ask_to_stop()
        deadline = time.monotonic() + self._limits.stop_within_s
        while any(process.exit_code() is None for process in processes):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(self._limits.poll_s)
        for process in processes:
            if process.exit_code() is None:
                self._announce(f"{process.spec.name} did not stop in time; killing it.")
            await asyncio.to_thread(process.stop, within_s=0)

    def _not_ready(self, stage: Sequence[_Tended]) -> StartFailed:
        late = [tended.child.spec for tended in stage if not tended.ready.is_set()]
        names = ", ".join(spec.name for spec in late)
        logs = ", ".join(str(spec.log_path) for spec in late)
        return StartFailed(
            f"Not ready within {self._limits.ready_within_s:.0f} s: {names}; see {logs}."
        )


def _spawn(spec: ProcessSpec) -> RunningProcess:
    # From the thread of the event loop, which lives as long as the supervisor: see `process.start`.
    try:
        return start(spec)
    except OSError as error:
        message = f"{spec.name} cannot be started: {error.strerror or 'unknown reason'}."
        raise StartFailed(message) from error


def _check_ports(child: Child) -> None:
    for port in child.ports:
        try:
            check_port(port)
        except PortBusy as error:
            message = f"Another process took port {port} before {child.spec.name} could open it."
            raise PortTaken(message) from error


def _how_it_ended(code: int | None) -> str:
    assert code is not None
    return f"signal {-code}" if code < 0 else f"exit code {code}"
