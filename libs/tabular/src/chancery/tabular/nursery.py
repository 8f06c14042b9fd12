"""The parent's side of the template process: one per service, started when first needed."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from typing import Final

from chancery.kernel.errors import Unavailable
from chancery.tabular.template import FAILED, FORK, INTERRUPT, KILL, NUMBER_BYTES

_ANSWER_S = 10.0
_EXIT_S = 5.0


class _Template:
    """A running template process and the socket to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(_ANSWER_S)
        with theirs:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "chancery.tabular.template", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1", "TZ": "UTC"},
                cwd="/",
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
        self._socket = ours

    def ask(self, request: bytes, number: int, descriptors: Sequence[int] = ()) -> int:
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
        """End the template and, with it, its workers."""
        self._socket.close()
        try:
            self._child.wait(timeout=_EXIT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait(timeout=_EXIT_S)


class Nursery:
    """Forks workers and ends them; thread-safe, and a template that died is replaced."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._template: _Template | None = None

    def fork(self, reads: int, writes: int) -> tuple[int, object]:
        """Fork a worker that reads its job from one descriptor and writes its reply to the other.

        Returns:
            The process id, and the template it belongs to: ids mean nothing to another one.

        Raises:
            Unavailable: when no process can be started.
        """
        with self._lock:
            found = self._fork(reads, writes) or self._fork(reads, writes)
        if found is None:
            raise _not_started()
        return found

    def interrupt(self, pid: int, template: object) -> None:
        """Tell a worker to stop its statement and answer so."""
        self._tell(INTERRUPT, pid, template)

    def kill(self, pid: int, template: object) -> None:
        """End a worker and wait for that; harmless when it has ended."""
        self._tell(KILL, pid, template)

    def close(self) -> None:
        """End the template; a later fork starts another one."""
        with self._lock:
            template, self._template = self._template, None
        if template is not None:
            template.close()

    def _tell(self, request: bytes, pid: int, template: object) -> None:
        with self._lock:
            if self._template is not None and self._template is template:
                with self._replacing(self._template):
                    self._template.ask(request, pid)

    def _fork(self, reads: int, writes: int) -> tuple[int, object] | None:
        """Return a new worker; None when the template was gone or could not fork."""
        template = self._running()
        pid = FAILED
        with self._replacing(template):
            pid = template.ask(FORK, 0, (reads, writes))
        return None if pid == FAILED else (pid, template)

    def _running(self) -> _Template:
        if self._template is None:
            try:
                self._template = _Template()
            except OSError as error:
                raise _not_started() from error
        return self._template

    @contextlib.contextmanager
    def _replacing(self, template: _Template) -> Generator[None]:
        """Forget the template when it does not answer; it and its workers end."""
        try:
            yield
        except OSError:
            self._template = None
            template.close()


def _not_started() -> Unavailable:
    detail = "no query worker could be started"
    return Unavailable(detail, code="sql_worker_unavailable")


NURSERY: Final = Nursery()
"""The nursery of this process."""

atexit.register(NURSERY.close)
