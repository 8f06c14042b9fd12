"""Documents that take long are extracted by themselves, so that no other one waits for them.

The delivery of such a revision ends as soon as it is recorded here, with the revision pending. One
is in work at a time, those of all tenants in turn, with the whole time that a document may take:
however long that is, no other process begins the same one while this one lives.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field

from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.errors import LeaseLost
from chancery.indexing.handlers.extraction import Extraction
from chancery.indexing.handlers.grouping import Announcements
from chancery.indexing.handlers.leasing import USUAL, Renewing, hold
from chancery.indexing.handlers.progress import Asking, Cause
from chancery.indexing.handlers.refreshing import POLL_S
from chancery.indexing.ports import SlowQueue
from chancery.kernel.errors import ChanceryError, Conflict, Corrupt, Unavailable
from chancery.kernel.ids import derived_id

TENANTS_REMEMBERED = 1000
"""Of how many tenants it is known who was served last."""

_log = logging.getLogger("chancery.indexing")


@dataclass(slots=True)
class Slowly:
    """Records revisions that take long, and extracts them one after the other."""

    queue: SlowQueue
    announcements: Announcements
    extraction: Extraction
    renewing: Renewing = USUAL
    _served: dict[str, None] = field(default_factory=dict[str, None])
    _recorded: asyncio.Event = field(default_factory=asyncio.Event)

    async def record(self, slow: SlowRevision) -> None:
        """Have a revision extracted later.

        Raises:
            Unavailable: it could not be recorded.
        """
        await self.queue.record(slow)
        self._recorded.set()

    async def run(self) -> None:
        """Extract what is recorded, for ever.

        Raises:
            Unavailable: something is away; run again.
        """
        while True:
            self._recorded.clear()
            while (slow := await self.queue.take(list(self._served))) is not None:
                self._note(slow.ref.tenant)
                await self._carry_out(slow)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._recorded.wait()

    def _note(self, tenant: str) -> None:
        """Put the tenant behind those that were served before it."""
        self._served.pop(tenant, None)
        self._served[tenant] = None
        if len(self._served) > TENANTS_REMEMBERED:
            del self._served[next(iter(self._served))]

    async def _carry_out(self, slow: SlowRevision) -> None:
        try:
            await hold(self._extract(slow), lambda: self.queue.renew(slow), self.renewing)
        except LeaseLost:
            _log.warning("%s %s was left to another process", slow.ref.kind, slow.ref.key)
            return
        except (Unavailable, Conflict):
            await self.queue.give_back(slow)
            raise
        except Corrupt as error:
            # Another build may read it: it stays here, and is taken again when its time is over.
            _log.warning("%s %s waits: %s", slow.ref.kind, slow.ref.key, error.code)
            return
        except ChanceryError as error:
            _log.warning("%s %s was not extracted: %s", slow.ref.kind, slow.ref.key, error.code)
        await self.queue.end(slow)

    async def _extract(self, slow: SlowRevision) -> None:
        ref = slow.ref
        names = (ref.tenant, ref.kind, ref.key, str(slow.revision))
        cause = Cause(derived_id("slow-extraction", *names), None, None)
        progress = await self.announcements.announce(Asking(ref, cause, {}))
        for one in progress.unextracted:
            if one.publication.revision == slow.revision:
                outcome = await self.extraction.run(ref, progress.history, one)
                found = {slow.revision: outcome}
                await self.announcements.announce(Asking(ref, cause, found))
