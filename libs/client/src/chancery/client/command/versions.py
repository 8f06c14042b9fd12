"""The next version of an item: what is left out stays as the newest version has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from chancery.client.errors import ProblemError
from chancery.client.knowledge import Draft, Evidence, Items, ItemSummary, SavedDraft
from chancery.client.replies import Answered
from chancery.events.authority import Visibility
from chancery.events.authority_knowledge import EvidenceKind


class KeptRoot(Answered):
    """A revision that a version rests on."""

    kind: EvidenceKind
    id: str
    revision: int


class Described(Answered):
    """What a version or draft of an item says of itself; it has a number or an id of a draft."""

    title: str
    kind: str
    domain: str
    tags: tuple[str, ...] = ()
    evidence: tuple[KeptRoot, ...] = ()
    author: str = ""
    version: int | None = None
    draft_id: str | None = None
    version_id: str | None = None
    operation_id: str | None = None
    content_sha256: str = ""
    evidence_sha256: str = ""

    def rests_on(self) -> list[Evidence]:
        """Return the evidence as a draft names it."""
        return [Evidence(each.kind, each.id, each.revision) for each in self.evidence]

    def as_saved(self) -> SavedDraft:
        """Return a draft as saving it would have told it."""
        assert self.draft_id is not None, "it is a draft"
        return SavedDraft(
            draft_id=self.draft_id,
            content_sha256=self.content_sha256,
            evidence_sha256=self.evidence_sha256,
            sequence=0,
            changed=False,
        )

    def roots(self) -> str:
        """Return the evidence as the command line writes it."""
        return ", ".join(f"{each.kind}:{each.id}:{each.revision}" for each in self.evidence)

    def sentence(self) -> str:
        """Return in a line what it is, and on what it rests."""
        tags = f"  tags {', '.join(self.tags)}" if self.tags else ""
        rests = f"  evidence {self.roots()}" if self.evidence else "  no evidence"
        return f"by {self.author}  {self.kind}, {self.domain}{tags}{rests}  {self.title}"


class KnownItem(Answered):
    """An item as its curator sees it, versions and drafts oldest first."""

    item: ItemSummary
    versions: tuple[Described, ...] = ()
    drafts: tuple[Described, ...] = ()

    @property
    def newest(self) -> Described | None:
        """Return the newest version, before the first one the newest draft."""
        found = self.versions or self.drafts
        return found[-1] if found else None

    def draft(self, draft_id: str) -> Described | None:
        """Return the draft of this id, None when the caller sees none."""
        return next((each for each in self.drafts if each.draft_id == draft_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """What the command line says of a version; None keeps what the newest one has."""

    text: str = field(repr=False)
    title: str | None = None
    kind: str | None = None
    domain: str | None = None
    tags: Sequence[str] | None = None
    evidence: Sequence[Evidence] | None = None
    visibility: Visibility | None = None

    def draft(self, item_id: str, before: Described | None) -> Draft:
        """Return the whole draft."""
        known = before or Described(title=item_id, kind="article", domain="general")
        return Draft(
            title=known.title if self.title is None else self.title,
            text=self.text,
            kind=known.kind if self.kind is None else self.kind,
            domain=known.domain if self.domain is None else self.domain,
            tags=known.tags if self.tags is None else self.tags,
            evidence=known.rests_on() if self.evidence is None else self.evidence,
            visibility=self.visibility,
        )

    def kept(self, before: Described | None) -> str | None:
        """Return in a sentence what stays as it was, or None when nothing does."""
        if before is None:
            return None
        told = {
            "title": self.title is None,
            f"kind {before.kind}": self.kind is None,
            f"domain {before.domain}": self.domain is None,
            f"tags {', '.join(before.tags)}": self.tags is None and bool(before.tags),
            f"evidence {before.roots()}": self.evidence is None and bool(before.evidence),
        }
        words = [word for word, is_kept in told.items() if is_kept]
        return f"kept as it was: {'; '.join(words)}" if words else None


async def known_item(items: Items, item_id: str) -> KnownItem | None:
    """Return an item as it is, or None for one that is new."""
    try:
        return KnownItem.model_validate(await items.read(item_id))
    except ProblemError as error:
        if error.status == HTTPStatus.NOT_FOUND and error.code == "item_not_found":
            return None
        raise
