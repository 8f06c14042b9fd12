"""The process that extractions are forked from. Run as `python -m chancery.extract.template FD`.

It has loaded every parser and never sees a document, so a fork of it starts in milliseconds and
holds nothing of another document. It serves one parent over one Unix socket: `F` with two file
descriptors (input and output) forks and answers the process id; `K` with a process id kills and
reaps it and answers the signal that ended it. When its parent goes, so do they.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Sequence

from chancery.extract import worker
from chancery.extract.nursery import FAILED, FORK, NUMBER_BYTES

_REQUEST_BYTES = 1 + NUMBER_BYTES
_PIPES = 2


def main() -> None:
    """Serve forks until the parent closes its end."""
    parent = socket.socket(fileno=int(sys.argv[1]))
    worker.load_codecs()
    gc.freeze()
    children: set[int] = set()
    try:
        while _serve(parent, children):
            pass
    finally:
        for pid in tuple(children):
            _end(pid, children)


def _serve(parent: socket.socket, children: set[int]) -> bool:
    """Serve one request; False when the parent is gone."""
    try:
        request, pipes, _, _ = socket.recv_fds(parent, _REQUEST_BYTES, _PIPES)
        if len(request) != _REQUEST_BYTES:
            return False
        if request[:1] == FORK:
            answer = _fork(parent, pipes, children)
        else:
            answer = _end(int.from_bytes(request[1:], "big"), children)
        parent.sendall(answer.to_bytes(NUMBER_BYTES, "big"))
    except OSError:
        return False
    return True


def _fork(parent: socket.socket, pipes: Sequence[int], children: set[int]) -> int:
    try:
        pid = os.fork()
    except OSError:
        pid = -1
    if pid == 0:
        _become_worker(parent, pipes)
    for pipe in pipes:
        os.close(pipe)
    if pid < 0:
        return FAILED
    children.add(pid)
    return pid


def _become_worker(parent: socket.socket, pipes: Sequence[int]) -> None:
    """Serve one job and end, without going back to the template's code."""
    code = 1
    try:
        parent.close()
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
            os.close(pipe)
        worker.main()
        code = 0
    finally:
        os._exit(code)


def _end(pid: int, children: set[int]) -> int:
    """Kill and reap a child; return the signal that ended it, 0 when it had ended by itself."""
    if pid not in children:
        return 0
    children.discard(pid)
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return 0


if __name__ == "__main__":
    main()
