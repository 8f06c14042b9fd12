"""How each kind of failure is told over HTTP."""

from __future__ import annotations

from chancery.kernel.errors import (
    ChanceryError,
    Conflict,
    Denied,
    NotFound,
    Rejected,
    TooLarge,
    Unavailable,
)


class SnapshotFailed(Rejected):
    """The snapshot was recorded, but its bytes could not be made into a table."""

    code = "snapshot_failed"


class QuestionMissing(Conflict):
    """The request of this pair was recorded, but its question was never stored."""

    code = "question_missing"


class SlowBody(Rejected):
    """The caller was silent for too long in the middle of a request body."""

    code = "body_timeout"


class BodiesFull(Unavailable):
    """As many bodies arrive, or are in memory, as there may be; a moment later there is room."""

    code = "bodies_full"


class Internal(Unavailable):
    """A bug; the trace of the request finds it in the logs."""

    code = "internal"


_BY_CODE = {"unsupported_media_type": 415, "refreshed_recently": 429}
_DECLARED_FIELDS = {
    "unknown_column": "columns",
    "invalid_column_type": "columns",
    "policy_column_missing": "columns",
    "measure_column_missing": "measures",
    "invalid_measure": "measures",
}
"""What of a dataset's declaration a file does not go with, by the code that says so."""
_STATUS: tuple[tuple[type[ChanceryError], int], ...] = (
    (SlowBody, 408),
    (Internal, 500),
    (Denied, 401),
    (NotFound, 404),
    (TooLarge, 413),
    (Conflict, 409),
    (Rejected, 422),
    (Unavailable, 503),
)


def snapshot_failed(reason: str, field: str | None) -> SnapshotFailed:
    """Return the refusal of a recorded snapshot; `reason` is the code, as docs/sql.md lists it."""
    is_mismatch = reason.endswith("_value_mismatch")
    field = field or ("columns" if is_mismatch else _DECLARED_FIELDS.get(reason, "snapshot"))
    message = f"the snapshot could not be made into a table ({reason}): change {field}"
    return SnapshotFailed(message, field=field, code=reason)


def status_of(error: ChanceryError) -> int:
    """Return the HTTP status for `error`; what is no caller's fault is 503."""
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status
    return 503
