"""One child process: started in its own session, logged to a file, stopped within a bound."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

import psutil

from chancery.embedded import launch
from chancery.embedded.accounts import Account

LOG_BYTES_MAX = 16 * 1024 * 1024
"""A longer log is set aside as `<name>.log.1` when its process starts."""

PRIVATE_UMASK: Final = 0o077
"""What a child writes into the data folder is nobody else's to read."""

_POLL_S = 0.02

STOP_BOUND_S = 10.0
"""How long a process may take to end before it is killed."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What to run and where it leaves its traces.

    `stale` are files that tell of an earlier run and are removed before this one starts;
    `tied` lets a program that does not watch its parent die with it; `account` is whom it runs as.
    """

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    log_path: Path
    pid_path: Path
    stop_signal: signal.Signals = signal.SIGTERM
    stale: tuple[Path, ...] = field(default=())
    tied: bool = False
    account: Account | None = None


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A child of this process."""

    spec: ProcessSpec
    handle: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process id."""
        return self.handle.pid

    def exit_code(self) -> int | None:
        """Return the exit code, or None while it runs; negative for the signal that ended it."""
        return self.handle.poll()

    def ask_to_stop(self) -> None:
        """Send the stop signal, unless it has ended already."""
        if self.exit_code() is None:
            self.handle.send_signal(self.spec.stop_signal)

    def kill(self) -> None:
        """End it at once, and its own children with it."""
        _kill_tree(self.pid)
        self.handle.wait(STOP_BOUND_S)
        self.spec.pid_path.unlink(missing_ok=True)

    def stop(self, *, within_s: float = STOP_BOUND_S) -> None:
        """Ask it to stop, wait, and kill it when it has not ended by then. Blocks."""
        self.ask_to_stop()
        try:
            self.handle.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self.spec.pid_path.unlink(missing_ok=True)


def start(spec: ProcessSpec) -> RunningProcess:
    """Start the process; it gets no terminal, so that Ctrl-C reaches only its supervisor.

    Call it from a thread that lives as long as the process should: on Linux a tied child dies with
    the thread that started it.
    """
    for path in (spec.pid_path, *spec.stale):
        path.unlink(missing_ok=True)
    if spec.log_path.exists() and spec.log_path.stat().st_size > LOG_BYTES_MAX:
        spec.log_path.replace(spec.log_path.with_name(f"{spec.log_path.name}.1"))
    with _private_log(spec.log_path) as log:
        handle = subprocess.Popen(  # the caller owns it and stops it
            _command(spec),
            env=dict(spec.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=PRIVATE_UMASK,
        )
    trace = f"{handle.pid} {_created(handle.pid)} {int(spec.stop_signal)}"
    spec.pid_path.touch(0o600)
    spec.pid_path.write_text(trace, encoding="ascii")
    return RunningProcess(spec, handle)


def _private_log(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "ab")


def stop_left_behind(run: Path, *, within_s: float = STOP_BOUND_S) -> tuple[str, ...]:
    """End what an earlier, killed supervisor left running; return the names. Blocks.

    Each `*.pid` file in `run` names a process by id and time of creation, so that a stranger who
    got the same id is left alone.
    """
    found = {path.stem: left for path in run.glob("*.pid") if (left := _left_behind(path))}
    for process, stop_signal in found.values():
        _signal(process, stop_signal)
    deadline = time.monotonic() + within_s
    for process, _ in found.values():
        while not _has_ended(process) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        if not _has_ended(process):
            _kill_tree(process.pid)
    for path in run.glob("*.pid"):
        path.unlink()
    return tuple(sorted(found))


def signal_running(pid_path: Path, number: signal.Signals) -> bool:
    """Send a signal to the process that `pid_path` names; False when it does not run."""
    left = _left_behind(pid_path)
    if left is None:
        return False
    _signal(left[0], number)
    return True


def _command(spec: ProcessSpec) -> list[str]:
    if not spec.tied and spec.account is None:
        return list(spec.argv)
    account = "-" if spec.account is None else spec.account.argument
    launcher = [sys.executable, "-I", "-S", launch.__file__]
    return [*launcher, str(int(spec.stop_signal)), account, *spec.argv]


def _created(pid: int) -> str:
    try:
        return repr(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return "0"


def _left_behind(pid_path: Path) -> tuple[psutil.Process, int] | None:
    try:
        pid, created, stop_signal = pid_path.read_text(encoding="ascii").split()
        process = psutil.Process(int(pid))
        # The clock may have been set by a little since; within a second it is the same process.
        same = abs(process.create_time() - float(created)) < 1.0
        return (process, int(stop_signal)) if same and not _has_ended(process) else None
    except (FileNotFoundError, ValueError, psutil.Error):
        return None


def _has_ended(process: psutil.Process) -> bool:
    # It is nobody's child any more, and init may take its time to collect what is left of it.
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _signal(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def _kill_tree(pid: int) -> None:
    try:
        root = psutil.Process(pid)
        processes = [*root.children(recursive=True), root]
    except psutil.NoSuchProcess:
        return
    for process in processes:
        _signal(process, signal.SIGKILL)
