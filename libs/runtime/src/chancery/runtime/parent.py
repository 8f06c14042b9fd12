"""Ends a service whose parent is gone, from its first moment on.

A thread looks, so that whatever the service waits for, its connections at the start included, keeps
nobody from looking. It sends SIGTERM: a service that runs drains, one that still starts has nothing
in flight and ends at once.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Final

from chancery.runtime.logging import get_logger

POLL_S: Final = 0.5

_ORPHAN: Final = 1
"""Who takes children over, unless a nearer process asked for them."""

_log = get_logger("chancery.runtime")


def watch_parent(parent: int | None) -> None:
    """Send this process SIGTERM once its parent is not, or no longer, `parent`.

    Without `parent`, whoever is the parent now: one that died before is seen only where process 1
    took its children over.
    """
    known = os.getppid() if parent is None else parent
    is_gone = parent is None and known == _ORPHAN
    threading.Thread(target=_watch, args=(known, is_gone), name="parent", daemon=True).start()


def _watch(parent: int, is_gone: bool) -> None:  # noqa: FBT001 - a thread's arguments.
    pause = threading.Event()
    while not is_gone:
        is_gone = os.getppid() != parent or pause.wait(POLL_S)
    _log.warning("the parent process is gone")
    os.kill(os.getpid(), signal.SIGTERM)
