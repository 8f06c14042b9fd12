"""Workers kept warm: each job gets a process that was started before and serves nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeAlias

from chancery.kernel.errors import Rejected
from chancery.tabular.clauses import Condition
from chancery.tabular.formats import format_of
from chancery.tabular.jobs import (
    CARRIED_BYTES_MAX,
    FIRST_PAGE,
    Limits,
    Page,
    RowTable,
    Table,
    Uncut,
    convert_job,
    cut_job,
    query_job,
    read_result,
    read_snapshot,
    reply_bytes_max,
    rows_job,
    statistics_job,
)
from chancery.tabular.labels import LabelText, label_texts
from chancery.tabular.plan import Plan
from chancery.tabular.planning import Planners, turn_of
from chancery.tabular.preview import Preview, PreviewForm, Result, preview_of
from chancery.tabular.process import WorkerDied
from chancery.tabular.schema import TableSchema
from chancery.tabular.spares import Spares
from chancery.tabular.statistics import read_statistics

if TYPE_CHECKING:
    from types import TracebackType

    from chancery.tabular.process import WorkerProcess
    from chancery.tabular.schema import ColumnDeclaration
    from chancery.tabular.snapshot import Snapshot
    from chancery.tabular.statistics import TableStatistics

Queried: TypeAlias = Table | Uncut | RowTable

DEFAULT_LIMITS = Limits()
SPARES_MAX = 3
STATISTICS_BYTES_MAX = 1024 * 1024


class WorkerPool:
    """Runs governed SQL and conversions in processes of their own; use it as `async with`."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, concurrency: int = 2) -> None:
        self._limits = limits
        self._turn = asyncio.Semaphore(concurrency)
        self._spares = Spares(min(concurrency, SPARES_MAX))
        self._planners = Planners(limits, concurrency)

    async def __aenter__(self) -> Self:
        """Start the first processes ahead."""
        await asyncio.gather(asyncio.to_thread(self._spares.open), self._planners.open())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the waiting processes."""
        await asyncio.to_thread(self._spares.close)
        await self._planners.close()

    @property
    def spare_pid(self) -> int | None:
        """Return the id of a process that waits for the next job, for measurements."""
        return self._spares.pid

    @property
    def planner_pids(self) -> tuple[int, ...]:
        """Return the ids of the processes that wait to plan, for measurements."""
        return self._planners.pids

    async def tables(self, sql: str) -> tuple[str, ...]:
        """Return the names of the tables that `sql` needs; nothing runs.

        Raises:
            Rejected, Unavailable: as `Planners.tables`.
        """
        return await self._planners.tables(sql)

    async def cut(self, uncut: Uncut, *, bytes_max: int | None = None) -> Table:
        """Return what the caller may read of a snapshot, from a process that runs nothing else.

        Raises:
            Rejected: as `query`; `TooLarge` with `sql_input_too_large` beyond `bytes_max`.
            Corrupt: `dataset_unreadable` when the snapshot lacks a column.
            Unavailable: as `query`.
        """
        if uncut.is_whole:
            return Table(uncut.schema, uncut.parquet, uncut.declared)
        limits = self._limits
        bounded = limits.message_bytes_max if bytes_max is None else bytes_max
        frames = await self._exchange(
            cut_job(uncut, limits, bytes_max=bounded), limits.query_s, reply_bytes_max(bounded)
        )
        return Table(uncut.schema, frames[1], uncut.declared)

    async def query(
        self, sql: str, tables: Sequence[Queried], *, page: Page = FIRST_PAGE
    ) -> Preview:
        """Return the preview of `sql` over what the caller may read of `tables`.

        Each `Uncut` that the statement names is cut before: nothing else of it meets the statement.

        Raises:
            Rejected: with a stable code (`refusals.TEXTS`), never the engine's text.
            Unavailable: `sql_busy` when no process becomes free in time.
        """
        planned = await self._planned(sql, tables)
        named = {each.name for each in planned.tables}
        used = sorted((t for t in tables if t.schema.name in named), key=lambda t: t.schema.name)
        held = [each if isinstance(each, RowTable) else await self._cut_once(each) for each in used]
        frames = await self._exchange(
            query_job(planned, held, self._limits, page=page),
            self._limits.query_s,
            reply_bytes_max(self._limits.preview_bytes_max),
        )
        result = read_result(frames[0])
        return preview_of(
            planned.query.canonical_sql,
            result,
            planned.eligibility,
            texts=await self._label_texts(planned, result, held),
            bytes_max=self._limits.preview_bytes_max,
            offset=page.offset,
        )

    async def query_with_rows(
        self, sql: str, table: Table | Uncut, *, form: PreviewForm | None = None
    ) -> tuple[Preview, RowTable | None]:
        """Return the preview of `sql` over one table, and the rows that it read of it.

        The rows, in the columns that the statement reads, are None when a bundle cannot carry them.
        The preview has the budget of `form`, else the one of the pool, tells of the texts in labels
        and quotes names unless `form` does not.

        Raises:
            Rejected: as `query`.
        """
        limits = self._limits
        if form is not None:
            limits = replace(limits, preview_bytes_max=form.bytes_max)
        planned = await self._planned(sql, [table])
        held = await self._cut_once(table)
        job = query_job(planned, [held], limits, carried=True)
        reply_max = reply_bytes_max(limits.preview_bytes_max + CARRIED_BYTES_MAX)
        frames = await self._exchange(job, limits.query_s, reply_max)
        result, tells_texts = read_result(frames[0]), form is None or form.texts is not None
        preview = preview_of(
            planned.query.canonical_sql,
            result,
            planned.eligibility,
            texts=await self._label_texts(planned, result, [held]) if tells_texts else (),
            bytes_max=limits.preview_bytes_max,
            quotes_names=form is None or form.quotes_names,
        )
        rows = read_result(frames[1])
        if rows.truncated:
            return preview, None
        read = planned.reads[table.schema.name]
        columns = tuple(each for each in table.schema.columns if each.name in read)
        return preview, RowTable(TableSchema(table.schema.name, columns), rows.rows)

    async def rows(self, table: Table | Uncut) -> RowTable | None:
        """Return the authorised rows of `table`, or None when a bundle cannot carry them.

        Only the columns of `table.schema` are read: pass the columns that a plan reads.

        Raises:
            Rejected: as `query`.
        """
        job = rows_job(await self._cut_once(table), self._limits)
        frames = await self._exchange(job, self._limits.query_s, reply_bytes_max(CARRIED_BYTES_MAX))
        result = read_result(frames[0])
        return None if result.truncated else RowTable(table.schema, result.rows)

    async def statistics(self, table: Table | Uncut) -> TableStatistics:
        """Return what the authorised rows of `table` hold per visible column.

        Raises:
            Rejected: as `query`.
        """
        limits = self._limits
        reply_max = reply_bytes_max(STATISTICS_BYTES_MAX)
        job = statistics_job(await self._cut_once(table), limits)
        frames = await self._exchange(job, limits.statistics_s, reply_max)
        return read_statistics(frames[0])

    async def convert(
        self,
        data: bytes,
        declared: Mapping[str, ColumnDeclaration],
        *,
        media_type: str = "text/csv",
    ) -> Snapshot:
        """Return a CSV, Parquet or XLSX file as a snapshot.

        When the process dies, it is done once more: what becomes of a file is told for good, and
        one that the machine could not do for a moment would stay failed.

        Raises:
            Rejected: as `convert_csv`, `convert_parquet` and `convert_xlsx`;
                `unsupported_media_type`; `sql_timeout` or `sql_resources` when it takes too much.
        """
        limits = self._limits
        job = convert_job(data, declared, limits, file_format=format_of(media_type))
        try:
            frames = await self._converted(job)
        except Rejected as error:
            if error.field != "sql":
                raise
            detail = "the file takes more time or memory than one may"
            raise Rejected(detail, field="snapshot", code=error.code) from error
        return read_snapshot(frames)

    async def _converted(self, job: Sequence[bytes]) -> list[bytes]:
        limits = self._limits
        try:
            return await self._exchange(job, limits.convert_s, limits.message_bytes_max)
        except WorkerDied:
            return await self._exchange(job, limits.convert_s, limits.message_bytes_max)

    async def _label_texts(
        self, planned: Plan, result: Result, tables: Sequence[Table | RowTable]
    ) -> tuple[LabelText, ...]:
        """Return what the texts of labels rest on; measures are read for those no row has."""
        wanted, declared = planned.eligibility.texts, frozenset[Condition]()
        absent = [each for each, found in zip(wanted, result.occurring, strict=True) if not found]
        if absent and isinstance(tables[0], Table):
            stated, schema = tables[0].declared, tables[0].schema
            declared = await self._planners.declared(absent, stated, schema)
        return label_texts(wanted, result.occurring, declared)

    async def _cut_once(self, table: Table | Uncut) -> Table:
        return await self.cut(table) if isinstance(table, Uncut) else table

    async def _planned(self, sql: str, tables: Sequence[Queried]) -> Plan:
        return await self._planners.plan(sql, [each.schema for each in tables])

    async def _exchange(
        self, frames: Sequence[bytes], deadline_s: float, reply_max: int
    ) -> list[bytes]:
        async with turn_of(self._turn, within_s=self._limits.queue_s):
            return await self._exchange_now(frames, deadline_s, reply_max)

    async def _exchange_now(
        self, frames: Sequence[bytes], deadline_s: float, reply_max: int
    ) -> list[bytes]:
        worker = await self._taken()
        try:
            return await asyncio.to_thread(
                worker.exchange, frames, deadline_s=deadline_s, reply_bytes_max=reply_max
            )
        finally:
            worker.end()

    async def _taken(self) -> WorkerProcess:
        """Return a worker; one that comes after a cancellation is ended."""
        waiting = self._spares.waiting()
        if waiting is not None:
            return waiting
        taking = asyncio.get_running_loop().run_in_executor(None, self._spares.take)
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(_end_unused)
            raise


def _end_unused(taking: asyncio.Future[WorkerProcess]) -> None:
    if not taking.cancelled() and taking.exception() is None:
        taking.result().end()
