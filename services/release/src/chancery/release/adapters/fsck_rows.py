"""The schema of release, read page by page for an examination."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import asyncpg

from chancery.attest.sealing import ReleaseKey
from chancery.authority.states import DatasetState, FileState, ItemState, SourceState, from_json
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Corrupt
from chancery.kernel.ids import derived_id
from chancery.release.adapters.index_rows import parse_entry
from chancery.release.adapters.runs import RUN_FIELDS, run_of
from chancery.release.adapters.table_sets import count_waiting, read_table_sets
from chancery.release.domain.held import FrameRow, HeldRelease, SignedReceipt
from chancery.release.domain.held_run import Asked, HeldRun
from chancery.release.ports.fsck import OutboxState, ReleaseName, Serving
from chancery.release.ports.table_sets import TableSet
from chancery.store.pool import Connection, translate_errors
from chancery.store.queries import load_queries

_QUERIES: Final = load_queries("chancery.release")

PAGE: Final = 50

_Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FsckRows:
    """Reads on one connection."""

    db: Connection

    async def table_sets(self) -> tuple[TableSet, ...]:
        """Return every table set."""
        return await read_table_sets(self.db)

    async def count_releases(self, run_id: str | None = None) -> int:
        """Return how many releases there are, of all runs or of one."""
        return (await self._rows("count_releases", run_id))[0][0]

    async def releases(self, run_id: str | None = None) -> AsyncGenerator[Sequence[HeldRelease]]:
        """Yield all releases, or those of one run, page by page."""
        after = ("", "")
        while heads := await self._rows("page_releases", *after, PAGE, run_id):
            yield await self._held(heads)
            after = (heads[-1]["tenant"], heads[-1]["release_id"])

    async def named(self, names: Sequence[ReleaseName]) -> frozenset[ReleaseName]:
        """Return which of these releases there are."""
        tenants, ids = [each.tenant for each in names], [each.release_id for each in names]
        rows = await self._rows("named_releases", tenants, ids)
        return frozenset(ReleaseName(row["tenant"], row["release_id"]) for row in rows)

    async def count_cuts(self, places: Sequence[tuple[str, int]]) -> int:
        """Return how many of these places of tenants hold a cut of the live projection."""
        tenants, sequences = [each[0] for each in places], [each[1] for each in places]
        return (await self._rows("count_cuts", tenants, sequences))[0][0]

    async def count_serving(self) -> int:
        """Return how many revisions serve."""
        return await self._value("count_serving")

    async def serving(self) -> AsyncGenerator[Sequence[Serving]]:
        """Yield all revisions that serve, page by page."""
        after = ("", "", "")
        while rows := await self._rows("page_serving", *after, PAGE):
            yield [_serving(row) for row in rows]
            after = (rows[-1]["tenant"], rows[-1]["kind"], rows[-1]["id"])

    async def outbox(self) -> OutboxState:
        """Return what waits in the outbox."""
        row = (await self._rows("read_outbox_state"))[0]
        return OutboxState(row["waiting"], row["oldest"])

    async def counts(self) -> dict[str, int]:
        """Return what is only counted."""
        waiting = await count_waiting(self.db)
        return {
            "cuts_without_release": await self._value("count_harmless_cuts"),
            "quarantined": waiting.quarantined,
            "frozen": waiting.frozen,
            "index_quarantined": await self._value("count_index_quarantine"),
            "parked": await self._value("count_parked_rows"),
        }

    async def _held(self, heads: Sequence[asyncpg.Record]) -> list[HeldRelease]:
        names = ([head["tenant"] for head in heads], [head["release_id"] for head in heads])
        reads = _by_name(await self._rows("read_sets_of", *names))
        contents = _by_name(await self._rows("contents_of", *names))
        run_ids = [head["run_id"] for head in heads]
        frames = _by_name(await self._rows("frames_of", *names, run_ids))
        cited = _by_name(await self._rows("citations_of", *names))
        carded = _by_name(await self._rows("cards_of", *names))
        runs = await self._runs(names[0], run_ids)
        events = [derived_id("release-event", head["release_id"]) for head in heads]
        waiting = {row["event_id"] for row in await self._rows("waiting_of", events)}
        found: list[HeldRelease] = []
        for head, event in zip(heads, events, strict=True):
            name = (head["tenant"], head["release_id"])
            children = _Children(
                reads=reads[name],
                contents=contents[name],
                frames=frames[name],
                cited=cited[name],
                carded=carded[name],
                run=runs.get((head["tenant"], head["run_id"])),
                is_waiting=event in waiting,
            )
            found.append(_release(head, children))
        return found

    async def _runs(
        self, tenants: Sequence[str], run_ids: Sequence[str]
    ) -> Mapping[_Name, HeldRun]:
        """Return the runs whose rows are there and can be read, by tenant and id."""
        asked = dict.fromkeys(zip(tenants, run_ids, strict=True))
        names = ([tenant for tenant, _ in asked], [run_id for _, run_id in asked])
        found: dict[_Name, HeldRun] = {}
        for row in await self._rows("runs_of", *names):
            with suppress(Corrupt):
                found[row["tenant"], row["run_id"]] = _run(row)
        return found

    async def _rows(self, name: str, *arguments: object) -> list[asyncpg.Record]:
        with translate_errors():
            return await self.db.fetch(_QUERIES[name], *arguments)

    async def _value(self, name: str) -> int:
        with translate_errors():
            return await self.db.fetchval(_QUERIES[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Children:
    reads: list[asyncpg.Record]
    contents: list[asyncpg.Record]
    frames: list[asyncpg.Record]
    cited: list[asyncpg.Record]
    carded: list[asyncpg.Record]
    run: HeldRun | None
    is_waiting: bool


def _by_name(rows: Sequence[asyncpg.Record]) -> Mapping[_Name, list[asyncpg.Record]]:
    found: defaultdict[_Name, list[asyncpg.Record]] = defaultdict(list)
    for row in rows:
        found[row["tenant"], row["release_id"]].append(row)
    return found


def _release(head: asyncpg.Record, children: _Children) -> HeldRelease:
    receipt = None
    if head["receipt_sha256"] is not None:
        receipt = SignedReceipt(
            sha256=head["receipt_sha256"],
            body=head["body"],
            public_key=head["public_key"],
            signature=head["signature"],
        )
    return HeldRelease(
        tenant=head["tenant"],
        release_id=head["release_id"],
        run_id=head["run_id"],
        generation=head["generation"],
        kind=head["kind"],
        cut_sequence=head["cut_sequence"],
        citation_count=head["citations"],
        card_count=head["cards"],
        receipt=receipt,
        keys=None if head["key"] is None else ReleaseKey(head["key"], head["seed"]),
        head=dict(head),
        cited=tuple(tuple(row)[2:] for row in children.cited),
        carded=tuple(tuple(row)[2:] for row in children.carded),
        run=children.run,
        read_set=frozenset((row["kind"], row["id"], row["sequence"]) for row in children.reads),
        contents={(row["kind"], row["n"]): row["ciphertext"] for row in children.contents},
        frames=tuple(map(_frame, children.frames)),
        is_waiting=children.is_waiting,
    )


def _run(row: asyncpg.Record) -> HeldRun:
    return HeldRun(
        run=run_of({name: row[name] for name in RUN_FIELDS}),
        numbers=tuple(row["numbers"]),
        is_released=row["is_released"],
        asked=Asked(
            run_id=row["asked_run_id"],
            credential_id=row["asked_credential_id"],
            workspace_id=row["asked_workspace_id"],
            principal=row["asked_principal"],
            body=row["asked"],
        ),
    )


def _frame(row: asyncpg.Record) -> FrameRow:
    end = (row["end_generation"], row["end_event"], row["end_body"])
    return FrameRow(
        row["number"],
        row["generation"],
        row["event"],
        row["body"],
        None if row["end_event"] is None else end,
    )


def _serving(row: asyncpg.Record) -> Serving:
    entry, is_damaged = None, False
    try:
        entry = None if row["entry"] is None else parse_entry(row["entry"])
    except Corrupt:
        is_damaged = True
    return Serving(
        tenant=row["tenant"],
        kind=row["kind"],
        key=row["id"],
        revision=row["serving"],
        published=row["published"],
        content_sha256=_content_of(row["kind"], row["state"], row["serving"]),
        entry=entry,
        is_damaged=is_damaged,
    )


def _content_of(kind: str, value: Json, serving: int) -> str | None:
    """Return the hash of the bytes of a revision; a deep examination finds a malformed state."""
    try:
        state = from_json(kind, value)
    except Corrupt:
        return None
    if not isinstance(state, SourceState | DatasetState | ItemState | FileState):
        return None
    found = state.revisions[serving - 1 : serving]
    return found[0].content_sha256 if found else None
