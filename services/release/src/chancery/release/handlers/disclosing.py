"""Disclosing a run: barrier, decision with today's state, then sealed bytes whole or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chancery.authority.names import AggregateRef
from chancery.authority.release import (
    Allow,
    Deny,
    ReleaseRequest,
    decide_disclosure,
    disclosure_set,
)
from chancery.events.requests import Caller
from chancery.release.domain.entries import Published, Resource
from chancery.release.domain.releases import Release
from chancery.release.domain.runs import PolicyPin, Run, release_request
from chancery.release.handlers.gate import Gate, Visitor, authenticated, not_found, with_own
from chancery.release.handlers.reading import is_readable
from chancery.release.ports.stores import AuthorityReads, ReleaseStore


@dataclass(frozen=True, slots=True)
class Disclosure:
    """A run that its asker looks at; `decision` says whether anything of it may be shown."""

    run: Run
    release: Release | None
    request: ReleaseRequest
    visitor: Visitor
    decision: Allow | Deny
    later: tuple[Resource, ...] = ()

    @property
    def is_superseded(self) -> bool:
        """Tell whether something else that the reader may read was published after the answer."""
        return not self.is_withheld and any(is_readable(self.visitor, each) for each in self.later)

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
    releases: ReleaseStore

    async def look(self, caller: Caller, run_id: str, *, with_later: bool = False) -> Disclosure:
        """Return a run of the caller with the decision about it, behind a barrier.

        `with_later` asks whether an answer is superseded as well.

        Raises:
            Denied: the credential does not authenticate.
            NotFound: there is no such run, or it is another principal's: the same words.
            Unavailable: log, projection or database are away; nothing may be told.
        """
        # What is sealed never changes: it is read meanwhile, and told after the decision or not.
        passed, (run, sealed) = await asyncio.gather(
            self.gate.barrier.pass_through(),
            self.releases.read_last(caller.tenant, run_id),
        )
        return await self.decide(caller, run, passed, sealed=sealed, with_later=with_later)

    async def decide(
        self,
        caller: Caller,
        run: Run | None,
        passed: int,
        *,
        sealed: Release | None = None,
        with_later: bool = False,
    ) -> Disclosure:
        """Return the decision about a run that was read beside a barrier, as `look` does.

        `sealed` is the run's release where it was read beside the barrier too.
        """
        if run is None or run.principal != caller.principal:
            await self.gate.enter(caller, passed=passed)
            raise not_found("run")
        release = None
        if not run.is_open:
            release = await self._release(run, sealed)
        request = _request(run, release, caller)
        refs = disclosure_set(request)
        visitor, later = await self._visit(caller, refs, passed, release if with_later else None)
        snapshot = visitor.snapshot
        decision = decide_disclosure(snapshot.states, snapshot.frozen, request, snapshot.now)
        return Disclosure(run, release, request, visitor, decision, later)

    async def _release(self, run: Run, sealed: Release | None) -> Release | None:
        if sealed is not None and sealed.generation == run.generation:
            return sealed
        return await self.releases.read(run.tenant, run.run_id, run.generation)

    async def _visit(
        self, caller: Caller, refs: Sequence[AggregateRef], passed: int, answer: Release | None
    ) -> tuple[Visitor, tuple[Resource, ...]]:
        """Let the caller in, and return what was published after an answer with them."""
        if answer is None or answer.outcome is not None:
            return await self.gate.enter(caller, refs, passed=passed), ()
        snapshot, later = await self.reader.read_with_later(
            answer.tenant,
            with_own(caller, refs),
            Published(answer.workspace_id, answer.cut_sequence),
            at_least=passed,
        )
        return authenticated(caller, snapshot), later


def _request(run: Run, release: Release | None, caller: Caller) -> ReleaseRequest:
    """Return what a disclosure is asked about; a run without a release has pinned nothing."""
    if release is None:
        request = release_request(run, PolicyPin("0", "", run.mode), ())
    else:
        request = release.request
    return replace(request, principal_id=caller.principal, credential_id=caller.credential_id)
