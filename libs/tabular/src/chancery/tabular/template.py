"""The process that workers are forked from. Run as `python -m chancery.tabular.template FD`.

It has imported everything and opened one empty database, in a single thread, and never sees a row:
a fork of it starts in milliseconds, with a database of its own that holds nothing of earlier jobs.
It serves one parent over one Unix socket: `F` with two file descriptors (the worker's input and
output) forks and answers the process id, `I` and `K` with a process id interrupt a worker, or kill
and reap it. When its parent goes, so do the workers.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Sequence

from chancery.tabular import worker
from chancery.tabular.engine import Engine
from chancery.tabular.opening import open_empty, warm_up

FORK, INTERRUPT, KILL = b"F", b"I", b"K"
NUMBER_BYTES = 8
REQUEST_BYTES = 1 + NUMBER_BYTES
FAILED = 0
"""The answer instead of a process id when no process could be forked."""

_PIPES = 2


def main() -> None:
    """Serve forks until the parent closes its end."""
    parent = socket.socket(fileno=int(sys.argv[1]))
    warm_up()
    engine = open_empty()
    gc.freeze()
    children: set[int] = set()
    try:
        while _serve(parent, children, engine):
            pass
    finally:
        for pid in tuple(children):
            _end(pid, children)


def _serve(parent: socket.socket, children: set[int], engine: Engine) -> bool:
    """Serve one request; False when the parent is gone."""
    try:
        request, pipes, _, _ = socket.recv_fds(parent, REQUEST_BYTES, _PIPES)
        if len(request) != REQUEST_BYTES:
            return False
        if request[:1] == FORK:
            answer = _fork(parent, pipes, children, engine)
        else:
            answer = _told(request, children)
        parent.sendall(answer.to_bytes(NUMBER_BYTES, "big"))
    except OSError:
        return False
    return True


def _told(request: bytes, children: set[int]) -> int:
    pid = int.from_bytes(request[1:], "big")
    match request[:1]:
        case b"I" if pid in children:
            os.kill(pid, signal.SIGTERM)
        case b"K" if pid in children:
            _end(pid, children)
        case _:
            pass
    return pid


def _fork(parent: socket.socket, pipes: Sequence[int], children: set[int], engine: Engine) -> int:
    try:
        pid = os.fork()
    except OSError:
        pid = -1
    if pid == 0:
        _become_worker(parent, pipes, engine)
    for pipe in pipes:
        os.close(pipe)
    if pid < 0:
        return FAILED
    children.add(pid)
    return pid


def _become_worker(parent: socket.socket, pipes: Sequence[int], engine: Engine) -> None:
    """Serve one job and end, without going back to the template's code."""
    code = 1
    try:
        parent.close()
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
            os.close(pipe)
        worker.main(engine)
        code = 0
    finally:
        os._exit(code)


def _end(pid: int, children: set[int]) -> None:
    children.discard(pid)
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
