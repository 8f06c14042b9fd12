"""Documents that take long are extracted by themselves, so that no other one waits for them.

So are snapshots of a tenant that has too many of them waiting for their conversion.
The delivery of such a revision ends as soon as it is recorded here, with the revision pending. One
is in work at a time, those of all tenants in turn, with the whole time that it may take:
however long that is, no other process begins the same one while this one lives.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

from chancery.indexing.domain.history import History, ResourceRef
from chancery.indexing.domain.standing import Revision, awaits_attempt, needs_extraction
from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.handlers.extraction import Extraction
from chancery.indexing.handlers.grouping import Announcements
from chancery.indexing.handlers.leasing import USUAL, Renewing
from chancery.indexing.handlers.progress import Asking, Cause
from chancery.indexing.handlers.turns import Turns
from chancery.indexing.ports import SlowQueue
from chancery.kernel.ids import derived_id


@dataclass(slots=True)
class Slowly:
    """Records revisions that take long, and extracts them one after the other."""

    queue: SlowQueue
    announcements: Announcements
    extraction: Extraction
    renewing: InitVar[Renewing] = USUAL
    _turns: Turns[SlowRevision] = field(init=False)

    def __post_init__(self, renewing: Renewing) -> None:
        """Begin with nobody served."""
        self._turns = Turns(self.queue, self._extract, renewing)

    async def record(self, slow: SlowRevision) -> None:
        """Have a revision extracted later.

        Raises:
            Unavailable: it could not be recorded.
        """
        await self.queue.record(slow)
        self._turns.wake()

    async def run(self) -> None:
        """Extract what is recorded, for ever.

        Raises:
            Unavailable, Conflict: something is away, or others came first; run again.
        """
        await self._turns.run()

    async def _extract(self, slow: SlowRevision) -> None:
        ref = slow.ref
        names = (ref.tenant, ref.kind, ref.key, str(slow.revision))
        cause = Cause(derived_id("slow-extraction", *names), None, None)
        progress = await self.announcements.announce(Asking(ref, cause, {}))
        one = progress.revisions.get(slow.revision)
        if one is None or not _has_work(ref, progress.history, one):
            return
        found = {slow.revision: await self.extraction.run(ref, progress.history, one)}
        await self.announcements.announce(Asking(ref, cause, found))


def _has_work(ref: ResourceRef, history: History, one: Revision) -> bool:
    return needs_extraction(ref, history, one) or awaits_attempt(ref, history, one)
