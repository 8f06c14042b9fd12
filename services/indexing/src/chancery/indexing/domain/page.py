"""What indexing knows of one resource while it holds its lock, and how the logs change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from chancery.events.envelope import EventData
from chancery.events.index import (
    RevisionExcluded,
    RevisionExtracted,
    RevisionFailed,
    RevisionPending,
    RevisionReady,
    RevisionUnavailable,
)
from chancery.indexing.domain.history import History, ResourceRef, follow, publication_of
from chancery.indexing.domain.standing import (
    Failed,
    Outcome,
    Revision,
    Standing,
    Step,
    Verdict,
    extracted_step,
    form_of,
    needs_extraction,
    next_step,
    outcome_of,
    renewed_step,
)


@dataclass(slots=True)
class Page:
    """One resource; `index_sequence` is the last message of its INDEX subject accounted for.

    `revisions` holds those that may still change: the newest, and each that is not excluded yet or
    has no outcome. `renewals` are those to announce as ready once more, for which request; they are
    not kept. Changed by the methods below only, under the lock of its ledger.
    """

    ref: ResourceRef
    history: History = field(default_factory=History)
    index_sequence: int = 0
    revisions: dict[int, Revision] = field(default_factory=dict[int, Revision])
    renewals: dict[int, str] = field(default_factory=dict[int, str])

    def follow_authority(self, sequence: int, data: EventData) -> None:
        """Continue with the resource's next event on AUTHORITY."""
        if sequence <= self.history.sequence:
            return
        self.history = follow(self.history, self.ref.kind, sequence, data)
        published = publication_of(sequence, data)
        if published is not None:
            self.revisions[published.revision] = Revision(published)

    def follow_index(self, sequence: int, data: EventData) -> None:
        """Continue with a message of the resource's INDEX subject, ours or a forgotten one."""
        self.index_sequence = max(self.index_sequence, sequence)
        match data:
            case RevisionExtracted():
                self._update(data.revision, outcome=outcome_of(data))
            case RevisionPending():
                standing = Standing("pending", data.reason, attempt=data.attempt)
                self._update(data.revision, standing=standing)
            case RevisionReady():
                self.renewals.pop(data.revision, None)
                standing = Standing("ready", manifest_sha256=data.manifest_sha256)
                self._update(data.revision, standing=standing)
            case RevisionFailed():
                standing = Standing("failed", data.reason, attempt=data.attempt)
                self._update(data.revision, standing=standing)
            case RevisionExcluded():
                self._update(data.revision, standing=Standing("excluded", data.reason))
            case RevisionUnavailable():
                self._update(data.revision, standing=Standing("unavailable", data.reason))
            case _:
                return

    def record_failures(self, found: Mapping[int, Outcome]) -> None:
        """Keep the outcomes that no event of their own tells of."""
        for number, outcome in found.items():
            if isinstance(outcome.result, Failed):
                self._update(number, outcome=outcome)

    def note_lost(self, verdicts: Iterable[Verdict]) -> None:
        """Take in what looking for canonical forms came to; of other forms nothing is concluded."""
        for verdict in verdicts:
            known = self.revisions.get(verdict.form.revision)
            if known is not None and form_of(self.ref, known) == verdict.form:
                self.revisions[verdict.form.revision] = replace(known, verdict=verdict)

    def renew(self, wished: Mapping[int, str]) -> None:
        """Announce these revisions as ready once more, each for the request of this id."""
        self.renewals.update(wished)

    def next_step(self, found: Mapping[int, Outcome]) -> Step | None:
        """Return the next event to append, or None when everything was said.

        `found` are outcomes of extractions; one that an earlier extraction under the same identity
        has anticipated is dropped: the first one wins. Of a withdrawn resource none is said. Older
        revisions come first.
        """
        for number, revision in sorted(self.revisions.items()):
            step = self._extraction_step(revision, found.get(number))
            step = step or next_step(
                self.ref, self.history, self.revisions[number], after=self.index_sequence
            )
            step = step or self._renewal_step(number)
            if step is not None:
                return step
        return None

    def unextracted(self) -> tuple[Revision, ...]:
        """Return the revisions that have extraction work, oldest first."""
        return tuple(
            revision
            for _, revision in sorted(self.revisions.items())
            if needs_extraction(self.ref, self.history, revision)
        )

    def _extraction_step(self, revision: Revision, found: Outcome | None) -> Step | None:
        known = revision.outcome
        if found is None or self.history.withdrawn or _is_of_other(found, revision):
            return None
        if known is not None and _stands_against(known, found):
            return None
        after = None if known is None else self.index_sequence
        made = replace(revision, outcome=found)
        return extracted_step(self.ref, self.history, made, after=after)

    def _renewal_step(self, number: int) -> Step | None:
        request_id = self.renewals.get(number)
        if request_id is None:
            return None
        return renewed_step(self.ref, self.history, self.revisions[number], request_id)

    def _update(
        self, number: int, *, outcome: Outcome | None = None, standing: Standing | None = None
    ) -> None:
        known = self.revisions.get(number)
        if known is not None:
            self.revisions[number] = replace(
                known, outcome=outcome or known.outcome, standing=standing or known.standing
            )


def _is_of_other(found: Outcome, revision: Revision) -> bool:
    """Tell whether a canonical form was made of other content than the log says was published.

    The same bytes under another media type are read in another way.
    """
    made_of, said = found.made_of, revision.publication
    return made_of is not None and (
        (made_of.content_sha256, made_of.media_type) != (said.content_sha256, said.media_type)
    )


def _stands_against(known: Outcome, found: Outcome) -> bool:
    """Tell whether a known canonical form keeps its place; a failure gives way to a later try."""
    return known.extractor == found.extractor and not isinstance(known.result, Failed)
