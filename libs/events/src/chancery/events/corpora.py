"""Asking a corpus: the request pair that names a run, and what is told of a corpus's revisions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from chancery.events.commands import PostMessage
from chancery.events.envelope import Id, Moment, Sha256
from chancery.events.queries import IndexState
from chancery.events.requests import Message
from chancery.events.run import Bounds

QUESTION_CHARACTERS_MAX = 4000

PairSource = Annotated[str, Field(min_length=1, max_length=200)]
"""What a caller calls the thing that asks: 1 to 200 code points, any of them."""


class AskCorpus(Message):
    """Ask a corpus a question, whose text is to be the run's blob `question_sha256`.

    `source` and `revision` name the question for its caller: one pair starts one run, and with
    another content it is refused. `bounds` state profile and policy revision.
    """

    workspace_id: Id
    corpus_id: Id
    source: PairSource
    revision: int = Field(ge=1)
    question_sha256: Sha256
    question_characters: int = Field(ge=1, le=QUESTION_CHARACTERS_MAX)
    bounds: Bounds


class OfCorpusRun(Message):
    """A question about the run that the caller's request pair started."""

    workspace_id: Id
    corpus_id: Id
    source: PairSource
    revision: int = Field(ge=1)


class RunBegun(Message):
    """A run and what `run.requested` has to say of it; a repeat says the same.

    `requested_at` and `request_sha256` are those of the first call. An open run may be announced
    again, which changes nothing when it was.
    """

    generation: int = Field(ge=1)
    message: int = Field(ge=1)
    workspace_id: Id
    requested_at: Moment
    credential_id: Id
    request_sha256: Sha256
    is_open: bool
    asked: PostMessage


class OfRecord(Message):
    """A question about one exact revision of a corpus, by the names that its reader uses."""

    workspace_id: Id
    corpus_id: Id
    source: Id
    revision: int = Field(ge=1)


class RecordStatus(Message):
    """The index state of a revision that the corpus takes in."""

    source: Id
    revision: int = Field(ge=1)
    state: IndexState
    reason: str | None = None


class OfCorpusAnswer(Message):
    """Ask whether an answer could be disclosed now; null is what a run without an answer has."""

    workspace_id: Id
    corpus_id: Id
    run_id: Id | None = None
    generation: int | None = Field(default=None, ge=1)


class Availability(Message):
    """False for null or invalidated context; a check that fails is a failure, never either."""

    available: bool
