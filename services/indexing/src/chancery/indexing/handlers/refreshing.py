"""Indexing again what somebody asks for: recorded at once, carried out in the background.

A refresh never takes away what is there: a revision whose canonical form is in the blob store,
undamaged, is announced again as it is, since the search index may have met it damaged and have left
it out; only what failed, or whose bytes are gone or damaged, is extracted once more. Where they
cannot be made again it is unavailable until they are back (see `recovering`). As with every
announcement the log is read to its end first, so that nothing withdrawn comes back.
"""

from __future__ import annotations

import logging
from dataclasses import InitVar, dataclass, field
from typing import TypeVar

from chancery.events.index_requests import ReconcileSource, RefreshRevision, WorkAccepted
from chancery.events.requests import Message, Request
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.standing import Failed, Revision, form_in_force
from chancery.indexing.domain.wishes import WHOLE, Wish
from chancery.indexing.handlers.extraction import Extraction
from chancery.indexing.handlers.grouping import Announcements
from chancery.indexing.handlers.leasing import USUAL, Renewing
from chancery.indexing.handlers.looking import look
from chancery.indexing.handlers.progress import Asking, Cause, Progress
from chancery.indexing.handlers.turns import Turns
from chancery.indexing.ports import Wishes
from chancery.kernel.errors import Corrupt
from chancery.kernel.ids import derived_id
from chancery.store.blobs import BlobCorrupt, BlobNotFound

BodyT = TypeVar("BodyT", bound=Message)

_log = logging.getLogger("chancery.indexing")


@dataclass(slots=True)
class Refreshing:
    """Takes wishes, and carries them out one after the other."""

    wishes: Wishes
    announcements: Announcements
    extraction: Extraction
    renewing: InitVar[Renewing] = USUAL
    _turns: Turns[Wish] = field(init=False)

    def __post_init__(self, renewing: Renewing) -> None:
        """Begin with nobody served."""
        self._turns = Turns(self.wishes, self._carry_out, renewing)

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
            Unavailable, Conflict: something is away, or others came first; run again.
        """
        await self._turns.run()

    async def _record(self, request: Request[BodyT], key: str, revision: int) -> WorkAccepted:
        caller = request.caller
        request_id = derived_id(
            "wish", caller.tenant, caller.principal, request.route, request.idempotency_key
        )
        wish = Wish(ResourceRef(caller.tenant, "source", key), revision, request_id)
        is_new = await self.wishes.record(wish)
        self._turns.wake()
        return WorkAccepted(is_new=is_new)

    async def _carry_out(self, wish: Wish) -> None:
        try:
            await self._index_again(wish)
        except Corrupt as error:
            # Whoever wished it may do so again; here it would wait for a build that can read it.
            _log.warning("%s %s was not refreshed: %s", wish.ref.kind, wish.ref.key, error.code)

    async def _index_again(self, wish: Wish) -> None:
        cause = Cause(wish.request_id, None, None)
        progress = await self.announcements.announce(Asking(wish.ref, cause, {}))
        looked = await look(self.extraction, wish.ref, progress.history, _wanted(wish, progress))
        number = progress.history.serving if wish.revision == WHOLE else wish.revision
        renewed = {} if number is None else {number: wish.request_id}
        asking = Asking(wish.ref, cause, looked.outcomes, renewed, looked.verdicts)
        await self.announcements.announce(asking)


def _wanted(wish: Wish, progress: Progress) -> tuple[Revision, ...]:
    """Return what is looked at: the one that serves, of the whole also what was never extracted.

    A failure that its own content explains is not looked into again with the whole.
    """
    history, serving = progress.history, progress.history.serving
    serves = progress.revisions.get(serving) if serving is not None else None
    if wish.revision != WHOLE:
        return (serves,) if serves is not None and wish.revision == serving else ()
    if serves is None or serves in progress.unextracted:
        return progress.unextracted
    has_form = form_in_force(wish.ref, history, serves) is not None
    return (*progress.unextracted, *((serves,) if has_form or _lacked_bytes(serves) else ()))


def _lacked_bytes(revision: Revision) -> bool:
    """Tell whether a revision failed since its published bytes were not there, or damaged."""
    result = None if revision.outcome is None else revision.outcome.result
    return isinstance(result, Failed) and result.reason in {BlobNotFound.code, BlobCorrupt.code}
