"""Examines the projections against their streams: the same log, up to its end, the same rows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chancery.events.topology import AUTHORITY, INDEX
from chancery.kernel.canonical import sha256_hex
from chancery.release.domain.findings import Report
from chancery.release.domain.marks import LogIdentity, check_log
from chancery.release.errors import ForeignLog
from chancery.release.ports.fsck import Logs, Records, Refolding, Told
from chancery.release.ports.table_sets import ProjectionName, TableSet

STREAMS: Final[Mapping[ProjectionName, str]] = {"authority": AUTHORITY, "index": INDEX}
DIFFERENCES_MAX: Final = 1000
POLL_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class CheckLogs:
    """The check of both projections; `patience_s` is how long one may be behind."""

    records: Records
    logs: Logs
    refolds: Sequence[Refolding]
    patience_s: float

    async def run(self, report: Report, tell: Told, *, deep: bool) -> None:
        """Add what is wrong to the report."""
        for number, (name, stream) in enumerate(STREAMS.items()):
            tell("projections", number, len(STREAMS))
            if await self._is_same_log(report, name, stream):
                await self._come_up(report, name, stream)
                if deep:
                    await self._refold(report, name, tell)

    async def _is_same_log(self, report: Report, name: ProjectionName, stream: str) -> bool:
        live = await self._live(name)
        if live is None:
            report.find("projection_missing", projection=name)
            return False
        state = await self.logs.state(stream)
        mark, anchor = live.checkpoint.mark, None
        if 0 < mark.anchor_sequence <= state.last:
            stored = await self.logs.at(stream, mark.anchor_sequence)
            anchor = None if stored is None else sha256_hex(stored.payload)
        identity = LogIdentity(state.created, state.last, anchor)
        try:
            check_log(mark, live.checkpoint.stream_created, identity, stream=stream)
        except ForeignLog as error:
            report.find(error.code, projection=name, stream=stream, sequence=mark.sequence)
            return False
        report.count(f"{name}_events", mark.sequence)
        return True

    async def _come_up(self, report: Report, name: ProjectionName, stream: str) -> None:
        last = (await self.logs.state(stream)).last
        try:
            async with asyncio.timeout(self.patience_s):
                await self._wait_for(name, last)
        except TimeoutError:
            live = await self._live(name)
            sequence = 0 if live is None else live.checkpoint.mark.sequence
            report.find("projection_behind", projection=name, sequence=sequence, last=last)

    async def _wait_for(self, name: ProjectionName, last: int) -> None:
        while True:
            live = await self._live(name)
            if live is not None and live.checkpoint.mark.sequence >= last:
                return
            await asyncio.sleep(POLL_S)

    async def _refold(self, report: Report, name: ProjectionName, tell: Told) -> None:
        for refold in self.refolds:
            if refold.name != name:
                continue
            is_same, differences = await refold.compare(tell)
            if not is_same:
                report.find("digest_differs", projection=name)
            for each in differences[:DIFFERENCES_MAX]:
                report.find(
                    "row_differs", projection=name, tenant=each.tenant, kind=each.kind, id=each.id
                )

    async def _live(self, name: ProjectionName) -> TableSet | None:
        sets = await self.records.table_sets()
        return next((each for each in sets if each.projection == name and each.is_live), None)
