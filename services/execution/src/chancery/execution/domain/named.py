"""Which datasets the names in a statement mean: the same ones that the gate takes them for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chancery.events.queries import PinnedRevision
from chancery.tabular.refusals import refusal, unknown_name
from chancery.tabular.schema import ascii_fold


def named_by(names: Iterable[str], datasets: Sequence[PinnedRevision]) -> list[PinnedRevision]:
    """Return the datasets that `names` mean, in their order; a name that means none is passed over.

    All of `datasets` are the caller's to see, so that the refusals tell nothing new.

    Raises:
        Rejected: `sql_ambiguous_table`, or `sql_table_not_ready` for one that has no table.
    """
    meant = [found for name in names if (found := _meant(name, datasets)) is not None]
    keys = {each.key for each in meant}
    return [each for each in datasets if each.key in keys]


def _meant(name: str, datasets: Sequence[PinnedRevision]) -> PinnedRevision | None:
    """Return the dataset of this spelling, else the only one whose name differs in case alone."""
    exact = [each for each in datasets if each.id == name]
    found = exact or [each for each in datasets if ascii_fold(each.id) == ascii_fold(name)]
    if len(found) > 1:
        raise refusal("sql_ambiguous_table")
    if found and not _has_table(found[0]):
        raise unknown_name("sql_table_not_ready", name)
    return found[0] if found else None


def _has_table(pinned: PinnedRevision) -> bool:
    return pinned.extraction_sha256 is not None and pinned.manifest_sha256 is not None
