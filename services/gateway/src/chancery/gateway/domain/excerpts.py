"""The fixed source-excerpt format of `rag` and `rlm`: answer, citations, no_answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from chancery.events.authority import Mode
from chancery.events.queries import Document
from chancery.events.run import Selection
from chancery.gateway.domain.bodies import (
    Body,
    BoundsBody,
    FiltersBody,
    MessageBody,
    OrderedBounds,
    Question,
)


class ExcerptBody(Body):
    """A question about documents, where they may be, and how much it may take."""

    question: Question
    sources: Selection = ()
    items: Selection = ()
    files: Selection = ()
    filters: FiltersBody = Field(default_factory=FiltersBody)
    bounds: OrderedBounds = Field(default_factory=BoundsBody)

    def message(self, mode: Mode) -> MessageBody:
        """Return it as the message of a conversation."""
        return MessageBody(
            question=self.question,
            sources=self.sources,
            items=self.items,
            files=self.files,
            filters=self.filters,
            mode=mode,
            bounds=self.bounds,
        )


class ExcerptReply(BaseModel):
    """Either exact excerpts with their citations, or no answer and the fixed explanation why.

    `answer` is null, and `no_answer` true, when nothing was sealed or it may not be shown.
    """

    answer: str | None
    citations: list[dict[str, JsonValue]]
    no_answer: bool
    explanation: str | None = None
    run_id: str
    generation: int
    coverage: dict[str, JsonValue] | None = None


class OpenReply(BaseModel):
    """The run has not ended yet; the same request with the same key goes on waiting for it."""

    run_id: str


class _Ended(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    run_id: str
    generation: int
    coverage: dict[str, JsonValue] | None = None


class _Sealed(_Ended):
    status: Literal["sealed"]
    text: str
    citations: list[dict[str, JsonValue]]


class _Unanswered(_Ended):
    status: Literal["refused", "withheld"]
    explanation: str


_DOCUMENT: TypeAdapter[_Sealed | _Unanswered] = TypeAdapter(
    Annotated[_Sealed | _Unanswered, Field(discriminator="status")]
)


def excerpt_reply(document: Document) -> ExcerptReply:
    """Return a run's document in this format; nothing of it is written anew."""
    found = _DOCUMENT.validate_json(document.json_text)
    match found:
        case _Sealed():
            return ExcerptReply(
                answer=found.text,
                citations=found.citations,
                no_answer=False,
                run_id=found.run_id,
                generation=found.generation,
                coverage=found.coverage,
            )
        case _Unanswered():
            return ExcerptReply(
                answer=None,
                citations=[],
                no_answer=True,
                explanation=found.explanation,
                run_id=found.run_id,
                generation=found.generation,
                coverage=found.coverage,
            )
