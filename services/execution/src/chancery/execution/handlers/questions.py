"""Raw queries and schemas: useful for inspection, and marked as no verified answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from chancery.events.queries import (
    QUERY_OFFSET_MAX,
    ColumnSummary,
    DatasetSchema,
    PinnedRevision,
    QueryResult,
    RunQuery,
)
from chancery.events.requests import Caller, Request
from chancery.events.topology import abandoned_subject
from chancery.execution.domain.named import named_by
from chancery.execution.domain.tables import visible_schema
from chancery.execution.errors import Abandoned, Busy
from chancery.execution.handlers.material import PinnedTable, Reading
from chancery.execution.handlers.remembered import Known, Remembered
from chancery.execution.handlers.turns import Turns
from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import NotFound, Rejected, Unavailable
from chancery.runtime.logging import get_logger
from chancery.tabular.engine import engine_name
from chancery.tabular.jobs import Page, Table
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.preview import Preview
from chancery.tabular.statistics import ColumnStatistics, TableStatistics

ANSWER_S = 40.0
"""How long a statement may take with all its waiting: less than its caller waits for the reply."""

STATISTICS_S = 3.5
"""How long a schema may wait for its statistics; its caller waits for 5 seconds."""

_log = get_logger("chancery.execution")


class Pages(Protocol):
    """Governed SQL in a process of its own, page by page."""

    async def tables(self, sql: str) -> tuple[str, ...]:
        """Return the names of the tables that `sql` needs."""
        ...

    async def query(self, sql: str, tables: Sequence[Table], *, page: Page = ...) -> Preview:
        """Return a page of `sql` over what the caller may read of `tables`."""
        ...

    async def statistics(self, table: Table) -> TableStatistics:
        """Return what the rows that the caller may read of `table` hold."""
        ...


_ROWS = Measure(name="rows", aggregate="count")


@dataclass(frozen=True, slots=True)
class Questions:
    """Answers about datasets whose scope release has authorised."""

    reading: Reading
    sql: Pages
    turns: Turns = field(default_factory=Turns)
    answer_s: float = ANSWER_S
    remembered: Remembered = field(default_factory=Remembered)
    running: dict[str, asyncio.Timeout] = field(default_factory=dict[str, asyncio.Timeout])

    async def run_query(self, request: Request[RunQuery]) -> QueryResult:
        """Run a caller's statement over the authorised datasets that it names.

        Nobody waits any more when `answer_s` is over: the statement is ended then, too.

        Raises:
            Rejected: with a stable code, never the engine's text.
            Unavailable: `sql_too_many_queries` or `sql_busy`.
        """
        body, caller = request.body, request.caller
        page = Page(body.offset, body.limit)
        async with self._abandonable(request), self._turn(caller):
            used = named_by(await self.sql.tables(body.sql), body.datasets)
            pinned = [_pinned(each) for each in used]
            async with self.reading.tables(caller.tenant, pinned) as tables:
                preview = await self.sql.query(body.sql, tables, page=page)
        return QueryResult(json_text=canonical_bytes(_result(preview, used, page)).decode())

    async def abandon(self, subject: str) -> None:
        """End the statement whose caller has gone; another one's is not here."""
        deadline = self.running.get(subject)
        if deadline is not None and not deadline.expired():
            deadline.reschedule(asyncio.get_running_loop().time())

    async def read_schema(self, request: Request[PinnedRevision]) -> DatasetSchema:
        """Return the visible columns of a pinned snapshot, and how many rows the caller may see.

        Raises:
            NotFound: when it cannot be queried yet.
        """
        pinned = request.body
        if pinned.manifest_sha256 is None:
            raise _not_ready()
        manifest = await self.reading.manifest(request.caller.tenant, pinned.manifest_sha256)
        schema = visible_schema(pinned, manifest)
        columns = tuple((column.name, column.duckdb_type) for column in schema.columns)
        found = await self._statistics(request.caller, pinned)
        if found is None and pinned.row_filters:
            # The number of all rows tells of the hidden ones.
            rows = await self._visible_rows(request.caller, pinned)
        else:
            rows = manifest.rows if found is None else found.rows
        return DatasetSchema(
            dataset=pinned,
            columns=columns,
            rows=rows,
            statistics=None if found is None else tuple(map(_summary, found.columns)),
        )

    async def _statistics(self, caller: Caller, pinned: PinnedRevision) -> TableStatistics | None:
        """Return the statistics, or None when time, memory or turns do not suffice for them.

        They are the same for as long as the snapshot and what the caller may read of it are.
        """
        key = _known_by(caller, pinned)
        known = self.remembered.get(key)
        if known is not None:
            return known
        try:
            async with (
                self._turn(caller, STATISTICS_S),
                self.reading.tables(caller.tenant, [_pinned(pinned)]) as (table,),
            ):
                found = await self.sql.statistics(table)
        except (Unavailable, Rejected) as error:
            _log.info("a schema goes without statistics", code=error.code)
            return None
        self.remembered.keep(key, found)
        return found

    async def _visible_rows(self, caller: Caller, pinned: PinnedRevision) -> int:
        """Count the rows as a query would."""
        async with (
            self._turn(caller),
            self.reading.tables(caller.tenant, [_pinned(pinned)]) as (table,),
        ):
            counting = measure_statement(table.schema, _ROWS)
            preview = await self.sql.query(counting.sql, [table])
        return int(preview.rows[0][0] or "0")

    @asynccontextmanager
    async def _abandonable(self, request: Request[RunQuery]) -> AsyncGenerator[None]:
        """Let `abandon` end what runs inside."""
        caller = request.caller
        subject = abandoned_subject(caller.tenant, caller.principal, request.idempotency_key)
        deadline = self.running[subject] = asyncio.timeout(None)
        try:
            async with deadline:
                yield
        except TimeoutError as error:
            raise Abandoned from error
        finally:
            if self.running.get(subject) is deadline:
                del self.running[subject]

    @asynccontextmanager
    async def _turn(self, caller: Caller, within_s: float | None = None) -> AsyncGenerator[None]:
        """Hold a turn of the caller for as long as an answer may take."""
        try:
            async with (
                asyncio.timeout(self.answer_s if within_s is None else within_s),
                self.turns.of((caller.tenant, caller.principal)),
            ):
                yield
        except TimeoutError as error:
            raise Busy from error


