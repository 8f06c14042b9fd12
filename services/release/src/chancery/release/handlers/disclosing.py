"""Disclosing a run: barrier, decision with today's state, then sealed bytes whole or nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from chancery.authority.release import (
    Allow,
    Deny,
    ReleaseRequest,
    decide_disclosure,
    disclosure_set,
)
from chancery.events.requests import Caller
from chancery.release.domain.releases import Release
from chancery.release.domain.runs import PolicyPin, Run, release_request
from chancery.release.handlers.gate import Gate, Visitor, not_found
from chancery.release.handlers.reading import is_readable
from chancery.release.ports.stores import AuthorityReads, ReleaseStore, RunStore


@dataclass(frozen=True, slots=True)
class Disclosure:
    """A run that its asker looks at; `decision` says whether anything of it may be shown."""

    run: Run
    release: Release | None
    request: ReleaseRequest
    visitor: Visitor
    decision: Allow | Deny

    @property
    def is_withheld(self) -> bool:
        """Tell whether nothing of the evidence may be shown: denied today, or erased."""
        is_erased = self.release is not None and self.release.keys is None
        return is_erased or isinstance(self.decision, Deny)


@dataclass(frozen=True, slots=True)
class Discloser:
    """Every content byte goes through `look`."""

    gate: Gate
    reader: AuthorityReads
    runs: RunStore
    releases: ReleaseStore

    async def look(self, caller: Caller, run_id: str) -> Disclosure:
        """Return a run of the caller with the decision about it, behind a barrier.

        Raises:
            Denied: the credential does not authenticate.
            NotFound: there is no such run, or it is another principal's: the same words.
            Unavailable: log, projection or database are away; nothing may be told.
        """
        passed, run = await asyncio.gather(
            self.gate.barrier.pass_through(), self.runs.read(caller.tenant, run_id)
        )
        return await self.decide(caller, run, passed)

    async def decide(self, caller: Caller, run: Run | None, passed: int) -> Disclosure:
        """Return the decision about a run that was read beside a barrier, as `look` does."""
        if run is None or run.principal != caller.principal:
            await self.gate.enter(caller, passed=passed)
            raise not_found("run")
        release = None
        if not run.is_open:
            release = await self.releases.read(caller.tenant, run.run_id, run.generation)
        request = _request(run, release, caller)
        visitor = await self.gate.enter(caller, disclosure_set(request), passed=passed)
        snapshot = visitor.snapshot
        decision = decide_disclosure(snapshot.states, snapshot.frozen, request, snapshot.now)
        return Disclosure(run, release, request, visitor, decision)

    async def is_superseded(self, disclosure: Disclosure) -> bool:
        """Tell whether something else that the reader may read was published after the answer."""
        release = disclosure.release
        if release is None or release.outcome is not None or disclosure.is_withheld:
            return False
        later = await self.reader.published_after(
            release.tenant, release.workspace_id, release.cut_sequence
        )
        return any(is_readable(disclosure.visitor, each) for each in later)


def _request(run: Run, release: Release | None, caller: Caller) -> ReleaseRequest:
    """Return what a disclosure is asked about; a run without a release has pinned nothing."""
    if release is None:
        request = release_request(run, PolicyPin("0", "", run.mode), ())
    else:
        request = release.request
    return replace(request, principal_id=caller.principal, credential_id=caller.credential_id)
