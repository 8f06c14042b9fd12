"""A run as release holds it: who asked what, how far it came, under which lease."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeVar

from chancery.authority.release import CorpusPin, Pinned, ReleaseRequest
from chancery.events.authority import Mode
from chancery.events.codec import decode
from chancery.events.envelope import EventData
from chancery.events.queries import RunState
from chancery.events.run import Bounds, RunAdmitted, RunGathered, RunProposed
from chancery.evidence.references import CorpusReference
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Corrupt

_D = TypeVar("_D", bound=EventData)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One question being answered; `events` counts the event rows told so far.

    The three stages hold the exact bytes of their events. `detail` says why a run ended early.
    """

    tenant: str
    run_id: str
    workspace_id: str
    conversation_id: str
    message: int
    principal: str
    credential_id: str
    state: RunState
    generation: int
    lease: str | None
    deadline: datetime
    mode: Mode
    bounds: Bounds
    question_sha256: str
    traceparent: str | None
    policy_sha256: str | None
    admitted: bytes | None
    gathered: bytes | None
    proposed: bytes | None
    detail: str | None
    events: int
    ended_at: datetime | None

    @property
    def is_open(self) -> bool:
        """Tell whether the run has not ended."""
        return self.ended_at is None

    def holds(self, generation: int, lease: str) -> bool:
        """Tell whether an event of this generation and lease counts."""
        return self.is_open and self.generation == generation and self.lease == lease

    def admission(self) -> RunAdmitted | None:
        """Return what was admitted."""
        return _stage(self.admitted, RunAdmitted)

    def gathering(self) -> RunGathered | None:
        """Return what was gathered, as release stored it."""
        return _stage(self.gathered, RunGathered)

    def proposal(self) -> RunProposed | None:
        """Return what was proposed first under the run's lease."""
        return _stage(self.proposed, RunProposed)


@dataclass(frozen=True, slots=True)
class LockedRun:
    """What a run is at the moment at which it is locked, as far as sealing asks."""

    state: RunState
    generation: int
    lease: str | None
    events: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event row: a `body` that is told as it is, or the `ciphertext` of a release's frame."""

    number: int
    generation: int
    event: Literal["activity", "state", "sealed", "refused", "end"]
    body: Mapping[str, Json] | None
    ciphertext: bytes | None


@dataclass(frozen=True, slots=True)
class Told:
    """A run and the event rows behind a place, of one moment."""

    run: Run
    records: tuple[EventRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A wish for another generation; `request_id` is the same for a repeated request."""

    request_id: str
    credential_id: str
    traceparent: str | None
    now: datetime


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation after the first, and with which credential it was asked for."""

    generation: int
    credential_id: str
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class Overdue:
    """A generation that was open past its deadline; a retry since then is another one."""

    tenant: str
    run_id: str
    generation: int


@dataclass(frozen=True, slots=True)
class PolicyPin:
    """The answer policy that a decision has to find unchanged."""

    revision: str
    sha256: str
    mode: Mode


def release_request(
    run: Run,
    policy: PolicyPin,
    pinned: tuple[Pinned, ...],
    corpus: CorpusReference | None = None,
) -> ReleaseRequest:
    """Return what the sealing decision is asked about."""
    return ReleaseRequest(
        tenant=run.tenant,
        principal_id=run.principal,
        credential_id=run.credential_id,
        owner_id=run.principal,
        workspace_id=run.workspace_id,
        policy_revision=policy.revision,
        policy_sha256=policy.sha256,
        mode=policy.mode,
        pinned=pinned,
        corpus=None if corpus is None else CorpusPin(corpus.key, corpus.declaration_sha256),
    )


def _stage(payload: bytes | None, model: type[_D]) -> _D | None:
    if payload is None:
        return None
    data = decode(payload).data
    if not isinstance(data, model):
        message = "a run's stored stage is of another kind"
        raise Corrupt(message, code="run_damaged")
    return data
