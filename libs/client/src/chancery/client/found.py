"""What a search, and a question in one call, answer with, as models."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from chancery.client.replies import Answered, Citation, HitCell


class Rectangle(Answered):
    """A line on a page (the first is 1), in points of the page's own space."""

    page: int
    left: float
    bottom: float
    right: float
    top: float


class Hit(Answered):
    """A passage: `excerpt` is [start, end) of the text that it stands in, in code points.

    Of a source there are `source_id` and `revision`, of an item `item_id`, `version` and
    `version_id` and never a place, of a private file `file_id` and `revision`. A PDF has a page and
    `rectangles`, a workbook `cells`.
    """

    source_id: str | None = None
    item_id: str | None = None
    file_id: str | None = None
    revision: int | None = None
    version: int | None = None
    version_id: str | None = None
    title: str
    part: str
    start: int
    end: int
    page: int | None = None
    rectangles: tuple[Rectangle, ...] | None = None
    cells: tuple[HitCell, ...] | None = None
    excerpt: str
    sha256: str


class Coverage(Answered):
    """How much of what the caller may read was searched; complete never means all was found.

    `reasons` counts by code why the others are pending, failed or unavailable.
    """

    state: Literal["complete", "incomplete", "unavailable"]
    eligible: int
    ready: int
    pending: int
    failed: int
    unavailable: int
    reasons: dict[str, int] = Field(default_factory=dict[str, int])


class Found(Answered):
    """The passages, best first; `checkpoint` is the place in the log that access was decided at."""

    hits: tuple[Hit, ...]
    coverage: Coverage
    checkpoint: int


class Excerpts(Answered):
    """Exact excerpts with their citations, or (`no_answer`) none and the explanation why."""

    answer: str | None
    citations: tuple[Citation, ...]
    no_answer: bool
    explanation: str | None = None
    run_id: str
    generation: int
    coverage: JsonValue = None
