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


class TextsFull(Unavailable):
    """As many texts are opened or sent, for this caller or for all, as there may be."""

    code = "texts_full"


class Internal(Unavailable):
    """A bug; the trace of the request finds it in the logs."""

    code = "internal"


_BY_CODE = {"not_permitted": 403, "unsupported_media_type": 415, "refreshed_recently": 429}
_DECLARED_FIELDS = {
    "unknown_column": "columns",
    "invalid_column_type": "columns",
    "policy_column_missing": "columns",
    "measure_column_missing": "measures",
    "invalid_measure": "measures",
}
"""What of a dataset's declaration a file does not go with, by the code that says so."""
_NO_COLUMN = "names a column that the table does not have; write it as the table's first row does"
_WHY = {
    "unknown_column": _NO_COLUMN,
    "policy_column_missing": _NO_COLUMN,
    "measure_column_missing": _NO_COLUMN,
    "invalid_measure": "does not fit the types of its columns",
    "invalid_measure.column": (
        "must be a column whose aggregate is exact: sum and avg are of whole numbers and decimals;"
        " of texts, dates and doubles there are min, max and count"
    ),
    "invalid_measure.where": (
        "must compare text, integer, decimal, date or boolean columns with plain values of theirs"
    ),
    "invalid_column_type": "is not a type that this column can have; leave it out, or choose text",
    "value_mismatch": "is a type that does not keep every value of the file; leave it out, or text",
    "xlsx_cell_error": (
        "is an error such as #N/A, a formula whose value is not stored, a negative date, or a value"
        " that is not plainly written; mend it, and save the file in a spreadsheet program"
    ),
    "xlsx_far_cell": (
        "stands so far from the other cells that the table would have more than 20,000,000;"
        " delete it, and save the file"
    ),
    "sql_timeout": "takes longer to read than one may; publish less in one file",
    "sql_resources": "takes more memory to read than one may; publish less in one file",
    "parquet_unreadable": (
        "cannot be read, or not be kept as it is; write the file anew, and a column that is named"
        " without it or as text"
    ),
    "parquet_value_range": "holds a date outside the years 1 to 9999, or an infinite one",
}
"""What is wrong with the field of a refusal, by code, and where the end of the field says more."""
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


_KEPT = "it is kept as the newest, so do not append its rows again, and serves once that is mended"


def snapshot_failed(reason: str, field: str | None) -> SnapshotFailed:
    """Return the refusal of a recorded snapshot; `reason` is the code, as docs/sql.md lists it."""
    is_mismatch = reason.endswith("_value_mismatch")
    field = field or ("columns" if is_mismatch else _DECLARED_FIELDS.get(reason, "snapshot"))
    message = (
        f"the snapshot could not be made into a table ({reason}): {_why(reason, field)}; {_KEPT}"
    )
    return SnapshotFailed(message, field=field, code=reason)


def _why(reason: str, field: str) -> str:
    """Return what is wrong with the field, and what to change."""
    kind = "value_mismatch" if reason.endswith("_value_mismatch") else reason
    why = _WHY.get(f"{kind}.{field.rpartition('.')[2]}") or _WHY.get(kind)
    return f"change {field}" if why is None else f"{field} {why}"


def status_of(error: ChanceryError) -> int:
    """Return the HTTP status for `error`; what is no caller's fault is 503."""
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status
    return 503
