"""Examines what serves: its index state, and the blobs that hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from chancery.events.topology import AUTHORITY
from chancery.kernel.clock import Clock
from chancery.kernel.errors import NotFound, TooLarge
from chancery.release.domain.findings import Report
from chancery.release.ports.fsck import Logs, Records, Serving, Told
from chancery.store.blobs import BlobCorrupt, Blobs

SAMPLE: Final = 8
"""Without `deep` the bytes of one in so many blobs are read; all are looked for."""
BYTES_MAX: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CheckServing:
    """The check of what serves; `pending_s` is how long the index may take for a revision."""

    records: Records
    logs: Logs
    blobs: Blobs
    clock: Clock
    pending_s: float

    async def run(self, report: Report, tell: Told, *, deep: bool) -> None:
        """Add what is wrong to the report."""
        total, done = await self.records.count_serving(), 0
        tell("revisions", 0, total)
        async for page in self.records.serving():
            for each in page:
                await self._check_index(report, each)
                for name, sha256 in _blobs_of(each):
                    await self._check_blob(report, each, name, sha256, is_read=deep)
            done += len(page)
            tell("revisions", done, max(total, done))
        report.count("serving", done)

    async def _check_index(self, report: Report, each: Serving) -> None:
        state = "missing" if each.entry is None else each.entry.state
        if each.is_damaged:
            state = "damaged"
        report.count(f"index_{state}")
        match state:
            case "damaged":
                report.find("index_damaged", **_where(each))
            case "unavailable":
                report.find("index_unavailable", **_where(each))
            case "missing" | "pending" if await self._is_old(each):
                code = "index_missing" if state == "missing" else "index_pending_too_long"
                report.find(code, **_where(each))
            case _:
                return

    async def _is_old(self, each: Serving) -> bool:
        stored = await self.logs.at(AUTHORITY, each.published)
        if stored is None:
            return True
        return self.clock.now() - stored.time > timedelta(seconds=self.pending_s)

    async def _check_blob(
        self, report: Report, each: Serving, name: str, sha256: str, *, is_read: bool
    ) -> None:
        report.count("blobs")
        where = {**_where(each), "blob": name, "sha256": sha256}
        if not (is_read or int(sha256[:8], 16) % SAMPLE == 0):
            if not await self.blobs.exists(each.tenant, sha256):
                report.find("blob_missing", **where)
            return
        report.count("blobs_read")
        try:
            await self.blobs.get(each.tenant, sha256, limit=BYTES_MAX)
        except NotFound:
            report.find("blob_missing", **where)
        except (BlobCorrupt, TooLarge):
            report.find("blob_damaged", **where)


def _blobs_of(each: Serving) -> Iterator[tuple[str, str]]:
    if each.content_sha256 is not None:
        yield "content", each.content_sha256
    ready = None if each.entry is None else each.entry.ready
    if ready is not None:
        yield "extraction", ready.extraction_sha256
        yield "manifest", ready.manifest_sha256


def _where(each: Serving) -> dict[str, str | int]:
    return {
        "tenant": each.tenant,
        "kind": each.kind,
        "key": each.key,
        "revision": each.revision,
    }
