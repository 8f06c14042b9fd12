"""One child process: started in its own session, logged to a file, stopped within a bound."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from chancery.embedded import launch
from chancery.embedded.accounts import Account

LOG_BYTES_MAX = 16 * 1024 * 1024
"""A longer log is set aside as `<name>.log.1` when its process starts."""

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
    with spec.log_path.open("ab") as log:
        handle = subprocess.Popen(  # the caller owns it and stops it
            _command(spec),
            env=dict(spec.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    trace = f"{handle.pid} {_created(handle.pid)} {int(spec.stop_signal)}"
    spec.pid_path.write_text(trace, encoding="ascii")
    return RunningProcess(spec, handle)


def stop_left_behind(run: Path, *, within_s: float = STOP_BOUND_S) -> tuple[str, ...]:
    """End what an earlier, killed supervisor left running; return the names. Blocks.

    Each `*.pid` file in `run` names a process by id and time of creation, so that a stranger who
    got the same id is left alone.
    """
    names: list[str] = []
    for pid_path in sorted(run.glob("*.pid")):
        found = _left_behind(pid_path)
        if found is not None:
            _end(*found, within_s)
            names.append(pid_path.stem)
        pid_path.unlink(missing_ok=True)
    return tuple(names)


def _end(process: psutil.Process, stop_signal: int, within_s: float) -> None:
    try:
        process.send_signal(stop_signal)
        process.wait(within_s)
    except psutil.TimeoutExpired:
        _kill_tree(process.pid)
        psutil.wait_procs([process], timeout=within_s)
    except psutil.NoSuchProcess:
        return


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
        ended = process.status() == psutil.STATUS_ZOMBIE
        return (process, int(stop_signal)) if same and not ended else None
    except (FileNotFoundError, ValueError, psutil.Error):
        return None


def _kill_tree(pid: int) -> None:
    try:
        root = psutil.Process(pid)
        processes = [*root.children(recursive=True), root]
    except psutil.NoSuchProcess:
        return
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
