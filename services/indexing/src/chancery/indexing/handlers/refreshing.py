"""Indexing again what somebody asks for: recorded at once, carried out in the background.

A refresh never takes away what is there: a revision whose canonical form is in the blob store is
announced again as it is; only what failed, or whose bytes are gone, is extracted once more. Where
they cannot be made again it is unavailable until they are back (see `recovering`). As with every
announcement the log is read to its end first, so that nothing withdrawn comes back.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from chancery.events.index_requests import ReconcileSource, RefreshRevision, WorkAccepted
from chancery.events.requests import Message, Request
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.standing import Revision, form_in_force
from chancery.indexing.domain.wishes import WHOLE, Wish
from chancery.indexing.errors import LeaseLost
from chancery.indexing.handlers.extraction import Extraction
from chancery.indexing.handlers.grouping import Announcements
from chancery.indexing.handlers.leasing import USUAL, Renewing, hold
from chancery.indexing.handlers.looking import look
from chancery.indexing.handlers.progress import Asking, Cause, Progress
from chancery.indexing.ports import Wishes
from chancery.kernel.errors import ChanceryError, Conflict, Unavailable
from chancery.kernel.ids import derived_id

BodyT = TypeVar("BodyT", bound=Message)

POLL_S = 5.0
"""How long a wish that another process recorded or lost may wait."""

_log = logging.getLogger("chancery.indexing")


@dataclass(slots=True)
class Refreshing:
    """Takes wishes, and carries them out one after the other."""

    wishes: Wishes
    announcements: Announcements
    extraction: Extraction
    renewing: Renewing = USUAL
    _recorded: asyncio.Event = field(default_factory=asyncio.Event)

    async def refresh(self, request: Request[RefreshRevision]) -> WorkAccepted:
        """Record that a revision is to be indexed again.

        Raises:
            RefreshedRecently: it was asked for less than a minute ago.
        """
        return await self._record(request, request.body.key, request.body.revision)

    async def reconcile(self, request: Request[ReconcileSource]) -> WorkAccepted:
        """Record that a source is to be compared with its log.

        Raises:
            RefreshedRecently: it was asked for less than a minute ago.
        """
        return await self._record(request, request.body.key, WHOLE)

    async def run(self) -> None:
        """Carry wishes out for ever.

        Raises:
            Unavailable: something is away; run again.
        """
        while True:
            self._recorded.clear()
            while (wish := await self.wishes.take()) is not None:
                await self._carry_out(wish)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._recorded.wait()

    async def _record(self, request: Request[BodyT], key: str, revision: int) -> WorkAccepted:
        caller = request.caller
        request_id = derived_id(
            "wish", caller.tenant, caller.principal, request.route, request.idempotency_key
        )
        wish = Wish(ResourceRef(caller.tenant, "source", key), revision, request_id)
        is_new = await self.wishes.record(wish)
        self._recorded.set()
        return WorkAccepted(is_new=is_new)

    async def _carry_out(self, wish: Wish) -> None:
        try:
            await hold(self._index_again(wish), lambda: self.wishes.renew(wish), self.renewing)
        except LeaseLost:
            _log.warning("%s %s was left to another process", wish.ref.kind, wish.ref.key)
            return
        except (Unavailable, Conflict):
            await self.wishes.give_back(wish)
            raise
        except ChanceryError as error:
            _log.warning("%s %s was not refreshed: %s", wish.ref.kind, wish.ref.key, error.code)
        await self.wishes.end(wish)

    async def _index_again(self, wish: Wish) -> None:
        cause = Cause(wish.request_id, None, None)
        progress = await self.announcements.announce(Asking(wish.ref, cause, {}))
        looked = await look(self.extraction, wish.ref, progress.history, _wanted(wish, progress))
        renewed = {} if wish.revision == WHOLE else {wish.revision: wish.request_id}
        asking = Asking(wish.ref, cause, looked.outcomes, renewed, looked.verdicts)
        await self.announcements.announce(asking)


def _wanted(wish: Wish, progress: Progress) -> tuple[Revision, ...]:
    """Return what is looked at: the one that serves, of the whole also what was never extracted."""
    history, serving = progress.history, progress.history.serving
    serves = progress.revisions.get(serving) if serving is not None else None
    if wish.revision != WHOLE:
        return (serves,) if serves is not None and wish.revision == serving else ()
    has_form = serves is not None and form_in_force(wish.ref, history, serves) is not None
    return (*progress.unextracted, *((serves,) if serves is not None and has_form else ()))
