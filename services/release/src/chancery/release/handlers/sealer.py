"""Sealing a run: fence first, then read. The eight steps of the protocol, numbered as designed.

1. Validate the selection against release's own records       (handlers.proposed, domain.selection)
2. Render, and compute every hash and the receipt core        (domain.drafts)
3. Publish the cut: one acknowledged message, a fresh id      (`_cut`)
4. Wait until the projection has passed it                    (`_attempt`)
5. Transaction: lock the run, read checkpoint and read set    (adapters.desk)
6. `decide_release`; the expiry and the clock                 (`_judge`)
7. Insert everything; COMMIT; an unknown outcome is read back (adapters.desk, `_attempt`)
8. The relay publishes, subscribers are nudged                (`seal`, adapters.relay)

A crash after step 3 leaves a cut without a release: harmless and content-free. Unique (run,
generation) lets one release win.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from chancery.attest.signing import SigningKey
from chancery.authority.release import Allow, Deny, Reason, decide_release
from chancery.events.topology import LAST_NUDGE, nudge_subject
from chancery.evidence.receipt import CutRecord
from chancery.kernel.errors import Unavailable
from chancery.release.domain.drafts import Draft
from chancery.release.domain.runs import LockedRun
from chancery.release.domain.sealing import (
    Behind,
    Cut,
    Decided,
    Judged,
    Moved,
    Sealable,
    SealedRows,
    Sealing,
    sealed_rows,
)
from chancery.release.domain.snapshot import CutSnapshot
from chancery.release.errors import AlreadySealed, BehindLog
from chancery.release.handlers.barrier import regressed
from chancery.release.ports import Nudges
from chancery.release.ports.position import Position
from chancery.release.ports.stores import CutLog, ReleaseStore, SealDesk
from chancery.runtime.logging import get_logger

ATTEMPTS_MAX = 5
PASS_TIMEOUT_S = 2.0
BEHIND_POLL_S = 0.01
CLOCK_TOLERANCE = timedelta(seconds=5)

_log = get_logger("chancery.release")


@dataclass(frozen=True, slots=True)
class Sealer:
    """Carries drafts through the protocol; `on_sealed` wakes the relay."""

    nudges: Nudges
    desk: SealDesk
    cuts: CutLog
    releases: ReleaseStore
    position: Position
    key: SigningKey
    on_sealed: Callable[[], None]

    async def seal(self, draft: Draft) -> Sealing:
        """Seal a draft that needs a cut.

        Raises:
            Unavailable: log, projection or database are away; nothing is known to be sealed.
        """
        for attempt in range(1, ATTEMPTS_MAX + 1):
            outcome = await self._attempt(draft, attempt)
            if not isinstance(outcome, Moved):
                if outcome == "sealed":
                    await self._announce(draft)
                return outcome
        return "changing"

    async def refuse(self, draft: Draft) -> Sealing:
        """Seal a refusal that tells nothing about the evidence: it needs only the run's lock."""
        assert draft.core.coverage is None
        try:
            outcome = await self._refuse(draft)
        except (AlreadySealed, Unavailable) as error:
            outcome = await self._read_back(draft, error)
        if outcome == "sealed":
            await self._announce(draft)
        return outcome

    async def _attempt(self, draft: Draft, attempt: int) -> Sealing | Moved:
        cut = await self._cut(draft, attempt)
        deadline = asyncio.get_running_loop().time() + PASS_TIMEOUT_S
        while True:
            # Step 4. Everything acknowledged before the cut lies below it.
            await self.position.wait(cut.sequence, timeout_s=PASS_TIMEOUT_S)
            try:
                # Steps 5 to 7.
                judge = partial(self._judge, draft, cut)
                outcome = await self.desk.seal(Sealable(draft=draft, cut=cut, judge=judge))
            except (AlreadySealed, Unavailable) as error:
                outcome = await self._read_back(draft, error)
            if not isinstance(outcome, Behind):
                return "sealed" if isinstance(outcome, SealedRows) else outcome
            # Another table set went live and has not passed the cut.
            if asyncio.get_running_loop().time() > deadline:
                message = "the authority projection is behind the log; retry in a moment"
                raise BehindLog(message)
            await asyncio.sleep(BEHIND_POLL_S)

    async def _cut(self, draft: Draft, attempt: int) -> Cut:
        # Step 3. `decided_at` is the database's clock, which step 6 compares with.
        decided_at = await self.desk.clock()
        seen = self.position.sequence
        cut = await self.cuts.publish(draft, attempt=attempt, decided_at=decided_at)
        if cut.sequence <= seen:
            raise regressed(cut.sequence, seen)
        return cut

    def _judge(
        self,
        draft: Draft,
        cut: Cut,
        run: LockedRun | None,
        read: CutSnapshot | None,
        _: datetime,
    ) -> Judged:
        standing = _standing(draft, run)
        if standing is not None or run is None or read is None:
            return standing or "void"
        if read.snapshot.checkpoint < cut.sequence or read.digest is None:
            return Behind()
        if any(entry.sequence > cut.sequence for entry in read.entries):
            return Moved()
        # Step 6. The states are exactly those at the cut.
        decision = decide_release(
            read.snapshot.states, read.snapshot.frozen, draft.request, cut.decided_at
        )
        if isinstance(decision, Deny):
            return _denied(draft, decision.reason)
        if not _in_time(decision, read, cut):
            return Moved()
        return sealed_rows(draft, _decided(read, cut, decision), self.key, run)

    async def _refuse(self, draft: Draft) -> Sealing:
        judge = partial(_judge_refusal, draft, self.key)
        judged = await self.desk.seal(Sealable(draft=draft, cut=None, judge=judge))
        return "void" if judged == "void" else "sealed"

    async def _read_back(self, draft: Draft, error: Exception) -> Sealing:
        """Learn what became of a COMMIT without an answer, or who was first."""
        run = draft.run
        found = await self.releases.read(run.tenant, run.run_id, run.generation)
        if found is not None:
            return "sealed"
        if isinstance(error, Unavailable):
            raise error
        message = "the release was refused by the database and is not there"
        raise Unavailable(message) from error

    async def _announce(self, draft: Draft) -> None:
        # Step 8. The event itself goes through the outbox; this only shortens the wait.
        self.on_sealed()
        await nudge(self.nudges, draft.run.tenant, draft.run.run_id, LAST_NUDGE)


