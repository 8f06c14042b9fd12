"""The JSON bodies of curated items, private files and corpora."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from chancery.events import queries
from chancery.events.authority import Title, Visibility
from chancery.events.authority_knowledge import Label
from chancery.events.commands_knowledge import Evidence, TagsOnce
from chancery.events.envelope import Id, Many, Sha256
from chancery.events.run import Bounds
from chancery.evidence.corpora import CorpusDeclaration
from chancery.evidence.corpus_text import declaration_of
from chancery.gateway.domain.bodies import Body, PinnedSourceReply, Question

Scalars = Annotated[str, Field(min_length=1, max_length=200)]


class DraftBody(Body):
    """A draft of an item: its whole text, and the published revisions that it rests on.

    The first draft says who may see the item, by default every member; a later one keeps that.
    """

    title: Title
    kind: Label
    domain: Label
    tags: TagsOnce = ()
    text: str = Field(min_length=1)
    evidence: Evidence = ()
    visibility: Visibility | None = None
    native_workspace_id: Id | None = None
    native_item_id: Id | None = None


class PublishBody(Body):
    """The exact content and evidence to publish, as the draft has them."""

    content_sha256: Sha256
    evidence: Evidence = ()


class CorpusBody(Body):
    """A corpus declaration in JSON; the name of the corpus stands in the path."""

    model: str
    scope: str
    title: str
    content: Many[str]
    where: str
    binding: str = Field(alias="from")

    def declaration(self, name: str) -> CorpusDeclaration:
        """Return the checked declaration.

        Raises:
            Rejected: with the attribute as `field`.
        """
        written = {
            "model": self.model,
            "scope": self.scope,
            "title": self.title,
            "content": self.content,
            "where": self.where,
            "from": self.binding,
        }
        return declaration_of(name, written)


class CorpusReply(BaseModel):
    """A corpus as it is declared, in attributes and on one line."""

    id: str
    model: str
    scope: str
    title: str
    content: tuple[str, ...]
    where: str
    binding: str = Field(serialization_alias="from")
    declaration: str
    declaration_sha256: str


class RequestPair(Body):
    """What names a request of its caller: one pair starts one run."""

    source: Scalars
    revision: int = Field(ge=1, le=2**31 - 1)


class CorpusQuestion(RequestPair):
    """A question to a corpus: which of its caller's, under which policy, and how much it may take.

    The bounds stand beside the question, and profile and policy revision are required.
    """

    question: Question
    profile: Scalars
    policy_revision: Scalars
    max_input_tokens: int = Field(default=8192, ge=1, le=32_768)
    max_output_tokens: int = Field(default=1024, ge=1, le=4096)
    max_duration_s: int = Field(default=60, ge=1, le=600)
    min_sources: int = Field(default=1, ge=1, le=12)
    max_sources: int = Field(default=8, ge=1, le=12, validate_default=True)

    @field_validator("max_sources")
    @classmethod
    def _is_no_less_than_the_fewest(cls, most: int, info: ValidationInfo) -> int:
        fewest = info.data.get("min_sources")
        if fewest is not None and fewest > most:
            message = "min_sources must not exceed max_sources"
            raise ValueError(message)
        return most

    def bounds(self) -> Bounds:
        """Return the bounds of the run."""
        return Bounds.model_validate(self.model_dump(include=set(Bounds.model_fields)))


class RecordBody(Body):
    """One exact revision of a source of the corpus."""

    source: Id
    revision: int = Field(ge=1, le=2**31 - 1)


class AnswerHandle(Body):
    """An opaque answer: which run and generation it is of, by default the newest."""

    run_id: Id
    generation: int | None = Field(default=None, ge=1)


class AvailableBody(Body):
    """The handle of an answer as a run holds it, or null."""

    answer: AnswerHandle | None


class FileReply(BaseModel):
    """An uploaded private file; `state` is that of the index."""

    file_id: str
    content_sha256: str
    media_type: str
    size_bytes: int
    sequence: int
    state: str


class VersionReply(BaseModel):
    """A version of an item together with the state and hashes of its indexed form."""

    version: queries.VersionView
    index: PinnedSourceReply

    @classmethod
    def of(cls, version: queries.VersionView, pinned: queries.PinnedRevision) -> Self:
        """Return what a reader is shown of a version."""
        return cls(version=version, index=PinnedSourceReply.of(pinned))
