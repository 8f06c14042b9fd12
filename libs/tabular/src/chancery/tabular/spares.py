"""Workers started ahead: a thread keeps some waiting, so that no query waits for a database."""

from __future__ import annotations

import threading
from collections import deque

from chancery.kernel.errors import Unavailable
from chancery.tabular.process import WorkerProcess

RETRY_S = 1.0


class Spares:
    """Up to `wanted` waiting workers, refilled while queries run."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._waiting = deque[WorkerProcess]()
        self._changed = threading.Condition()
        self._closed = False
        self._keeper = threading.Thread(target=self._keep, name="sql-spares", daemon=True)

    def open(self) -> None:
        """Start the first worker, and the thread that starts the others."""
        first = WorkerProcess()
        with self._changed:
            self._waiting.append(first)
        self._keeper.start()

    def close(self) -> None:
        """End the thread and the waiting workers."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._keeper.join()
        while self._waiting:
            self._waiting.popleft().kill()

    def waiting(self) -> WorkerProcess | None:
        """Return a waiting worker, or None when the next one is not there or has died."""
        with self._changed:
            self._changed.notify_all()
            if self._waiting and self._waiting[0].waiting:
                return self._waiting.popleft()
        return None

    def take(self) -> WorkerProcess:
        """Return a waiting worker, else a new one; blocking.

        Raises:
            Unavailable: when none waits and none can be started.
        """
        while self.pid is not None:
            worker = self.waiting()
            if worker is not None:
                return worker
            self._bury_first()
        return WorkerProcess()

    @property
    def pid(self) -> int | None:
        """Return the process id of the next worker, or None when none waits."""
        with self._changed:
            return self._waiting[0].pid if self._waiting else None

    def _bury_first(self) -> None:
        with self._changed:
            dead = self._waiting.popleft() if self._waiting else None
        if dead is not None:
            dead.kill()

    def _keep(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_due)
                if self._closed:
                    return
            self._add_one()

    def _is_due(self) -> bool:
        return self._closed or len(self._waiting) < self._wanted

    def _add_one(self) -> None:
        """Add a worker; when none starts, jobs try by themselves and say so."""
        try:
            worker = WorkerProcess()
        except Unavailable:
            with self._changed:
                self._changed.wait(RETRY_S)
            return
        with self._changed:
            self._waiting.append(worker)
