"""Looking for canonical forms that were made, and making again what is not there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from chancery.indexing.domain.history import History, ResourceRef
from chancery.indexing.domain.standing import Outcome, Revision, form_in_force
from chancery.indexing.handlers.extraction import Extraction


@dataclass(frozen=True, slots=True)
class Looked:
    """By revision, the `outcomes` of what had no form yet, and whether a form is `lost`."""

    outcomes: dict[int, Outcome] = field(default_factory=dict[int, Outcome])
    lost: dict[int, bool] = field(default_factory=dict[int, bool])


async def look(
    extraction: Extraction, ref: ResourceRef, history: History, revisions: Iterable[Revision]
) -> Looked:
    """Extract what has no form in force; of what has one, see that it is there.

    A form that is gone is made again. It is found when the same bytes came out: they have the
    hashes that the log names, and other ones would not be what was pinned.

    Raises:
        Unavailable: when blobs or workers are away; try again later.
    """
    looked = Looked()
    for one in revisions:
        number, form = one.publication.revision, form_in_force(ref, history, one)
        if form is None:
            looked.outcomes[number] = await extraction.run(ref, history, one)
            continue
        if not await extraction.is_kept(ref, form):
            await extraction.run(ref, history, replace(one, outcome=None))
        looked.lost[number] = not await extraction.is_kept(ref, form)
    return looked
