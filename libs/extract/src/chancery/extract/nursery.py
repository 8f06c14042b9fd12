"""The parent's side of the template process: one per service, started when first needed.

Neither this module nor the pool loads a parser: the template does.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

from chancery.kernel.errors import Unavailable

FORK, KILL = b"F", b"K"
NUMBER_BYTES = 8
FAILED = 0
"""The answer instead of a process id when no process could be forked."""

_ANSWER_S = 30.0
_EXIT_S = 5.0


class Nursery:
    """Forks the processes of extractions and ends them; thread-safe, a dead template is replaced.

    A template is started by the first fork, and again by the first one after `close`.
    """

    def __init__(self) -> None:
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
        raise _not_started()

    def end(self, pid: int, template: object) -> int:
        """End a process and wait for that; return the signal that ended it, or 0."""
        with self._lock:
            if self._template is None or self._template is not template:
                return 0
            return self._ask(self._template, KILL, pid)

    def close(self) -> None:
        """End the template and, with it, its processes."""
        with self._lock:
            template, self._template = self._template, None
        if template is not None:
            template.close()

    def _running(self) -> _Template:
        if self._template is None:
            try:
                self._template = _Template()
            except OSError as error:
                raise _not_started() from error
        return self._template

    def _ask(
        self, template: _Template, request: bytes, number: int, descriptors: Sequence[int] = ()
    ) -> int:
        try:
            return template.ask(request, number, descriptors)
        except OSError:
            self._template = None
            template.close()
            return FAILED


class _Template:
    """A running template process and the socket to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(_ANSWER_S)
        with theirs:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "chancery.extract.template", str(theirs.fileno())],
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


def _not_started() -> Unavailable:
    detail = "no process could be started to read a document"
    return Unavailable(detail, code="extractor_unavailable")
