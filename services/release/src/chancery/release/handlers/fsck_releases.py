"""Examines every release: whole, as its receipt says, cut on the log, and published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chancery.events.authority import CutTaken
from chancery.events.codec import decode
from chancery.events.envelope import EventData
from chancery.events.release import ReleaseRefused, ReleaseSealed
from chancery.events.topology import (
    AUTHORITY,
    RELEASES,
    RUNS,
    authority_subject,
    cut_subject,
    release_subject,
    run_subject,
)
from chancery.evidence.receipt import CutRecord, Receipt, core_hash
from chancery.evidence.salts import derive_salts
from chancery.kernel.canonical import parse_json, sha256_hex
from chancery.kernel.errors import Corrupt
from chancery.release.domain.findings import Report
from chancery.release.domain.held import HeldRelease, check_held, read_receipt
from chancery.release.domain.runs import Run
from chancery.release.handlers.fsck_subjects import ReadOnce
from chancery.release.ports.fsck import Logs, Records, Told

ERASABLE: Final = ("source", "item", "dataset", "file")
_ERASED: Final = "erased"


@dataclass(frozen=True, slots=True)
class CheckReleases:
    """The check of the sealed record."""

    records: Records
    logs: Logs

    async def run(self, report: Report, tell: Told, run_id: str | None = None) -> None:
        """Add what is wrong with all releases, or with those of one run, to the report."""
        total, done = await self.records.count_releases(run_id), 0
        subjects = ReadOnce(self.logs)
        tell("releases", 0, total)
        async for page in self.records.releases(run_id):
            for held in page:
                await self._check(report, held, subjects)
            done += len(page)
            tell("releases", done, max(total, done))
        report.count("releases", done)

    async def _check(self, report: Report, held: HeldRelease, subjects: ReadOnce) -> None:
        receipt = read_receipt(held)
        for flaw in dict.fromkeys(check_held(held, receipt)):
            parts = {"parts": " ".join(flaw.parts)} if flaw.parts else {}
            report.find(flaw.code, **held.where, **parts)
        await self._check_event(report, held)
        if receipt is None:
            return
        if held.keys is None:
            await _check_erased(report, held, receipt, subjects)
        if receipt.cut is not None:
            await self._check_cut(report, held, receipt, receipt.cut)
        if held.run is not None and held.run.run.generation == held.generation:
            await self._check_stages(report, held, held.run.run)

    async def _check_cut(
        self, report: Report, held: HeldRelease, receipt: Receipt, cut: CutRecord
    ) -> None:
        where = {**held.where, "sequence": cut.sequence}
        stored = await self.logs.at(AUTHORITY, cut.sequence)
        if stored is None:
            report.find("cut_missing", **where)
            return
        is_same = (
            stored.subject == cut_subject(held.tenant)
            and sha256_hex(stored.payload) == cut.payload_sha256
            and _names(stored.payload, held, receipt)
        )
        if not is_same:
            report.find("cut_differs", **where)

    async def _check_stages(self, report: Report, held: HeldRelease, run: Run) -> None:
        """Compare what a run keeps of its stages with the log, as long as that has them."""
        kept = {"admitted": run.admitted, "gathered": run.gathered, "proposed": run.proposed}
        wrong: list[str] = []
        for name, payload in kept.items():
            if payload is None:
                continue
            subject = run_subject(run.tenant, run.run_id, name)
            said = [data_in(stored.payload) async for stored in self.logs.subject(RUNS, subject)]
            if said and data_in(payload) not in said:
                wrong.append(name)
        if wrong:
            report.find("run_differs", **held.where, parts=" ".join(wrong))

    async def _check_event(self, report: Report, held: HeldRelease) -> None:
        subject = release_subject(held.tenant, held.run_id, held.kind)
        async for stored in self.logs.subject(RELEASES, subject):
            data = ended(stored.payload)
            if data is not None and data.release_id == held.release_id:
                if held.receipt is not None and data.receipt_sha256 != held.receipt.sha256:
                    report.find("release_event_differs", **held.where)
                return
        if not held.is_waiting:
            report.find("release_event_missing", **held.where)


async def _check_erased(
    report: Report, held: HeldRelease, receipt: Receipt, subjects: ReadOnce
) -> None:
    """A key may be gone when something of the read set was erased."""
    for each in receipt.read_set:
        place = authority_subject(held.tenant, each.kind, each.id)
        if each.kind in ERASABLE and await _is_erased(place, subjects):
            report.count("releases_erased")
            return
    report.find("key_missing", **held.where)


async def _is_erased(subject: str, subjects: ReadOnce) -> bool:
    async for stored in subjects.subject(AUTHORITY, subject):
        if _event_name(stored.payload) == _ERASED:
            return True
    return False


def _names(payload: bytes, held: HeldRelease, receipt: Receipt) -> bool:
    """Tell whether a cut is of this release: its run, and its core when the salt is still there."""
    try:
        data = decode(payload).data
    except Corrupt:
        return False
    if not isinstance(data, CutTaken):
        return False
    if (data.run_id, data.generation) != (held.run_id, held.generation):
        return False
    if held.keys is None:
        return True
    salts = derive_salts(held.keys.salt, len(receipt.core.results))
    return core_hash(receipt.core, salts) == data.core_sha256


def data_in(payload: bytes) -> EventData | None:
    """Return what an event says, None when it cannot be read."""
    try:
        return decode(payload).data
    except Corrupt:
        return None


def ended(payload: bytes) -> ReleaseSealed | ReleaseRefused | None:
    """Return what an event of RELEASES says, None when it cannot be read."""
    data = data_in(payload)
    return data if isinstance(data, ReleaseSealed | ReleaseRefused) else None


def _event_name(payload: bytes) -> str | None:
    try:
        parsed = parse_json(payload)
    except Corrupt:
        return None
    kind = parsed.get("type") if isinstance(parsed, dict) else None
    tokens = kind.split(".") if isinstance(kind, str) else []
    return tokens[2] if len(tokens) > 2 else None  # noqa: PLR2004 - chancery.<what>.<happened>
