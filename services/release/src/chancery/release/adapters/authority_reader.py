"""Reads states for decisions: each call one statement, so that one snapshot holds everything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import asyncpg

from chancery.authority.names import AggregateRef
from chancery.authority.states import (
    DatasetState,
    FileState,
    ItemState,
    SourceState,
    State,
    from_json,
)
from chancery.events.authority import AggregateKind
from chancery.events.index import ResourceKind
from chancery.evidence.receipt import ReadEntry
from chancery.kernel.canonical import parse_json
from chancery.kernel.errors import Corrupt, Unavailable
from chancery.release.adapters.index_rows import parse_entry_text
from chancery.release.domain.entries import Published, Resource, Usable
from chancery.release.domain.index_fold import IndexEntry
from chancery.release.domain.snapshot import CutSnapshot, Snapshot
from chancery.release.errors import BehindLog
from chancery.store.pool import Connection, Pool, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_STATES = _QUERIES["read_states"]
_READ_STATES_AT_CUTS = _QUERIES["read_states_at_cuts"]
_READ_WORKSPACE = _QUERIES["read_workspace"]
_READ_RESOURCES = _QUERIES["read_resources"]
_READ_INDEX_ENTRY = _QUERIES["read_index_entry"]
_FIND_CREDENTIAL = _QUERIES["find_credential"]
_READ_STATES_AND_LATER = _QUERIES["read_states_and_later"]

ACQUIRE_TIMEOUT_S = 2.0
STATES_REMEMBERED = 2048


@dataclass(frozen=True, slots=True)
class AuthorityReader:
    """Reads the projections on the primary; never on a replica."""

    pool: Pool

    async def read(self, tenant: str, refs: Sequence[AggregateRef], *, at_least: int) -> Snapshot:
        """Return the states of `refs`, from a snapshot that has passed `at_least`.

        Raises:
            BehindLog: the database is behind what this process saw.
            Unavailable: the database is away.
        """
        with translate_errors():
            rows = await self.pool.fetch(
                _READ_STATES, tenant, [ref.kind for ref in refs], [ref.id for ref in refs]
            )
        return _snapshot(rows, at_least)

    async def resources(
        self, tenant: str, workspace_id: str, refs: Sequence[AggregateRef]
    ) -> tuple[Resource, ...]:
        """Return those of `refs` that exist in the workspace; a file's is its owner."""
        with translate_errors():
            rows = await self.pool.fetch(
                _READ_RESOURCES,
                tenant,
                workspace_id,
                [ref.kind for ref in refs],
                [ref.id for ref in refs],
            )
        return tuple(_resource(row) for row in rows)

    async def workspace(
        self, tenant: str, workspace_id: str, kinds: Iterable[ResourceKind]
    ) -> tuple[Resource, ...]:
        """Return everything of the workspace of these kinds, by kind and key."""
        with translate_errors():
            rows = await self.pool.fetch(_READ_WORKSPACE, tenant, workspace_id, list(kinds))
        return tuple(_resource(row) for row in rows)

    async def index_entry(self, tenant: str, ref: AggregateRef, revision: int) -> IndexEntry | None:
        """Return the index entry of one exact revision."""
        with translate_errors():
            found = await self.pool.fetchval(_READ_INDEX_ENTRY, tenant, ref.kind, ref.id, revision)
        return None if found is None else parse_entry_text(found)

    async def credential_owner(self, tenant: str, credential_id: str) -> str | None:
        """Return the principal that holds a credential of this id."""
        with translate_errors():
            found: str | None = await self.pool.fetchval(_FIND_CREDENTIAL, tenant, credential_id)
        return found

    async def read_with_later(
        self, tenant: str, refs: Sequence[AggregateRef], than: Published, *, at_least: int
    ) -> tuple[Snapshot, tuple[Resource, ...]]:
        """Return what `read` does, and what was published later `than`, from one snapshot.

        Raises:
            BehindLog: the database is behind what this process saw.
            Unavailable: the database is away.
        """
        with translate_errors():
            rows = await self.pool.fetch(
                _READ_STATES_AND_LATER,
                tenant,
                [ref.kind for ref in refs],
                [ref.id for ref in refs],
                than.workspace_id,
                than.sequence,
            )
        snapshot = _snapshot([row for row in rows if not row["is_later"]], at_least)
        later = [row for row in rows if row["is_later"]]
        return snapshot, tuple(
            Resource(_ref(row), _resource_state(row), row["frozen"], None) for row in later
        )


@dataclass(frozen=True, slots=True)
class CutPlace:
    """A read set of a tenant and the cut at which its states are wanted."""

    tenant: str
    refs: Sequence[AggregateRef]
    cut: int


