"""Examines whether the database holds every release that the log names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from chancery.events.release import ReleaseRefused, ReleaseSealed
from chancery.events.topology import RELEASES, release_subject
from chancery.release.domain.findings import Report
from chancery.release.handlers.fsck_releases import ended
from chancery.release.ports.fsck import Logs, Records, ReleaseName, Told

PAGE: Final = 200
_Named: TypeAlias = Mapping[ReleaseName, ReleaseSealed | ReleaseRefused]


@dataclass(frozen=True, slots=True)
class CheckPublished:
    """The check of RELEASES: what it names was committed before, so its row must be there."""

    records: Records
    logs: Logs

    async def run(self, report: Report, tell: Told) -> None:
        """Add what is missing to the report; its cuts are no longer counted as harmless."""
        last = (await self.logs.state(RELEASES)).last
        named: dict[ReleaseName, ReleaseSealed | ReleaseRefused] = {}
        tell("published releases", 0, last)
        async for stored in self.logs.subject(RELEASES, release_subject("*", "*", "*")):
            data = ended(stored.payload)
            if data is not None:
                named[ReleaseName(stored.subject.split(".")[1], data.release_id)] = data
            if len(named) >= PAGE:
                await self._check(report, named)
                named.clear()
            tell("published releases", stored.sequence, max(last, stored.sequence))
        await self._check(report, named)

    async def _check(self, report: Report, named: _Named) -> None:
        held = await self.records.named(list(named))
        missing = {name: data for name, data in named.items() if name not in held}
        if not missing:
            return
        for name, data in missing.items():
            where = {**name._asdict(), "run_id": data.run_id}
            report.find("release_missing", **where)
        places = [(name.tenant, data.cut_sequence) for name, data in missing.items()]
        report.count("cuts_without_release", -await self.records.count_cuts(places))
