"""Bringing back by themselves the revisions whose canonical form is gone, once it can be had again.

The form may be back in the blob store (which was restored, or mounted again), or the published
bytes may be, from which it is made again. Until then the revision is unavailable. Bytes of which
another form is made than the one that was pinned are tried once by each process, and those that
cannot be read less and less often. A form that an earlier build's extractor made is not looked for:
the revision is extracted by today's.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.standing import needs_extraction
from chancery.indexing.domain.tries import Tries
from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.handlers.extraction import Extraction
from chancery.indexing.handlers.grouping import Announcements
from chancery.indexing.handlers.looking import look
from chancery.indexing.handlers.progress import Asking, Cause
from chancery.indexing.handlers.slowly import Slowly
from chancery.indexing.ports import LostForms
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.kernel.ids import derived_id

EVERY_S = 60.0
"""How long it takes at most until a form that is back is noticed, if few are missing."""

AT_ONCE = 100
"""How many are looked for in one round."""

_log = logging.getLogger("chancery.indexing")


@dataclass(frozen=True, slots=True)
class Recovering:
    """Looks for lost forms, round after round."""

    lost: LostForms
    announcements: Announcements
    extraction: Extraction
    slowly: Slowly
    every_s: float = EVERY_S
    tries: Tries = field(default_factory=Tries)

    async def run(self) -> None:
        """Look for what is lost, for ever.

        Raises:
            Unavailable: something is away; run again.
        """
        while True:
            await self.look_for_all()
            await asyncio.sleep(self.every_s)

    async def look_for_all(self) -> None:
        """Look once for up to `AT_ONCE` lost forms, and announce those that are there.

        Raises:
            Unavailable: something is away.
        """
        self.tries.begin_round()
        for ref in await self.lost.sample(AT_ONCE):
            try:
                await self._look_for(ref)
            except Unavailable:
                raise
            except ChanceryError as error:
                _log.warning("%s %s was not looked for: %s", ref.kind, ref.key, error.code)

    async def _look_for(self, ref: ResourceRef) -> None:
        cause = Cause(derived_id("recovering", ref.tenant, ref.kind, ref.key), None, None)
        progress = await self.announcements.announce(Asking(ref, cause, {}))
        history = progress.history
        serves = progress.revisions.get(history.serving or 0)
        if serves is None:
            return
        if needs_extraction(ref, history, serves):
            await self.slowly.record(SlowRevision(ref, serves.publication.revision))
        elif serves.standing is not None and serves.standing.state == "unavailable":
            looked = await look(self.extraction, ref, history, (serves,), self.tries)
            if looked.verdicts:
                await self.announcements.announce(Asking(ref, cause, {}, verdicts=looked.verdicts))
