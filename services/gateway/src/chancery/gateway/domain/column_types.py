"""Which columns of a snapshot have types that were found from rows that not everybody sees."""

from __future__ import annotations

from collections.abc import Sequence

from chancery.events.queries import PinnedRevision
from chancery.tabular.formats import format_of
from chancery.tabular.schema import fold


def types_from_all_rows(pinned: PinnedRevision, columns: Sequence[str]) -> tuple[str, ...] | None:
    """Return those of `columns` that tell of hidden rows, None where that is nobody's to know.

    A Parquet file brings its types along: none of them was found.
    """
    if pinned.silent_columns is None:
        return None
    if format_of(pinned.media_type) == "parquet":
        return ()
    silent = {fold(each) for each in pinned.silent_columns}
    return tuple(each for each in columns if fold(each) not in silent)