async def read_at_cuts(
    connection: Connection, places: Sequence[CutPlace | None]
) -> list[CutSnapshot | None]:
    """Return the states of each place in the sealing transaction; one bounded statement.

    The caller checks whether the checkpoint has passed the cut and whether a row moved after it.

    Raises:
        Unavailable: the projection has not been started.
    """
    wanted = [place for place in places if place is not None]
    if not wanted:
        return [None] * len(places)
    names = sorted({(place.tenant, ref) for place in wanted for ref in place.refs})
    rows = await connection.fetch(
        _READ_STATES_AT_CUTS,
        ",".join(tenant for tenant, _ in names),
        ",".join(ref.kind for _, ref in names),
        ",".join(ref.id for _, ref in names),
        [place.tenant for place in wanted],
        [place.cut for place in wanted],
    )
    if not rows:
        raise _not_started()
    found = {(row["tenant"], _ref(row)): row for row in rows if row["digest"] is None}
    digests = {
        (row["tenant"], row["sequence"]): row["digest"] for row in rows if row["digest"] is not None
    }
    entries = {name: _read_entry(row) for name, row in found.items()}
    states = {name: _state(name[1], row["state"]) for name, row in found.items()}
    return [
        None if place is None else _at_cut(place, found, entries, states, digests=digests)
        for place in places
    ]


_Name: TypeAlias = tuple[str, AggregateRef]


def _at_cut(
    place: CutPlace,
    rows: Mapping[_Name, asyncpg.Record],
    entries: Mapping[_Name, ReadEntry],
    states: Mapping[_Name, State | None],
    *,
    digests: Mapping[tuple[str, int], bytes],
) -> CutSnapshot:
    names = [(place.tenant, ref) for ref in sorted(place.refs)]
    own = [rows[name] for name in names]
    return CutSnapshot(
        Snapshot(
            own[0]["checkpoint"],
            own[0]["now"],
            {name[1]: states[name] for name in names},
            frozenset(name[1] for name, row in zip(names, own, strict=True) if row["frozen"]),
        ),
        tuple(entries[name] for name in names),
        digests.get((place.tenant, place.cut)),
        max(row["published"] or 0 for row in own),
    )


def _snapshot(rows: Sequence[asyncpg.Record], at_least: int) -> Snapshot:
    if not rows:
        raise _not_started()
    checkpoint: int = rows[0]["checkpoint"]
    if checkpoint < at_least:
        message = "the authority projection is behind the log; retry in a moment"
        raise BehindLog(message)
    states: dict[AggregateRef, State | None] = {}
    frozen: set[AggregateRef] = set()
    for row in rows:
        if row["id"] is None:
            continue
        ref = _ref(row)
        states[ref] = _state(ref, row["state"])
        if row["frozen"]:
            frozen.add(ref)
    return Snapshot(checkpoint, rows[0]["now"], states, frozenset(frozen))


def _not_started() -> Unavailable:
    message = "the authority projection has not been started"
    return Unavailable(message, code="projection_missing")


def _read_entry(row: asyncpg.Record) -> ReadEntry:
    sequence: int | None = row["sequence"]
    event = (row["event_type"], row["event_id"], row["payload_sha256"])
    return _entry(row["kind"], row["id"], sequence or 0, event)


@lru_cache(maxsize=STATES_REMEMBERED)
def _entry(
    kind: AggregateKind, key: str, sequence: int, event: tuple[str | None, str | None, str | None]
) -> ReadEntry:
    """Check and build an entry once: many releases rest on the same events."""
    type_name, event_id, payload_sha256 = event
    return ReadEntry(
        kind=kind,
        id=key,
        sequence=sequence,
        type=type_name,
        event_id=event_id,
        payload_sha256=payload_sha256,
    )


def _resource(row: asyncpg.Record) -> Resource:
    entry = row["entry"]
    return Resource(
        _ref(row),
        _resource_state(row),
        bool(row["frozen"]),
        None if entry is None else parse_entry_text(entry),
    )


def _resource_state(row: asyncpg.Record) -> Usable | None:
    state = _state(_ref(row), row["state"])
    if state is None or isinstance(state, SourceState | DatasetState | ItemState | FileState):
        return state
    message = "a stored resource is of another kind"
    raise Corrupt(message, code="malformed_state")


def _ref(row: asyncpg.Record) -> AggregateRef:
    kind: AggregateKind = row["kind"]
    return AggregateRef(kind, str(row["id"]))


def _state(ref: AggregateRef, text: str | None) -> State | None:
    return None if text is None else _parsed(ref.kind, text)


@lru_cache(maxsize=STATES_REMEMBERED)
def _parsed(kind: str, text: str) -> State:
    """Parse a state that was just read; the same text is the same state, however old it is."""
    return from_json(kind, parse_json(text))
