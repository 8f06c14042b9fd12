"""Planning statements in processes that can be ended: what one costs to read hurts no other.

A short one of plain words, over few columns, costs some 30 ms at the most: it is planned in a
thread here, which spares it the way to a process and back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.kernel.errors import Unavailable
from chancery.tabular.engine import parser
from chancery.tabular.grouping import words
from chancery.tabular.nursery import PLANNERS
from chancery.tabular.plan import gated, plan
from chancery.tabular.plan_forms import (
    conditions_of,
    declared_request,
    plan_of,
    plan_request,
    tables_request,
)
from chancery.tabular.process import WorkerProcess, raise_error
from chancery.tabular.tree import as_object, texts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from chancery.tabular.clauses import Condition
    from chancery.tabular.jobs import Limits
    from chancery.tabular.plan import Plan
    from chancery.tabular.schema import TableSchema

REPLY_BYTES_MAX = 64 * 1024 * 1024

SHORT_BYTES_MAX = 1_000
"""Of 700 hostile statements of this length none took the gate more than 0.03 s; 8 KB take 0.4."""

_PLAIN = """
select distinct from where group by having order asc desc nulls first last limit offset as and or
not is null in between like true false join inner left right full outer on using
date year month day hour name type value key data role
"""
PLAIN_WORDS = frozenset(_PLAIN.split())
"""Keywords of which the parser and the lineage make no more than stands there, and column names."""
IDLE_MAX = 2
"""The planners that are kept while nobody asks; a further one is started in milliseconds."""

FEW_COLUMNS_MAX = 1_000
"""Columns of all tables of a statement that is planned here: the binder gets a twin of each."""


class Planners:
    """Up to `count` planners, started when they are needed; the last one asked is asked first."""

    def __init__(self, limits: Limits, count: int) -> None:
        self._limits = limits
        self._turn = asyncio.Semaphore(count)
        self._idle: list[WorkerProcess] = []
        self._here = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sql-plan")

    async def open(self) -> None:
        """Start the first planner ahead."""
        started, _ = await asyncio.gather(
            asyncio.to_thread(_started),
            asyncio.get_running_loop().run_in_executor(self._here, parser),
        )
        self._idle.append(started)

    async def close(self) -> None:
        """End the planners that nobody asks."""
        self._here.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            await asyncio.to_thread(self._idle.pop().kill)

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the process ids of the planners that nobody asks, for measurements."""
        return tuple(each.pid for each in self._idle)

    async def tables(self, sql: str) -> tuple[str, ...]:
        """Return the names of the tables that `sql` needs.

        Raises:
            Rejected: as `gate`; `sql_timeout` or `sql_resources` when it takes too much to read.
            Unavailable: `sql_busy` when no planner becomes free in time.
        """
        if _is_plain(sql):
            loop = asyncio.get_running_loop()
            return (await loop.run_in_executor(self._here, gated, sql)).tables
        return texts((await self._asked(tables_request(sql)))["tables"])

    async def plan(self, sql: str, schemas: Sequence[TableSchema]) -> Plan:
        """Return the plan of `sql` over the tables the caller may see; nothing runs.

        Raises:
            Rejected: as `plan.plan`, and as `tables`.
            Unavailable: as `tables`.
        """
        if _is_plain(sql) and sum(len(each.columns) for each in schemas) <= FEW_COLUMNS_MAX:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._here, plan, sql, schemas)
        found = await self._asked(plan_request(sql, schemas))
        return plan_of(as_object(found["plan"]), schemas)

    async def declared(
        self, wanted: Collection[Condition], measures: Iterable[str], schema: TableSchema
    ) -> frozenset[Condition]:
        """Return which of the conditions the measures of a table state, as `declared_texts`.

        Raises:
            Rejected, Unavailable: as `tables`.
        """
        found = await self._asked(declared_request(wanted, measures, schema))
        return frozenset(conditions_of(found["declared"]))

    async def _asked(self, request: Mapping[str, Json]) -> Mapping[str, Json]:
        limits = self._limits
        bounds = {
            "deadline_ms": int(limits.query_s * 1000),
            "address_space_bytes": limits.address_space_bytes,
        }
        frames = [canonical_bytes({**request, **bounds})]
        async with self._planner() as planner:
            (reply,) = await asyncio.to_thread(
                planner.ask, frames, deadline_s=limits.query_s, reply_bytes_max=REPLY_BYTES_MAX
            )
            found = as_object(parse_json(reply))
            if found["ends"] is True:
                planner.end()
        raise_error(found)
        return found

    @asynccontextmanager
    async def _planner(self) -> AsyncGenerator[WorkerProcess]:
        """Hold a planner; it is asked again unless it has ended, or what is inside fails."""
        async with turn_of(self._turn, within_s=self._limits.queue_s):
            planner = await self._taken()
            try:
                yield planner
            except BaseException:
                planner.end()
                raise
            self._keep(planner)

    def _keep(self, planner: WorkerProcess) -> None:
        if len(self._idle) == IDLE_MAX:
            planner.end()
        if not planner.has_expired:
            self._idle.append(planner)

    async def _taken(self) -> WorkerProcess:
        """Return a planner; one that comes after a cancellation is ended."""
        while self._idle:
            planner = self._idle.pop()
            if planner.waiting:
                return planner
            planner.end()
        starting = asyncio.get_running_loop().run_in_executor(None, _started)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_end_unused)
            raise


def _is_plain(sql: str) -> bool:
    """Tell whether a statement is short, and has nothing that could grow while it is read."""
    if len(sql) > SHORT_BYTES_MAX or not sql.isascii():
        return False
    return all(word in PLAIN_WORDS for word in words(sql) if word.isalpha())


@asynccontextmanager
async def turn_of(turns: asyncio.Semaphore, *, within_s: float) -> AsyncGenerator[None]:
    """Hold a turn for the block.

    Raises:
        Unavailable: `sql_busy`, there was none in time.
    """
    try:
        async with asyncio.timeout(within_s):
            await turns.acquire()
    except TimeoutError as error:
        detail = "all query workers are busy; try again"
        raise Unavailable(detail, code="sql_busy") from error
    try:
        yield
    finally:
        turns.release()


def _started() -> WorkerProcess:
    return WorkerProcess(PLANNERS)


def _end_unused(starting: asyncio.Future[WorkerProcess]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        starting.result().end()
