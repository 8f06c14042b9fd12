"""Extraction as services call it: texts at once, everything else in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Self

from pydantic import TypeAdapter, ValidationError

from chancery.evidence.layout import Layout
from chancery.extract.extraction import EXTRACTOR, Extraction, extract, extractor_of
from chancery.extract.limits import Limits
from chancery.extract.media import bare
from chancery.extract.refusals import TEXTS, TakesLong, UnreadableDocument, refusal
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.nursery.frames import FrameBroken, FrameTooLarge, read_frames, write_frames
from chancery.nursery.nursery import Nursery

if TYPE_CHECKING:
    from types import TracebackType

DEFAULT_LIMITS: Final = Limits()

SHORT_BYTES: Final = 256 * 1024
"""A text up to this is checked within a millisecond; a thread costs more than it spares."""

_CRASHES: Final = frozenset((0, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE))
_PAGES: Final = TypeAdapter(tuple[int, ...])
_REPLY_FRAMES: Final = 4


class ExtractionPool:
    """Reads documents, `concurrency` at a time by parsers; use it as `async with`.

    A document that crashes, hangs or exhausts its process fails alone. One that is given the whole
    time has a place of its own, so that those which are read briefly wait for brief ones only.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, concurrency: int = 2) -> None:
        self._limits = limits
        self._brief_turn = asyncio.Semaphore(concurrency)
        self._long_turn = asyncio.Semaphore(1)
        self._nursery = Nursery("chancery.extract.template", _not_started)

    async def __aenter__(self) -> Self:
        """Return the pool; its first process starts when it is needed."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process."""
        await asyncio.to_thread(self._nursery.close)

    async def extract(self, media_type: str, data: bytes, *, is_brief: bool = False) -> Extraction:
        """Return the canonical text of a document; `is_brief` stops it after a second or so.

        Raises:
            TakesLong: it was stopped then, and may be read by itself.
            Rejected: with a stable code (`refusals.TEXTS`), never text of the document.
            Unavailable: code `extractor_unavailable` when no process could be started.
        """
        identity = extractor_of(media_type)
        if identity == EXTRACTOR and len(data) <= SHORT_BYTES:
            return extract(media_type, data)
        if identity == EXTRACTOR:
            return await asyncio.to_thread(extract, media_type, data)
        if not is_brief:
            async with self._long_turn:
                return await self._parsed(media_type, identity, data, self._limits)
        limits = self._limits.brief
        async with self._brief_turn:
            try:
                return await self._parsed(media_type, identity, data, limits)
            except UnreadableDocument as error:
                if error.code != TakesLong.code or limits == self._limits:
                    raise
        raise TakesLong(TEXTS[TakesLong.code])

    async def _parsed(
        self, media_type: str, identity: str, data: bytes, limits: Limits
    ) -> Extraction:
        job = _Job(self._nursery, limits)
        try:
            return await asyncio.to_thread(job.run, bare(media_type), identity, data)
        finally:
            job.kill()


class _Job:
    """One extraction in a process; `run` blocks, `kill` may be called from elsewhere meanwhile."""

    def __init__(self, nursery: Nursery, limits: Limits) -> None:
        self._nursery = nursery
        self._limits = limits
        self._lock = threading.Lock()
        self._process: tuple[int, object] | None = None
        self._ended_by = 0
        self._cancelled = False
        self._expired = False

    def run(self, media_type: str, identity: str, data: bytes) -> Extraction:
        """Return what the process makes of `data`; the process is gone afterwards."""
        limits = self._limits
        header = f"{media_type}\n{limits.cpu_s}\n{limits.address_space_bytes}".encode()
        timer = threading.Timer(limits.deadline_s, self._expire)
        timer.daemon = True
        timer.start()
        try:
            reply = self._exchange(header, data)
        finally:
            timer.cancel()
            self.kill()
        if reply is None:
            raise self._reason()
        return _extraction(reply, identity)

    def kill(self) -> None:
        """End the process, whether it has begun or not."""
        with self._lock:
            self._cancelled = True
            process, self._process = self._process, None
            if process is not None:
                self._ended_by = self._nursery.end(*process)

    def _expire(self) -> None:
        self._expired = True
        self.kill()

    def _exchange(self, header: bytes, data: bytes) -> list[bytes] | None:
        """Return the reply, or None when the process ended before it had one."""
        job_read, job_write = os.pipe()
        reply_read, reply_write = os.pipe()
        with os.fdopen(reply_read, "rb") as replies:
            try:
                self._start(job_read, reply_write)
            except ChanceryError:
                os.close(job_write)
                raise
            finally:
                os.close(job_read)
                os.close(reply_write)
            try:
                with os.fdopen(job_write, "wb") as jobs:
                    write_frames(jobs, (header, data))
                return read_frames(replies, bytes_max=self._limits.reply_bytes_max)
            except FrameTooLarge as error:
                raise refusal("text_too_long") from error
            except (FrameBroken, OSError, ValueError):
                return None

    def _start(self, reads: int, writes: int) -> None:
        with self._lock:
            if self._cancelled:
                raise refusal("timeout")
            self._process = self._nursery.fork(reads, writes)

    def _reason(self) -> UnreadableDocument:
        """Return why the process gave no reply: its time, a crash, or its memory."""
        if self._expired or self._ended_by == signal.SIGXCPU:
            return refusal("timeout")
        return refusal("extractor_crashed" if self._ended_by in _CRASHES else "resources")


def _extraction(reply: Sequence[bytes], identity: str) -> Extraction:
    """Return what a reply holds; nothing in it is believed unseen."""
    if len(reply) != _REPLY_FRAMES:
        raise refusal(reply[0].decode(errors="replace") if reply else "")
    _, text, pages, layout = reply
    with contextlib.suppress(UnicodeDecodeError, ValidationError, ChanceryError):
        if layout:
            Layout.from_bytes(layout)
        return _checked(
            Extraction(text.decode(), identity, _PAGES.validate_json(pages), layout or None)
        )
    raise refusal("extractor_crashed")


def _not_started() -> Unavailable:
    detail = "no process could be started to read a document"
    return Unavailable(detail, code="extractor_unavailable")


def _checked(found: Extraction) -> Extraction:
    """Return an extraction whose pages are in order and within its text."""
    bounds = (0, *found.pages, len(found.text))
    if not found.text or found.pages[:1] not in {(), (0,)} or tuple(sorted(bounds)) != bounds:
        raise refusal("extractor_crashed")
    return found