def _known_by(caller: Caller, pinned: PinnedRevision) -> Known:
    policy = (pinned.hidden_columns, pinned.row_filters)
    return caller.tenant, pinned.extraction_sha256 or "", repr(policy)


def _summary(found: ColumnStatistics) -> ColumnSummary:
    return ColumnSummary(
        name=found.name,
        count=found.count,
        nulls=found.nulls,
        minimum=found.minimum,
        maximum=found.maximum,
        distinct=found.distinct,
    )


def _pinned(pinned: PinnedRevision) -> PinnedTable:
    if pinned.extraction_sha256 is None or pinned.manifest_sha256 is None:
        raise _not_ready()
    return PinnedTable(pinned, pinned.extraction_sha256, pinned.manifest_sha256)


def _not_ready() -> NotFound:
    message = "the snapshot cannot be queried yet; ask for its state"
    return NotFound(message, code="not_extracted")


def _result(preview: Preview, used: Sequence[PinnedRevision], page: Page) -> Json:
    columns: list[Json] = [
        {
            "name": column.name,
            "label": column.label,
            "type": column.type,
            "eligible": column.eligible,
            "reason": column.reason,
        }
        for column in preview.columns
    ]
    return {
        "columns": columns,
        "rows": [list(row) for row in preview.rows],
        "truncated": preview.truncated,
        "page": {
            "offset": page.offset,
            "limit": page.limit,
            **_following(preview),
        },
        "preview_sha256": preview.preview_sha256,
        "verified_answer": False,
        "provenance": {
            "sql": preview.sql,
            "snapshots": [_snapshot(pinned) for pinned in used],
            "engine": engine_name(),
        },
    }


def _following(preview: Preview) -> Mapping[str, Json]:
    """Return where the next page starts, or why none follows although the result goes on."""
    if not preview.truncated:
        return {"next_offset": None, "ended_by": None}
    if not preview.rows:
        return {"next_offset": None, "ended_by": "row_too_large"}
    following = preview.offset + len(preview.rows)
    if following > QUERY_OFFSET_MAX:
        return {"next_offset": None, "ended_by": "offset_max"}
    return {"next_offset": following, "ended_by": None}


def _snapshot(pinned: PinnedRevision) -> Json:
    told = pinned.told or pinned
    return {
        "dataset_id": pinned.id,
        "snapshot": pinned.revision,
        "content_sha256": told.content_sha256,
        "extraction_sha256": told.extraction_sha256,
    }