async def nudge(nudges: Nudges, tenant: str, run_id: str, hint: bytes = b"") -> None:
    """Tell subscribers on core NATS that a run has something new; losing it loses nothing."""
    try:
        await nudges.send(nudge_subject(tenant, run_id), hint)
    except Unavailable:
        _log.warning("nudge was not sent", run_id=run_id)


def without_coverage(draft: Draft) -> bool:
    """Tell whether a draft tells nothing about the evidence, so that it needs no cut."""
    return draft.outcome in {"access_changing", "scope_too_wide", "unavailable"}


def _standing(draft: Draft, run: LockedRun | None) -> Sealing | None:
    """Return what a locked run says before anything is read: void, sealed before, or go on."""
    if run is None:
        return "void"
    if run.state in {"sealed", "refused"} and run.generation == draft.run.generation:
        return "sealed"
    current = run.generation == draft.run.generation and run.lease == draft.run.lease
    return None if run.is_open and current else "void"


def _judge_refusal(
    draft: Draft, key: SigningKey, run: LockedRun | None, _: CutSnapshot | None, now: datetime
) -> Judged:
    standing = _standing(draft, run)
    if standing is not None or run is None:
        return standing or "void"
    return sealed_rows(draft, Decided(now), key, run)


def _in_time(decision: Allow, read: CutSnapshot, cut: Cut) -> bool:
    now = read.snapshot.now
    if decision.expires_at is not None and now >= decision.expires_at:
        return False
    return abs(now - cut.decided_at) <= CLOCK_TOLERANCE


def _decided(read: CutSnapshot, cut: Cut, decision: Allow) -> Decided:
    assert read.digest is not None
    record = CutRecord(
        sequence=cut.sequence,
        attempt=cut.attempt,
        payload_sha256=cut.payload_sha256,
        authority_digest=read.digest.hex(),
        effective_expiry=decision.expires_at,
    )
    return Decided(cut.decided_at, read.published, read.entries, record)


def _denied(draft: Draft, reason: Reason) -> Sealing:
    _log.info("release denied", run_id=draft.run.run_id, reason=reason)
    return "changing"
