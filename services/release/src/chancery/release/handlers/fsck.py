"""Examines one installation without changing it: log, projections, record, index and blobs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from chancery.kernel.canonical import Json
from chancery.kernel.errors import NotFound
from chancery.release.domain.findings import Report
from chancery.release.handlers.fsck_log import CheckLogs
from chancery.release.handlers.fsck_published import CheckPublished
from chancery.release.handlers.fsck_releases import CheckReleases
from chancery.release.handlers.fsck_serving import CheckServing
from chancery.release.handlers.fsck_values import CheckValues
from chancery.release.handlers.projections import Say
from chancery.release.ports.fsck import Records

PROGRESS_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fsck:
    """The whole examination; what it finds and how far it is goes to `say`, line by line."""

    records: Records
    logs: CheckLogs
    releases: CheckReleases
    published: CheckPublished
    serving: CheckServing
    values: CheckValues
    patience_s: float
    say: Say
    now: Callable[[], float]

    async def run(self, *, deep: bool) -> Report:
        """Examine everything; findings are told at the end, with what was counted.

        What was found before something is away is told all the same.

        Raises:
            Unavailable: log, database or blobs are away, or a rebuild is running.
        """
        report, told = Report(), _Progress(self.say, self.now)
        with self._concluding(report):
            await self.logs.run(report, told.tell, deep=deep)
            await self.releases.run(report, told.tell)
            await self.published.run(report, told.tell)
            await self.serving.run(report, told.tell, deep=deep)
            if deep:
                await self.values.run(report, told.tell)
            await self._check_outbox(report)
            for name, amount in (await self.records.counts()).items():
                report.count(name, amount)
        return report

    async def run_one(self, run_id: str) -> Report:
        """Examine the releases of one run, with their values; findings are told at the end.

        Raises:
            NotFound: the run has no release.
            Unavailable: log, database or blobs are away.
        """
        report, told = Report(), _Progress(self.say, self.now)
        if not await self.records.count_releases(run_id):
            message = "this run has no release here; was it sealed, and in this installation?"
            raise NotFound(message, field="run")
        with self._concluding(report):
            await self.releases.run(report, told.tell, run_id)
            await self.values.run(report, told.tell, run_id)
        return report

    @contextmanager
    def _concluding(self, report: Report) -> Generator[None]:
        """Tell what was found at the end, and also when the examination cannot go on."""
        try:
            yield
        finally:
            self._tell(report)
        counts: dict[str, Json] = dict(sorted(report.counts.items()))
        self.say({"event": "examined", "findings": len(report.findings), "counts": counts})

    def _tell(self, report: Report) -> None:
        for finding in report.findings:
            self.say({"event": "finding", **finding.to_json()})
        for left in report.unchecked:
            self.say({"event": "unchecked", **left.to_json()})

    async def _check_outbox(self, report: Report) -> None:
        before = await self.records.outbox()
        if before.waiting:
            await asyncio.sleep(self.patience_s)
        after = await self.records.outbox()
        report.count("outbox_waiting", after.waiting)
        if after.waiting and after.oldest == before.oldest:
            report.find("outbox_stuck", waiting=after.waiting, oldest=after.oldest)


@dataclass(slots=True)
class _Progress:
    """Tells how far a check is, now and then."""

    say: Say
    now: Callable[[], float]
    _next: float = 0.0

    def tell(self, check: str, done: int, total: int) -> None:
        """Say it, unless it was just said."""
        moment = self.now()
        if moment < self._next and done < total:
            return
        self._next = moment + PROGRESS_S
        line: Mapping[str, Json] = {
            "event": "progress",
            "check": check,
            "done": done,
            "total": total,
        }
        self.say(line)
