"""The JSON bodies of the HTTP surface; unknown fields are refused by name."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from chancery.events import queries
from chancery.events.authority import (
    Language,
    Mode,
    Role,
    Standing,
    Title,
    Visibility,
)
from chancery.events.days import on_the_calendar
from chancery.events.declarations import WrittenDeclaration
from chancery.events.envelope import Id, Many, Moment
from chancery.events.index import ResourceKind
from chancery.events.queries import QUERY_OFFSET_MAX, QUERY_ROWS_MAX
from chancery.events.run import Bounds, Filters, Selection
from chancery.gateway.domain.exact import Exact
from chancery.runtime.sentences import DAY_PATTERN

QUESTION_SCALARS_MAX = 4000


def _trimmed(question: str) -> str:
    trimmed = question.strip()
    if not trimmed:
        message = "must hold at least one character that is not white space"
        raise ValueError(message)
    if len(trimmed) > QUESTION_SCALARS_MAX:
        message = f"must be at most {QUESTION_SCALARS_MAX} characters"
        raise ValueError(message)
    return trimmed


class BoundsBody(Exact, Bounds):
    """How much a run may take; an unknown bound is refused by its name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def run_bounds(self) -> Bounds:
        """Return them as the run carries them."""
        return Bounds.model_validate(self.model_dump())


def _ordered(bounds: BoundsBody) -> BoundsBody:
    if bounds.min_sources > bounds.max_sources:
        message = "min_sources must not exceed max_sources"
        raise ValueError(message)
    return bounds


Day = Annotated[str, Field(pattern=DAY_PATTERN), AfterValidator(on_the_calendar)]
"""A day of the calendar, YYYY-MM-DD."""

OrderedBounds = Annotated[BoundsBody, AfterValidator(_ordered)]
"""How much a run may take."""

Question = Annotated[str, AfterValidator(_trimmed)]
"""A question, trimmed, of 1 to 4,000 code points."""


