"""What it costs to plan a statement is spent in a process that can be ended, and hurts no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import psutil
import pytest

from chancery.kernel.errors import Rejected, Unavailable
from chancery.tabular.jobs import Limits, RowTable
from chancery.tabular.planning import IDLE_MAX, SHORT_BYTES_MAX
from chancery.tabular.pool import WorkerPool
from chancery.tabular.reexecute import reexecute
from chancery.tabular.schema import TableSchema, column_of
from chancery.testkit.waiting import eventually

SHORT = "SELECT a FROM t"
LONG = SHORT + " " * SHORT_BYTES_MAX
COSTLY = "SELECT a FROM t WHERE " + " AND ".join(["a = 1"] * 390)
BOMB = " UNION ALL ".join(["SELECT a FROM t GROUP BY CUBE(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o)"] * 100)
ROWS = RowTable(TableSchema("t", (column_of("a", "BIGINT"),)), (("1",), ("2",)))


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(concurrency=2) as opened:
        yield opened


def waiting_planner(pool: WorkerPool) -> psutil.Process:
    (pid,) = pool.planner_pids
    return psutil.Process(pid)


async def told(pool: WorkerPool) -> str:
    """Return the table that a long statement needs, or the code of its refusal."""
    try:
        (table,) = await pool.tables(LONG)
    except (Rejected, Unavailable) as refused:
        return refused.code
    return table


@pytest.mark.req("CR-23")
async def test_a_planner_answers_one_statement_after_the_other(pool: WorkerPool) -> None:
    first = waiting_planner(pool)

    assert await pool.tables(LONG) == ("t",)
    assert (await pool.query(LONG.replace("a", "sum(a)", 1), [ROWS])).rows == (("3",),)
    with pytest.raises(Rejected) as refused:
        await pool.query(LONG.replace("a", "b", 1), [ROWS])

    assert (refused.value.code, refused.value.field) == ("sql_unknown_column", "sql")
    assert '"b"' in refused.value.detail
    assert waiting_planner(pool) == first


@pytest.mark.req("CR-23")
async def test_a_statement_that_is_planned_for_too_long_ends_alone() -> None:
    async with WorkerPool(Limits(query_s=2.0), concurrency=2) as pool, asyncio.TaskGroup() as group:
        stuck = waiting_planner(pool)
        stuck.suspend()
        outcome = group.create_task(told(pool))
        await eventually(lambda: not pool.planner_pids)

        assert await told(pool) == "t"
        assert not outcome.done()
        assert await outcome == "sql_timeout"
        await eventually(lambda: not stuck.is_running())
        assert await told(pool) == "t"


@pytest.mark.req("CR-23")
async def test_a_statement_whose_planner_dies_ends_alone(pool: WorkerPool) -> None:
    planner = waiting_planner(pool)
    planner.suspend()
    async with asyncio.TaskGroup() as group:
        outcome = group.create_task(told(pool))
        await eventually(lambda: not pool.planner_pids)
        planner.kill()

    assert outcome.result() == "sql_resources"
    assert await told(pool) == "t"


async def test_a_planner_that_died_while_it_waited_fails_no_statement(pool: WorkerPool) -> None:
    planner = waiting_planner(pool)
    planner.kill()
    await eventually(lambda: planner.status() == psutil.STATUS_ZOMBIE)

    assert await pool.tables(LONG) == ("t",)


@pytest.mark.req("CR-23")
async def test_a_planner_that_took_long_is_not_asked_again(pool: WorkerPool) -> None:
    first = waiting_planner(pool)
    await pool.tables(LONG)
    assert waiting_planner(pool) == first

    assert (await pool.query(COSTLY, [ROWS])).rows == (("1",),)

    await eventually(lambda: not first.is_running())
    assert first.pid not in pool.planner_pids


async def test_planning_that_nobody_waits_for_is_ended(pool: WorkerPool) -> None:
    planner = waiting_planner(pool)
    planner.suspend()
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(told(pool))
        await eventually(lambda: not pool.planner_pids)
        asked.cancel()

    await eventually(lambda: not planner.is_running())
    assert await pool.tables(LONG) == ("t",)


async def test_a_short_statement_needs_no_planner(pool: WorkerPool) -> None:
    planner = waiting_planner(pool)
    planner.suspend()
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(told(pool))
        await eventually(lambda: not pool.planner_pids)

        assert await pool.tables(SHORT) == ("t",)
        assert (await pool.query("SELECT sum(a) FROM t", [ROWS])).rows == (("3",),)
        assert not waits.done()

        planner.resume()

    assert waits.result() == "t"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t GROUP BY CUBE (a)",
        "SELECT a FROM t GROUP BY rollup (a)",
        "SELECT a FROM t GROUP BY GROUPING SETS (a)",
        "SELECT Case a WHEN 1 THEN 2 END FROM t",
        "SELECT a FROM t UNION SELECT a FROM t",
        "SELECT a AS é FROM t",
    ],
)
async def test_what_could_grow_while_it_is_read_is_planned_apart_however_short(
    pool: WorkerPool, sql: str
) -> None:
    planner = waiting_planner(pool)
    planner.suspend()
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(pool.tables(sql))
        await eventually(lambda: not pool.planner_pids)
        planner.resume()

    assert asked.result() == ("t",)


async def test_who_finds_all_planners_busy_is_told_so() -> None:
    limits = Limits(queue_s=0.2)
    async with WorkerPool(limits, concurrency=1) as pool, asyncio.TaskGroup() as group:
        planner = waiting_planner(pool)
        planner.suspend()
        asked = group.create_task(told(pool))
        await eventually(lambda: not pool.planner_pids)

        assert await told(pool) == "sql_busy"

        planner.resume()
        assert await asked == "t"


async def test_of_many_planners_few_are_kept_when_nobody_asks() -> None:
    async with WorkerPool(concurrency=6) as pool:
        first = waiting_planner(pool)
        first.suspend()
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(told(pool)) for _ in range(6)]
            await eventually(lambda: sum(each.done() for each in asked) >= 1)
            first.resume()

        assert [each.result() for each in asked] == ["t"] * 6
        assert 1 <= len(pool.planner_pids) <= IDLE_MAX
        assert await told(pool) == "t"


async def test_no_planner_outlives_its_pool() -> None:
    async with WorkerPool(concurrency=1) as pool:
        planner = waiting_planner(pool)
        assert planner.is_running()

    await eventually(lambda: not planner.is_running())


@pytest.mark.req("CR-23", "CR-27")
async def test_a_bomb_of_grouping_sets_is_refused_here_and_when_a_bundle_brings_it(
    pool: WorkerPool,
) -> None:
    codes = list[str]()
    for ask in (
        pool.tables(BOMB),
        pool.query(BOMB, [ROWS]),
        asyncio.to_thread(reexecute, BOMB, [ROWS]),
    ):
        with pytest.raises(Rejected) as refused:
            await ask
        codes.append(refused.value.code)

    assert codes == ["sql_too_complex"] * 3
    assert reexecute("SELECT sum(a) FROM t", [ROWS]).rows == (("3",),)
