"""The column names of an uploaded file; refusals name a column by its number, never its content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from chancery.kernel.errors import Rejected, TooLarge

COLUMNS_MAX = 500
COLUMN_NAME_CHARACTERS_MAX = 64


def check_names(names: Sequence[str], file_format: str) -> None:
    """Refuse names that SQL could not tell apart or nobody could type.

    Raises:
        Rejected: with a code that starts with `file_format`; `TooLarge` for too many columns.
    """
    if len(names) > COLUMNS_MAX:
        detail = f"the {file_format} file has more than {COLUMNS_MAX} columns"
        raise TooLarge(detail, field="snapshot", code=f"{file_format}_too_many_columns")
    for number, name in enumerate(names, start=1):
        _check_name(name, number, file_format)
    seen = Counter(name.casefold() for name in names)
    repeated = [number for number, name in enumerate(names, start=1) if seen[name.casefold()] > 1]
    if repeated:
        numbers = " and ".join(str(number) for number in repeated[:2])
        detail = f"columns {numbers} of the {file_format} file have the same name"
        raise _refused(f"{detail} (case does not count)", f"{file_format}_duplicate_column")


def _check_name(name: str, number: int, file_format: str) -> None:
    if not name.strip():
        detail = f"column {number} of the {file_format} file has no name"
        raise _refused(detail, f"{file_format}_empty_column_name")
    if len(name) > COLUMN_NAME_CHARACTERS_MAX:
        detail = (
            f"the name of column {number} is longer than {COLUMN_NAME_CHARACTERS_MAX} characters"
        )
        raise _refused(detail, f"{file_format}_column_name")
    if not name.isprintable() or name != name.strip():
        detail = f"the name of column {number} has a control character or a space at an end"
        raise _refused(detail, f"{file_format}_column_name")


def _refused(detail: str, code: str) -> Rejected:
    return Rejected(detail, field="snapshot", code=code)