class Body(Exact):
    """A request body."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class WorkspaceBody(Body):
    """A workspace to create."""

    workspace_id: Id
    title: Title


class MemberBody(Body):
    """The role of a member."""

    role: Role


class CredentialBody(Body):
    """A credential to issue; `tenant` is for the operator."""

    principal: Id
    expires_at: Moment | None = None
    tenant: Id | None = None


class PolicyBody(Body):
    """The answer policy of a workspace."""

    policy_revision: str = Field(min_length=1, max_length=200)
    modes: Many[Mode] = Field(default=("auto", "rag", "data"), min_length=1, max_length=4)
    language: Language = "en"


class SourceBody(Body):
    """A document source to declare; what is left out of one that is there stays as it is.

    A new one is for the members of the workspace when no visibility is said.
    """

    title: Title
    visibility: Visibility | None = None
    authority: Standing | None = None
    date: Day | None = None


class RevisionBody(Body):
    """A revision given as text."""

    media_type: str = Field(default="text/plain", min_length=1, max_length=100)
    text: str = Field(min_length=1)


class CheckBody(Body):
    """A passage to look for in one revision; offsets are code points, [start, end)."""

    text: str = Field(min_length=1, max_length=20_000)
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=1)


class DatasetBody(WrittenDeclaration, Body):
    """A dataset to declare; what is left out of one that is there stays as it is.

    A new one is for the members of the workspace when no visibility is said.
    """

    title: Title
    visibility: Visibility | None = None


class SqlBody(Body):
    """A statement to run over the datasets that the caller may read, and which rows of it."""

    sql: str = Field(min_length=1, max_length=8192)
    offset: int = Field(default=0, ge=0, le=QUERY_OFFSET_MAX)
    limit: int = Field(default=QUERY_ROWS_MAX, ge=1, le=QUERY_ROWS_MAX)


class FiltersBody(Body):
    """What the documents of an answer have to be like; another filter is refused by its name."""

    authority: Many[Standing] = Field(default=(), max_length=3)
    date_from: Day | None = None
    date_to: Day | None = None

    def filters(self) -> Filters:
        """Return them as the run carries them."""
        return Filters.model_validate(self.model_dump())


class MessageBody(Body):
    """A question, what it may be answered from, and how much it may take."""

    question: Question
    sources: Selection = ()
    items: Selection = ()
    datasets: Selection = ()
    files: Selection = ()
    filters: FiltersBody = Field(default_factory=FiltersBody)
    mode: Mode = "auto"
    bounds: OrderedBounds = Field(default_factory=BoundsBody)


class CredentialReply(BaseModel):
    """An issued credential; the token is shown to whoever may issue it again."""

    tenant: str
    principal: str
    credential_id: str
    token: str
    expires_at: Moment | None = None


class Membership(BaseModel):
    """A workspace of the caller, and their role in it."""

    workspace_id: str
    role: str


class WorkspacesReply(BaseModel):
    """The workspaces that the caller is a member of."""

    workspaces: list[Membership]


class RevisionReply(BaseModel):
    """A published revision; `changed` is false when it served before, `state` is of the index."""

    revision: int
    sequence: int
    content_sha256: str
    event_id: str
    state: str
    changed: bool = True


class BlobReply(BaseModel):
    """The hash that a submission over the bus names its uploaded bytes by."""

    sha256: str
    size_bytes: int


class SnapshotReply(BaseModel):
    """A published snapshot; `changed` is false when it served before, `state` is of the index."""

    snapshot: int
    sequence: int
    content_sha256: str
    event_id: str
    state: str
    changed: bool = True


class PinnedReply(BaseModel):
    """A revision or snapshot with the hashes of its bytes; null extraction means not ready.

    Who may not see all of a dataset has other names in their place: the same for the same bytes,
    and nothing that guesses could be held against.

    Named here one by one: nothing of a dataset's policy reaches a caller by being passed on, nor
    the size of a file, which tells of the rows and columns that are hidden.
    """

    kind: ResourceKind
    key: str
    id: str
    title: str
    revision: int
    content_sha256: str
    media_type: str
    state: queries.IndexState
    reason: str | None = None
    attempt: int | None = None
    extraction_sha256: str | None = None
    manifest_sha256: str | None = None

    @classmethod
    def of(cls, pinned: queries.PinnedRevision) -> Self:
        """Return what a caller is shown of an authorised revision."""
        told = {} if pinned.told is None else pinned.told.model_dump()
        return cls.model_validate({**pinned.model_dump(include=set(cls.model_fields)), **told})


class PinnedSourceReply(PinnedReply):
    """A revision of a source with the hashes and the size of its bytes."""

    size_bytes: int


class SchemaReply(BaseModel):
    """The columns of a snapshot that the caller may see, how many of its rows, and what they hold.

    `statistics` follow the order of `columns`; null when they could not be computed in time.
    `types_from_all_rows` warns publishers: these columns can tell restricted readers of rows that a
    row filter hides; declare their types. Null for others, and where no row filter is.
    """

    dataset: PinnedReply
    columns: tuple[tuple[str, str], ...]
    rows: int
    statistics: tuple[queries.ColumnSummary, ...] | None = None
    types_from_all_rows: tuple[str, ...] | None = None


class RectangleReply(BaseModel):
    """A line that a passage touches, in points of its page's own space; the first page is 1."""

    page: int
    left: float
    bottom: float
    right: float
    top: float


class CellReply(BaseModel):
    """A cell that a passage touches, with the type and text of its value."""

    sheet: str
    cell: str
    type: str
    value: str


class CheckReply(BaseModel):
    """Whether a passage stands in a revision: match, absent or ambiguous, and where.

    A PDF has a page and rectangles, a workbook has cells; of a long passage the first ones only.
    `occurrences` are counted up to 1,000.
    """

    verdict: str
    occurrences: int
    start: int | None = None
    end: int | None = None
    page: int | None = None
    rectangles: list[RectangleReply] | None = None
    cells: list[CellReply] | None = None
    extraction_sha256: str


class RetriedReply(BaseModel):
    """The generation that answers a question once more."""

    run_id: str
    generation: int


class PostedReply(BaseModel):
    """The run that answers a question."""

    run_id: str
    message_id: str
