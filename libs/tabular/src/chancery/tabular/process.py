"""A worker or planner as its parent sees it: started ahead, asked, ended at the deadline."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Mapping, Sequence

from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Corrupt, Rejected, TooLarge, Unavailable
from chancery.nursery.frames import FrameBroken, FrameTooLarge, read_frames, write_frames
from chancery.nursery.nursery import Nursery
from chancery.tabular.nursery import NURSERY
from chancery.tabular.refusals import TEXTS, refusal
from chancery.tabular.tree import as_object, as_text

GRACE_S = 0.25
"""How long an interrupted worker may take to answer before it is killed."""


class WorkerDied(Rejected):
    """The process ended without a word: it needed more memory than it may, or was killed."""

    code = "sql_resources"


class WorkerProcess:
    """A started process that waits for a job; it inherits neither environment nor files."""

    def __init__(self, nursery: Nursery = NURSERY) -> None:
        self._nursery = nursery
        self._expired = False
        self._ended = threading.Event()
        self._grace: threading.Timer | None = None
        try:
            job_read, job_write = os.pipe()
            reply_read, reply_write = os.pipe()
        except OSError as error:
            detail = "no query worker could be started"
            raise Unavailable(detail, code="sql_worker_unavailable") from error
        self._job = os.fdopen(job_write, "wb")
        self._reply = os.fdopen(reply_read, "rb")
        try:
            self._pid, self._template = nursery.fork(job_read, reply_write)
        except Unavailable:
            self._job.close()
            self._reply.close()
            raise
        finally:
            os.close(job_read)
            os.close(reply_write)

    @property
    def pid(self) -> int:
        """Return the process id, for measurements."""
        return self._pid

    @property
    def waiting(self) -> bool:
        """Whether the process is there and owes nothing."""
        if self._ended.is_set():
            return False
        poll = select.poll()
        poll.register(self._reply, select.POLLIN)
        return not poll.poll(0)

    @property
    def has_expired(self) -> bool:
        """Whether the process was told to end."""
        return self._expired

    def exchange(
        self, frames: Sequence[bytes], *, deadline_s: float, reply_bytes_max: int
    ) -> list[bytes]:
        """Send the job, return the reply's frames; blocking. The process ends in the background.

        To tear a database down takes longer than a small query, and nobody has to wait for it.

        Raises:
            Rejected: with the worker's code; `sql_timeout` at the deadline, or when its processor
                time is over, `sql_resources` when the process died (`WorkerDied`) or its reply is
                larger than it may be.
        """
        try:
            reply = self.ask(frames, deadline_s=deadline_s, reply_bytes_max=reply_bytes_max)
        finally:
            threading.Thread(target=self.kill, name="sql-burial").start()
        raise_error(as_object(parse_json(reply[0])))
        return reply

    def ask(
        self, frames: Sequence[bytes], *, deadline_s: float, reply_bytes_max: int
    ) -> list[bytes]:
        """Send a job, return the reply's frames, errors among them; blocking.

        The process lives on, unless it does not answer.

        Raises:
            Rejected: as `exchange`, but not with the worker's code.
        """
        timer = _daemon_timer(deadline_s, self.end)
        timer.start()
        try:
            return self._talk(frames, reply_bytes_max)
        except BaseException:
            self.kill()
            raise
        finally:
            timer.cancel()

    def end(self) -> None:
        """Interrupt the statement, and kill the process soon after; does not wait."""
        if self._ended.is_set():
            return
        self._expired = True
        self._nursery.interrupt(self._pid, self._template)
        self._grace = _daemon_timer(GRACE_S, self.kill)
        self._grace.start()

    def kill(self) -> None:
        """End the process and wait for that; harmless when it has ended."""
        if self._grace is not None:
            self._grace.cancel()
        self._end_process()
        for stream in (self._job, self._reply):
            with contextlib.suppress(OSError):
                stream.close()

    def _end_process(self) -> int:
        """Return the signal that ended it, 0 for none and when it was ended before."""
        if self._ended.is_set():
            return 0
        self._ended.set()
        return self._nursery.end(self._pid, self._template)

    def _talk(self, frames: Sequence[bytes], reply_bytes_max: int) -> list[bytes]:
        try:
            with contextlib.suppress(BrokenPipeError):  # A refused statement reads no rows.
                write_frames(self._job, frames)
            return read_frames(self._reply, bytes_max=reply_bytes_max)
        except FrameTooLarge as error:
            raise refusal(WorkerDied.code) from error
        except (FrameBroken, OSError, ValueError) as error:
            if self._expired or self._end_process() == signal.SIGXCPU:
                raise refusal("sql_timeout") from error
            raise WorkerDied(TEXTS[WorkerDied.code], field="sql") from error


def _daemon_timer(after_s: float, action: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(after_s, action)
    timer.daemon = True
    return timer


def raise_error(reply: Mapping[str, Json]) -> None:
    """Raise the error that a reply tells of, if it does."""
    if "error" not in reply:
        return
    code, detail, field = as_text(reply["error"]), reply.get("detail"), reply.get("field")
    if code == "dataset_unreadable":
        raise Corrupt(TEXTS[code], code=code)
    if not isinstance(detail, str):
        raise refusal(code)
    kind = TooLarge if reply.get("too_large") is True else Rejected
    raise kind(detail, field=field if isinstance(field, str) else None, code=code)
