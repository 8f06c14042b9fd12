"""What can be wrong with an installation: each kind of finding with what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from chancery.kernel.canonical import Json

_RESTORE: Final = "restore database, NATS store and blobs of the same moment"
_REBUILD: Final = "run `chancery projections rebuild`, then `chancery projections switch`"
_STORE: Final = (
    "restore the blobs; a document that is published again is stored anew, and a `refresh` of its"
    " source makes its text again"
)
_ALTERED: Final = "somebody changed sealed rows: keep them as evidence and restore the database"

REMEDIES: Final[Mapping[str, tuple[str, str]]] = {
    "log_recreated": ("the stream was made again since the projection was built", _RESTORE),
    "log_regressed": ("the stream ends before the projection's checkpoint", _RESTORE),
    "log_different": ("the stream holds another message than the projection read", _RESTORE),
    "projection_missing": ("the projection was never started", "start release"),
    "projection_behind": (
        "the projection does not come up to the end of its stream",
        "look whether release runs, and at its log",
    ),
    "digest_differs": ("the log gives another digest than the checkpoint has", _REBUILD),
    "row_differs": ("the log gives another row than the projection holds", _REBUILD),
    "receipt_missing": ("a release has no receipt", _ALTERED),
    "receipt_damaged": ("a receipt does not have the hash that was signed", _ALTERED),
    "signature_invalid": ("the signature of a receipt does not verify", _ALTERED),
    "receipt_foreign": ("a receipt is about another release than it stands with", _ALTERED),
    "release_differs": ("a release has other columns than its receipt says", _ALTERED),
    "run_missing": ("the run of a release is missing, or its row cannot be read", _ALTERED),
    "run_differs": ("the row of a run is not what its receipt or the log says", _ALTERED),
    "message_differs": (
        "the message of a run, or its conversation, asks something else than the run answers",
        _ALTERED,
    ),
    "event_row_differs": ("the event row of a release tells of something else", _ALTERED),
    "citations_differ": ("a release has other citations than its receipt says", _ALTERED),
    "cards_differ": ("a release has other cards than its receipt says", _ALTERED),
    "read_set_differs": ("a release has another read set than its receipt says", _ALTERED),
    "content_missing": ("a content row of a release is missing", _ALTERED),
    "content_damaged": ("a content row does not open under the key of its release", _ALTERED),
    "content_differs": ("content does not have the hash in its receipt", _ALTERED),
    "key_missing": (
        "a release has no key, and no `erased` event says why",
        "restore the newest file of keys; without it the content is lost",
    ),
    "event_row_missing": ("the event row of a release is missing", _ALTERED),
    "cut_missing": ("the log holds no cut at the place that a receipt names", _RESTORE),
    "cut_differs": ("the cut on the log is not the one that a receipt names", _RESTORE),
    "release_event_missing": (
        "a release was never published, and does not wait to be",
        "restore the NATS store, or replay the outbox",
    ),
    "release_missing": (
        "the log names a release that the database does not hold",
        "the database was lost or is older than the log: restore its newest backup",
    ),
    "release_event_differs": ("the published event names another receipt", _RESTORE),
    "result_differs": (
        "running a sealed query again on its pinned snapshot does not give what was sealed",
        (
            "do not rely on the answer; keep log and blobs as evidence, and look who could write "
            "the blobs of runs"
        ),
    ),
    "result_blob_missing": (
        "a blob that a sealed result rests on is not in the store",
        "restore the blobs",
    ),
    "result_blob_damaged": (
        "the bytes of a blob that a sealed result rests on do not have its hash or form",
        "restore the blobs",
    ),
    "outbox_stuck": (
        "events wait in the outbox and none moves",
        "look whether release runs, and at its log",
    ),
    "blob_missing": ("a blob that serves is not in the store", _STORE),
    "blob_damaged": ("the bytes of a blob do not have its hash", _STORE),
    "index_missing": (
        "a revision serves, but the index was never told of it",
        "look whether indexing runs, and at `chancery parked ls --service indexing`",
    ),
    "index_damaged": ("an index entry is malformed", _REBUILD),
    "index_pending_too_long": (
        "a revision serves, but its index state is pending for long",
        "look whether indexing runs, and at `chancery parked ls --service indexing`",
    ),
    "index_unavailable": (
        "a revision serves, but its indexed form is not available",
        "publish the revision again",
    ),
}
"""What each code means, and what to do."""

REASONS: Final[Mapping[str, str]] = {
    "sql_timeout": "the query took longer here than an examination waits",
    "sql_resources": "the query needed more memory here than it may",
    "sql_busy": "no process became free in time",
    "sql_input_too_large": "what may be read of the snapshot is larger than an examination loads",
    "sql_worker_unavailable": "no process could be started",
    "blob_too_large": "a blob is larger than an examination reads",
    "content_damaged": "the content of the release does not open",
    "gate_changed": "this version does not accept the statement any more",
    "engine_changed": "another version of the engine made it, and this one refuses or differs",
}
"""Why a result may be left unchecked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong; `where` holds ids and positions only."""

    code: str
    where: Mapping[str, str | int]

    def __post_init__(self) -> None:
        """Check that somebody can be told what to do."""
        assert self.code in REMEDIES, self.code

    def to_json(self) -> dict[str, Json]:
        """Return the finding with what it means and what to do."""
        what, remedy = REMEDIES[self.code]
        return {"code": self.code, "what": what, "where": dict(self.where), "remedy": remedy}


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A result that could not be checked, and why; it is neither a finding nor a pass."""

    reason: str
    where: Mapping[str, str | int]

    def __post_init__(self) -> None:
        """Check that the reason can be told."""
        assert self.reason in REASONS, self.reason

    def to_json(self) -> dict[str, Json]:
        """Return what was left, and why."""
        return {"reason": self.reason, "what": REASONS[self.reason], "where": dict(self.where)}


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, what could not be checked, and what was counted."""

    findings: list[Finding] = field(default_factory=list[Finding])
    unchecked: list[Unchecked] = field(default_factory=list[Unchecked])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def find(self, code: str, **where: str | int) -> None:
        """Add a finding."""
        self.findings.append(Finding(code, where))

    def leave(self, reason: str, **where: str | int) -> None:
        """Add what could not be checked."""
        self.unchecked.append(Unchecked(reason, where))

    def count(self, name: str, amount: int = 1) -> None:
        """Count something."""
        self.counts[name] = self.counts.get(name, 0) + amount
