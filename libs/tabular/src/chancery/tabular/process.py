"""One worker process as its parent sees it: started ahead, asked once, killed at the deadline."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

from chancery.kernel.canonical import parse_json
from chancery.kernel.errors import Corrupt, Rejected, TooLarge, Unavailable
from chancery.tabular.frames import FrameBroken, read_frames, write_frames
from chancery.tabular.refusals import TEXTS, refusal
from chancery.tabular.tree import as_object, as_text

_EXIT_S = 5.0


class WorkerProcess:
    """A started worker that waits for its only job; it inherits neither environment nor files."""

    def __init__(self) -> None:
        self._expired = False
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "chancery.tabular.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1", "TZ": "UTC"},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            detail = "no query worker could be started"
            raise Unavailable(detail, code="sql_worker_unavailable") from error

    @property
    def pid(self) -> int:
        """Return the process id, for measurements."""
        return self._child.pid

    @property
    def waiting(self) -> bool:
        """Whether the process is still there."""
        return self._child.poll() is None

    def exchange(
        self, frames: Sequence[bytes], *, deadline_s: float, reply_bytes_max: int
    ) -> list[bytes]:
        """Send the job, return the reply's frames; blocking, the process is gone afterwards.

        Raises:
            Rejected: with the worker's code; `sql_timeout` at the deadline, `sql_resources` when
                the process died.
        """
        timer = threading.Timer(deadline_s, self._expire)
        timer.daemon = True
        timer.start()
        try:
            reply = self._talk(frames, reply_bytes_max)
        finally:
            timer.cancel()
            self.kill()
        _raise_error(reply[0])
        return reply

    def end(self) -> None:
        """Signal the end without waiting; a blocked `exchange` then returns."""
        self._child.kill()

    def kill(self) -> None:
        """End the process and wait for that; harmless when it has ended."""
        self._child.kill()
        for stream in (self._child.stdin, self._child.stdout):
            _close(stream)
        self._child.wait(timeout=_EXIT_S)

    def _expire(self) -> None:
        self._expired = True
        self._child.kill()

    def _talk(self, frames: Sequence[bytes], reply_bytes_max: int) -> list[bytes]:
        assert self._child.stdin is not None, "the worker has an input"
        assert self._child.stdout is not None, "the worker has an output"
        try:
            write_frames(self._child.stdin, frames)
            return read_frames(self._child.stdout, bytes_max=reply_bytes_max)
        except (FrameBroken, OSError, ValueError) as error:
            raise refusal("sql_timeout" if self._expired else "sql_resources") from error


def _raise_error(header: bytes) -> None:
    reply = as_object(parse_json(header))
    if "error" not in reply:
        return
    code, detail, field = as_text(reply["error"]), reply.get("detail"), reply.get("field")
    if code == "dataset_unreadable":
        raise Corrupt(TEXTS[code], code=code)
    if not isinstance(detail, str):
        raise refusal(code)
    kind = TooLarge if reply.get("too_large") is True else Rejected
    raise kind(detail, field=field if isinstance(field, str) else None, code=code)


def _close(stream: IO[bytes] | None) -> None:
    """Close a pipe whose other end may be gone with bytes still buffered on ours."""
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.close()
