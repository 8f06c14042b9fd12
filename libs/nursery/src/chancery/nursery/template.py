"""The template's side: it forks, interrupts and ends processes for its one parent.

It has loaded everything and never sees a job, so a fork of it starts in milliseconds and holds
nothing of earlier ones. Over one Unix socket, `F` with two file descriptors (input and output)
forks and answers the process id; `I` and `K` with a process id interrupt a process, or kill and
reap it and answer the signal that ended it. When the parent goes, so do the processes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

FORK, INTERRUPT, KILL = b"F", b"I", b"K"
NUMBER_BYTES = 8
FAILED = 0
"""The answer instead of a process id when no process could be forked."""

_REQUEST_BYTES = 1 + NUMBER_BYTES
_PIPES = 2


def serve(descriptor: int, work: Callable[[], None]) -> None:
    """Serve the parent at `descriptor` until it closes its end.

    `work` runs in each fork, with the two descriptors as standard input and output; then the fork
    ends. Call this from a process that has a single thread.
    """
    gc.freeze()
    template = _Template(socket.socket(fileno=descriptor), work)
    try:
        while template.serve_one():
            pass
    finally:
        template.end_all()


@dataclass(frozen=True, slots=True)
class _Template:
    """The socket to the parent and the processes that are not reaped."""

    parent: socket.socket
    work: Callable[[], None]
    children: set[int] = field(default_factory=set[int])

    def serve_one(self) -> bool:
        """Serve one request; False when the parent is gone."""
        try:
            request, pipes, _, _ = socket.recv_fds(self.parent, _REQUEST_BYTES, _PIPES)
            if len(request) != _REQUEST_BYTES:
                return False
            answer = self._answer(request[:1], int.from_bytes(request[1:], "big"), pipes)
            self.parent.sendall(answer.to_bytes(NUMBER_BYTES, "big"))
        except OSError:
            return False
        return True

    def end_all(self) -> None:
        """End every process that is left."""
        for pid in tuple(self.children):
            self._end(pid)

    def _answer(self, request: bytes, pid: int, pipes: Sequence[int]) -> int:
        if request == FORK:
            return self._fork(pipes)
        if request == KILL:
            return self._end(pid)
        if pid in self.children:
            os.kill(pid, signal.SIGTERM)
        return 0

    def _fork(self, pipes: Sequence[int]) -> int:
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if pid == 0:
            self._become(pipes)
        for pipe in pipes:
            os.close(pipe)
        if pid < 0:
            return FAILED
        self.children.add(pid)
        return pid

    def _become(self, pipes: Sequence[int]) -> None:
        """Do the work and end, without going back to the template's code."""
        code = 1
        try:
            self.parent.close()
            for number, pipe in enumerate(pipes):
                os.dup2(pipe, number)
                os.close(pipe)
            self.work()
            code = 0
        finally:
            os._exit(code)

    def _end(self, pid: int) -> int:
        """Kill and reap a child; return the signal that ended it, 0 when it had ended by itself."""
        if pid not in self.children:
            return 0
        self.children.discard(pid)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return 0
