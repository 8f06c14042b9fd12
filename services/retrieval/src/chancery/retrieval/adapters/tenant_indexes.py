"""The search indexes of all tenants below one folder: a directory each, opened when needed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chancery.retrieval.adapters.integrity import META, check_files
from chancery.retrieval.adapters.tenant_index import TenantIndex
from chancery.retrieval.domain.entries import Entry, EntryKind, Pin, RevisionRef
from chancery.retrieval.domain.gathering import Hit
from chancery.retrieval.errors import IndexBroken
from chancery.retrieval.ports import SearchScope

WRITERS_MAX = 8
"""Open writers; each keeps memory, and merges the segments of its index meanwhile."""

_log = logging.getLogger("chancery.retrieval")


@dataclass(frozen=True, slots=True)
class Nothing:
    """The `SearchScope` of a tenant that has no index."""

    unconfirmed: frozenset[int]

    def search(self, question: str, *, kind: EntryKind, limit: int) -> tuple[Hit, ...]:
        """Find nothing."""
        del question, kind, limit
        return ()

    def statistics(self, terms: Sequence[str]) -> tuple[tuple[int, ...], int]:
        """Count nothing."""
        return (0,) * len(terms), 0


@dataclass(slots=True)
class TenantIndexes:
    """The `SearchIndex` over folders `<root>/<tenant>`.

    `writing` are the indexes with an open writer, the one used last at the end.
    """

    root: Path
    opened: dict[str, TenantIndex] = field(default_factory=dict[str, TenantIndex])
    writing: dict[str, TenantIndex] = field(default_factory=dict[str, TenantIndex])

    @classmethod
    def open(cls, root: Path) -> TenantIndexes:
        """Open every index below `root`; one that cannot be read, or was altered, is dropped."""
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = cls(root)
        for folder in sorted(root.iterdir()):
            if folder.is_dir():
                found._try_open(folder.name)
        return found

    def position(self, tenant: str) -> int:
        """Return the tenant's position; see `SearchIndex.position`."""
        known = self.opened.get(tenant)
        return 0 if known is None else known.position

    def positions(self) -> dict[str, int]:
        """Return every tenant's position; see `SearchIndex.positions`."""
        return {tenant: index.position for tenant, index in self.opened.items()}

    def known(self, tenant: str) -> Mapping[int, int]:
        """Tell as of when each revision stands here; see `SearchIndex.known`."""
        known = self.opened.get(tenant)
        return {} if known is None else known.known

    def replace(
        self,
        tenant: str,
        ref: RevisionRef,
        pin: Pin | None,
        entries: Sequence[Entry],
        *,
        as_of: int = 0,
    ) -> None:
        """Replace a revision's entries; see `SearchIndex.replace`."""
        self._for_writing(tenant).replace(ref, pin, entries, as_of=as_of)

    def commit(self, tenant: str, position: int) -> None:
        """Commit; see `SearchIndex.commit`."""
        self._for_writing(tenant).commit(position)

    def lost(self) -> str | None:
        """Look for an index whose files are gone; see `SearchIndex.lost`."""
        gone = (name for name in tuple(self.opened) if not (self.root / name / META).exists())
        return next(gone, None)

    def drop(self, tenant: str) -> None:
        """Remove the index with its folder; see `SearchIndex.drop`."""
        known = self.opened.pop(tenant, None)
        self.writing.pop(tenant, None)
        if known is not None:
            known.release_writer()
        shutil.rmtree(self.root / tenant, ignore_errors=True)

    def within(
        self, tenant: str, pins: Collection[int], hidden: Collection[tuple[int, str]] = ()
    ) -> SearchScope:
        """Return what is to be searched; see `SearchIndex.within`."""
        known = self.opened.get(tenant)
        return Nothing(frozenset(pins)) if known is None else known.within(pins, hidden)

    def close(self) -> None:
        """Give all writers back; see `SearchIndex.close`."""
        while self.writing:
            self.writing.popitem()[1].release_writer()

    def _for_writing(self, tenant: str) -> TenantIndex:
        index = self.opened.get(tenant) or TenantIndex.open(tenant, self.root / tenant)
        self.opened[tenant] = index
        self.writing.pop(tenant, None)
        self.writing[tenant] = index
        while len(self.writing) > WRITERS_MAX:
            self.writing.pop(next(iter(self.writing))).release_writer()
        return index

    def _try_open(self, tenant: str) -> None:
        try:
            check_files(tenant, self.root / tenant)
            self.opened[tenant] = TenantIndex.open(tenant, self.root / tenant)
        except IndexBroken:
            _log.warning("the search index of tenant %s cannot be read; building it again", tenant)
            self.drop(tenant)
