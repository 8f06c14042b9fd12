"""The parent's side of a template process, which starts when it is first needed.

Nothing here loads what the template loads.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

from chancery.kernel.errors import Unavailable
from chancery.nursery.template import FAILED, FORK, INTERRUPT, KILL, NUMBER_BYTES

_ANSWER_S = 30.0
_EXIT_S = 5.0


class Nursery:
    """Forks processes and ends them; thread-safe, and a template that died is replaced.

    `module` runs as the template: it calls `template.serve` with the descriptor that is its only
    argument. `refused` makes the error for when no process can be started.
    """

    def __init__(self, module: str, refused: Callable[[], Unavailable]) -> None:
        """Start nothing yet."""
        self._module = module
        self._refused = refused
        self._lock = threading.Lock()
        self._template: _Template | None = None

    def fork(self, reads: int, writes: int) -> tuple[int, object]:
        """Fork a process that reads its job from one descriptor and writes its reply to the other.

        Returns:
            The process id, and the template it belongs to: ids mean nothing to another one.

        Raises:
            Unavailable: when no process can be started.
        """
        with self._lock:
            for _ in range(2):
                template = self._running()
                pid = self._ask(template, FORK, 0, (reads, writes))
                if pid != FAILED:
                    return pid, template
        raise self._refused()

    def interrupt(self, pid: int, template: object) -> None:
        """Send a process SIGTERM."""
        self._tell(INTERRUPT, pid, template)

    def end(self, pid: int, template: object) -> int:
        """End a process and wait for that; return the signal that ended it, or 0."""
        return self._tell(KILL, pid, template)

    def close(self) -> None:
        """End the template and, with it, its processes; a later fork starts another one."""
        with self._lock:
            template, self._template = self._template, None
        if template is not None:
            template.close()

    def _tell(self, request: bytes, pid: int, template: object) -> int:
        with self._lock:
            if self._template is None or self._template is not template:
                return 0
            return self._ask(self._template, request, pid)

    def _running(self) -> _Template:
        if self._template is None:
            try:
                self._template = _Template(self._module)
            except OSError as error:
                raise self._refused() from error
        return self._template

    def _ask(
        self, template: _Template, request: bytes, number: int, descriptors: Sequence[int] = ()
    ) -> int:
        """Return the answer; a template that does not answer is forgotten, and its forks end."""
        try:
            return template.ask(request, number, descriptors)
        except OSError:
            self._template = None
            template.close()
            return FAILED


class _Template:
    """A running template process and the socket to it; it inherits no environment and no files."""

    def __init__(self, module: str) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(_ANSWER_S)
        with theirs:
            self._child = subprocess.Popen(
                [sys.executable, "-m", module, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1", "TZ": "UTC"},
                cwd="/",
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
        self._socket = ours

    def ask(self, request: bytes, number: int, descriptors: Sequence[int]) -> int:
        """Return the answer to one request; OSError when the template is gone."""
        message = request + number.to_bytes(NUMBER_BYTES, "big")
        socket.send_fds(self._socket, [message], list(descriptors))
        answer = b""
        while len(answer) < NUMBER_BYTES:
            received = self._socket.recv(NUMBER_BYTES - len(answer))
            if not received:
                raise ConnectionResetError
            answer += received
        return int.from_bytes(answer, "big")

    def close(self) -> None:
        """End the template and, with it, its processes."""
        self._socket.close()
        try:
            self._child.wait(timeout=_EXIT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait(timeout=_EXIT_S)
