"""One question being answered: the events of the RUNS stream, version 1.

Text and values never travel here: the question, quotations and previews are blobs named by hash.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from chancery.events.authority import Language, Mode, Standing
from chancery.events.envelope import EventData, Id, Many, Moment, Ordinal, Position, Sha256, Whole
from chancery.events.index import ResourceKind

Selection = Annotated[Many[Id], Field(max_length=500)]
"""Ids of things that the caller selected; empty selects everything the caller may read."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Bounds(_Part):
    """How much a run may take; the run's deadline is `max_duration_s` after its request."""

    policy_revision: str | None = Field(default=None, min_length=1, max_length=200)
    profile: str | None = Field(default=None, min_length=1, max_length=200)
    max_input_tokens: int = Field(default=8192, ge=1, le=32_768)
    max_output_tokens: int = Field(default=1024, ge=1, le=4096)
    max_duration_s: int = Field(default=60, ge=1, le=600)
    min_sources: int = Field(default=1, ge=1, le=12)
    max_sources: int = Field(default=8, ge=1, le=12)


class Filters(BaseModel):
    """What the documents of an answer have to be like; every given filter narrows, none widens.

    A document without the attribute does not match, nor does anything that is no document. A
    reader that does not know a filter refuses it: to pass over it would widen the scope.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    authority: Many[Standing] = Field(default=(), max_length=3)
    date_from: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    date_to: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")


class RunRequested(EventData):
    """A question was asked; its text is the run's blob `question_sha256`."""

    TYPE: ClassVar[str] = "chancery.run.requested.v1"
    run_id: Id
    workspace_id: Id
    conversation_id: Id
    message: Ordinal
    credential_id: Id
    question_sha256: Sha256
    sources: Selection = ()
    items: Selection = ()
    datasets: Selection = ()
    files: Selection = ()
    mode: Mode = "auto"
    bounds: Bounds = Field(default_factory=Bounds)
    corpus: Id | None = None
    filters: Filters = Field(default_factory=Filters)


class _OfLease(EventData):
    """A stage's event counts only while generation and lease are the run's current ones."""

    run_id: Id
    generation: Ordinal
    lease: Id


class AskedCorpus(_Part):
    """The corpus that was asked, as it was declared at admission."""

    id: Id
    key: Id
    declaration_sha256: Sha256


class RunAdmitted(_OfLease):
    """The authorised scope of a run, as of `barrier` on the AUTHORITY stream.

    `scope_sha256` is the run's blob with the eligible revisions (see chancery.evidence.scope);
    `index_sequence` is the highest INDEX position that a pin of the scope rests on; `selected`
    says that the caller named the scope's resources one by one: each has to stay readable.
    """

    TYPE: ClassVar[str] = "chancery.run.admitted.v1"
    workspace_id: Id
    principal: Id
    question_sha256: Sha256
    scope_sha256: Sha256
    policy_revision: str = Field(min_length=1, max_length=200)
    language: Language
    mode: Mode
    bounds: Bounds
    deadline: Moment
    barrier: Position
    index_sequence: Position
    selected: bool = False
    corpus: AskedCorpus | None = None


class GatheredPassage(_Part):
    """A found passage: [start, end) in code points of the canonical text, inside one part."""

    key: Id
    revision: Ordinal
    part_id: Id
    start: Whole
    end: Ordinal
    extraction_sha256: Sha256


class GatheredMeasure(_Part):
    """A declared measure whose card matches the question; `name` is found in the manifest."""

    key: Id
    snapshot: Ordinal
    name: str = Field(min_length=1, max_length=64)
    manifest_sha256: Sha256


class RunGathered(_OfLease):
    """What retrieval found inside the scope, best first; it can narrow the scope, never widen it.

    `index_position` is how far the searched index had come; `unconfirmed` are pins beyond it.
    `term_counts` says in how many of the scope's `passages_total` passages each distinct term of
    the question stands, in the order of `chancery.evidence.terms.terms`.
    """

    TYPE: ClassVar[str] = "chancery.run.gathered.v1"
    passages: Many[GatheredPassage] = Field(default=(), max_length=200)
    measures: Many[GatheredMeasure] = Field(default=(), max_length=50)
    index_position: Position
    unconfirmed: Many[Id] = Field(default=(), max_length=1000)
    term_counts: Many[Whole] = Field(default=(), max_length=200)
    passages_total: Whole = 0


class ProposedQuote(_Part):
    """A selected quotation: [start, end) in code points of the canonical text, inside the part."""

    kind: Literal["quote"] = "quote"
    key: Id
    revision: Ordinal
    part_id: Id
    start: Whole
    end: Ordinal


class ProposedValue(_Part):
    """A selected cell of a recorded preview; `row` and `column` are 0-based.

    `query_sha256` and `preview_sha256` are blobs of the run: the canonical SQL and the preview.
    `rows_sha256` is the blob of the authorised rows that the query read (evidence.bundle.RowsRead),
    absent above 4 MiB. `engine` is what executed it (`duckdb/X.Y.Z`), absent from an older build.
    """

    kind: Literal["value"] = "value"
    key: Id
    snapshot: Ordinal
    query_sha256: Sha256
    preview_sha256: Sha256
    rows_sha256: Sha256 | None = None
    engine: str | None = Field(default=None, min_length=1, max_length=100)
    row: Whole
    column: Whole


Proposed = Annotated[ProposedQuote | ProposedValue, Field(discriminator="kind")]
"""One selected fact."""


class RunProposed(_OfLease):
    """What a selector selected, in the order of the answer; empty means insufficient evidence."""

    TYPE: ClassVar[str] = "chancery.run.proposed.v1"
    selector: str = Field(min_length=1, max_length=100)
    selections: Many[Proposed] = Field(default=(), max_length=20)


class ActivityRecorded(_OfLease):
    """A stage did something: fixed names, counts and durations, nothing a model wrote."""

    TYPE: ClassVar[str] = "chancery.run.activity-recorded.v1"
    stage: Literal["search", "select", "query"]
    tool: str = Field(pattern=r"^[a-z0-9_.-]{1,64}$")
    count: Whole
    duration_ms: Whole


class RunCancelled(EventData):
    """The caller gave a generation of the run up; later stages of it are void.

    An absent `generation` means the one that had been requested when this was stored.
    """

    TYPE: ClassVar[str] = "chancery.run.cancelled.v1"
    run_id: Id
    credential_id: Id
    generation: Ordinal | None = None


class RunExpired(EventData):
    """The run passed its deadline, or a stage could not do its work; release says so."""

    TYPE: ClassVar[str] = "chancery.run.expired.v1"
    run_id: Id
    generation: Ordinal
    reason: Literal["deadline", "parked"]


MODELS: tuple[type[EventData], ...] = (
    RunRequested,
    RunAdmitted,
    RunGathered,
    ActivityRecorded,
    RunProposed,
    RunCancelled,
    RunExpired,
)
"""Every event of the RUNS stream."""

SELECTABLE: tuple[ResourceKind, ...] = ("source", "dataset")
"""The kinds of resource a scope is made of."""
