"""A source that was published and indexed, and what can be found and selected in it."""

from __future__ import annotations

from dataclasses import dataclass

from chancery.authority.names import AggregateRef
from chancery.events.run import GatheredPassage, ProposedQuote
from chancery.evidence.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Published:
    """A source that was published and indexed."""

    ref: AggregateRef
    source_id: str
    revision: int
    text: str
    manifest: Manifest

    def passage(self) -> GatheredPassage:
        """Return the whole first part as a passage."""
        part = self.manifest.parts[0]
        return GatheredPassage(
            key=self.ref.id,
            revision=self.revision,
            part_id=part.part_id,
            start=part.start,
            end=part.end,
            extraction_sha256=self.manifest.extraction_sha256,
        )

    def quote(self, wanted: str) -> ProposedQuote:
        """Return the selection of the exact text `wanted`."""
        start = self.text.index(wanted)
        return ProposedQuote(
            key=self.ref.id,
            revision=self.revision,
            part_id=self.manifest.parts[0].part_id,
            start=start,
            end=start + len(wanted),
        )
