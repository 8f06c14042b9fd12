"""How runs end: sealed or refused, exactly once, whatever happened before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chancery.authority.names import policy_ref
from chancery.authority.policies import effective_policy, policy_hash
from chancery.authority.states import PolicyState
from chancery.events.release import Outcome
from chancery.release.domain.drafts import Draft, Ground, draft_refusal
from chancery.release.domain.runs import PolicyPin, Run
from chancery.release.handlers.sealer import Sealer, without_coverage
from chancery.release.ports.stores import AuthorityReads


@dataclass(frozen=True, slots=True)
class Ending:
    """Ends runs by sealing a draft, or the refusal that remains possible."""

    sealer: Sealer
    reader: AuthorityReads

    async def finish(self, draft: Draft, ground: Ground) -> None:
        """Seal `draft`; when access moved away under it, seal the refusal that says so.

        Raises:
            Unavailable: nothing is known to be sealed; call again.
        """
        if without_coverage(draft):
            await self.sealer.refuse(draft)
        elif await self.sealer.seal(draft) == "changing":
            await self.sealer.refuse(plain_refusal(draft.run, ground, "access_changing"))

    async def give_up(self, run: Run, outcome: Outcome, detail: str) -> None:
        """Seal a refusal that tells nothing about the evidence, from whatever state the run has.

        Raises:
            Unavailable: as `finish`.
        """
        ground = await self._ground(run)
        await self.sealer.refuse(plain_refusal(run, ground, outcome, detail))

    async def _ground(self, run: Run) -> Ground:
        """Return the ground of a run that may never have been admitted.

        Only words depend on it: nothing is disclosed, so no barrier is needed.
        """
        admitted = run.admission()
        ref = policy_ref(run.workspace_id)
        snapshot = await self.reader.read(run.tenant, (ref,), at_least=0)
        state = snapshot.typed(ref, PolicyState)
        policy = effective_policy(state)
        return Ground(
            policy=PolicyPin(policy.policy_revision, policy_hash(state), run.mode),
            language=policy.language if admitted is None else admitted.language,
            barrier=0 if admitted is None else admitted.barrier,
            index_position=0,
            coverage=None,
        )


def plain_refusal(run: Run, ground: Ground, outcome: Outcome, detail: str | None = None) -> Draft:
    """Return a refusal without coverage, sources or read set."""
    bare = replace(ground, coverage=None, pinned=())
    return draft_refusal(run, bare, outcome, detail)
