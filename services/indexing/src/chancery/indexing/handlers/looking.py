"""Looking for canonical forms that were made, and making again what is not there."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from chancery.indexing.domain.history import History, ResourceRef
from chancery.indexing.domain.standing import (
    DIFFERS,
    LOST,
    Failed,
    Form,
    Loss,
    Outcome,
    Revision,
    Verdict,
    form_in_force,
)
from chancery.indexing.domain.tries import Tries
from chancery.indexing.handlers.extraction import Extraction
from chancery.store.blobs import BlobNotFound

_log = logging.getLogger("chancery.indexing")


@dataclass(frozen=True, slots=True)
class Looked:
    """By revision the `outcomes` of what had no form yet, and `verdicts` on forms."""

    outcomes: dict[int, Outcome] = field(default_factory=dict[int, Outcome])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])


async def look(
    extraction: Extraction,
    ref: ResourceRef,
    history: History,
    revisions: Iterable[Revision],
    tries: Tries | None = None,
) -> Looked:
    """Extract what has no form in force; of what has one, see that it is there undamaged.

    A form that is gone or damaged is made again, with `tries` only when that is due. It is found
    when the same bytes came out: they have the hashes that the log names, and other ones would not
    be what was pinned. A layout that is gone is put back in the same way; without it the text still
    serves.

    Raises:
        Unavailable: when blobs or workers are away; try again later.
    """
    looked, tries = Looked(), tries or Tries()
    for one in revisions:
        form = form_in_force(ref, history, one)
        if form is None:
            number = one.publication.revision
            looked.outcomes[number] = await extraction.run(ref, history, one)
            continue
        verdict = await _Looking(extraction, history, one, form, tries).verdict()
        if verdict is not None:
            looked.verdicts.append(verdict)
    return looked


@dataclass(frozen=True, slots=True)
class _Looking:
    """Looks for one form."""

    extraction: Extraction
    history: History
    revision: Revision
    form: Form
    tries: Tries

    async def verdict(self) -> Verdict | None:
        """Return what it came to, or None when there is nothing new to say."""
        lack, loss = await self.extraction.lack(self.form), None
        if lack is not None:
            if not self.tries.is_due(self.form):
                return Verdict(self.form, None) if lack == "layout" else None
            loss = await self._make_again()
            lack = await self.extraction.lack(self.form)
        if lack == "form":
            return Verdict(self.form, loss or LOST)
        if lack == "layout":
            where = (self.form.ref.kind, self.form.ref.key, self.form.revision)
            _log.warning("%s %s %s is without its layout: %s", *where, loss or LOST)
        else:
            self.tries.forget(self.form)
        return Verdict(self.form, None)

    async def _make_again(self) -> Loss | None:
        """Make the form from the published bytes, and return why that was in vain, if it was."""
        revision = replace(self.revision, outcome=None)
        outcome = await self.extraction.run(self.form.ref, self.history, revision)
        if isinstance(outcome.result, Failed):
            # Bytes that are not there cost nothing to look for, and are found as soon as they are.
            if outcome.result.reason != BlobNotFound.code:
                self.tries.put_off(self.form)
            return LOST
        if outcome.result != self.form.extracted:
            self.tries.give_up(self.form)
            return DIFFERS
        return None
