"""How a long statement ends, and how it gives way to others before."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil
import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular import process as processes
from chancery.tabular.jobs import Limits, Table, query_job
from chancery.tabular.plan import plan
from chancery.tabular.pool import SPARES_MAX, WorkerPool
from chancery.tabular.process import WorkerProcess
from chancery.tabular.schema import TableSchema
from chancery.tabular.snapshot import convert_csv
from chancery.testkit.waiting import WITHIN_S, eventually

SLOW = "select count(*) from orders a, orders b, orders c, orders d where a.id + b.id < c.id * d.id"


async def test_a_query_is_interrupted_before_its_process_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reply comes from the worker itself, within the grace, and names the time."""
    monkeypatch.setattr(processes, "GRACE_S", WITHIN_S)
    big = convert_csv(b"id\n" + b"".join(b"%d\n" % n for n in range(3_000)), {})
    table = Table(TableSchema("orders", big.columns), big.parquet)
    worker = WorkerProcess()
    job = query_job(plan(SLOW, [table.schema]), [table], Limits(query_s=600.0))

    async with asyncio.TaskGroup() as group:
        asked = group.create_task(asyncio.to_thread(_refused, worker, job))
        await eventually(lambda: _works(worker.pid))
        worker.end()
    refused = asked.result()

    assert refused.code == "sql_timeout"
    assert refused.__cause__ is None, "a killed worker leaves a broken frame as the cause"


def _refused(worker: WorkerProcess, job: Sequence[bytes]) -> Rejected:
    with pytest.raises(Rejected) as refused:
        worker.exchange(job, deadline_s=600.0, reply_bytes_max=1_000_000)
    return refused.value


@pytest.mark.req("KO-3")
async def test_what_runs_for_long_lets_what_is_short_go_first() -> None:
    big = convert_csv(b"id\n" + b"".join(b"%d\n" % n for n in range(3_000)), {})
    table = Table(TableSchema("orders", big.columns), big.parquet)
    async with WorkerPool(Limits(query_s=60.0), concurrency=1) as pool:
        pid = await eventually(lambda: pool.spare_pid)
        assert pid is not None
        process, usual = psutil.Process(pid), psutil.Process().nice()
        async with asyncio.TaskGroup() as group:
            query = group.create_task(pool.query(SLOW, [table]))
            began = process.nice()
            await eventually(lambda: process.nice() > usual)
            query.cancel()

    assert began == usual


async def test_workers_are_forked_from_a_process_of_a_single_thread() -> None:
    """A fork of several threads could inherit a lock that nobody releases."""
    async with WorkerPool() as pool:
        await pool.query("select 1", [])
        pid = await eventually(lambda: pool.spare_pid)
        assert pid is not None
        template = psutil.Process(pid).parent()

        assert template is not None
        assert "chancery.tabular.template" in template.cmdline()
        assert template.num_threads() == 1


async def test_no_process_is_left_of_queries_that_were_cancelled_early() -> None:
    async with WorkerPool(concurrency=4) as pool:
        pid = await eventually(lambda: pool.spare_pid)
        assert pid is not None
        template = psutil.Process(pid).parent()
        assert template is not None
        for _ in range(5):
            await _cancelled(pool)

        await eventually(lambda: len(template.children()) <= SPARES_MAX)

        assert (await pool.query("select 1", [])).rows == (("1",),)


async def _cancelled(pool: WorkerPool) -> None:
    """Ask several times, and give up before most of it can have begun."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.02):
            await asyncio.gather(*(pool.query("select 1", []) for _ in range(4)))


@pytest.mark.req("KO-3")
@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_file_is_converted_once_more_when_its_process_dies(
    deaths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What becomes of a file is recorded for good, so that one death must not decide it."""
    asked = Asked(WorkerProcess.exchange)
    monkeypatch.setattr(WorkerProcess, "exchange", asked.exchange)
    async with WorkerPool(concurrency=1) as pool, asyncio.TaskGroup() as group:
        outcome = group.create_task(_outcome(pool, b"id\n1\n2\n"))
        for number in range(2):
            await eventually(lambda number=number: len(asked.workers) > number)
            if number < deaths:
                psutil.Process(asked.workers[number].pid).kill()
            asked.may_talk.release()

    assert outcome.result() == (2 if deaths == 1 else ("sql_resources", "snapshot"))
    assert len(asked.workers) == 2


class Asked:
    """Holds each process that is asked until it may talk, so that it can die before it replies."""

    def __init__(self, exchange: Callable[..., list[bytes]]) -> None:
        self.workers: list[WorkerProcess] = []
        self.may_talk = threading.Semaphore(0)
        self._exchange = exchange

    @property
    def exchange(self) -> Callable[..., list[bytes]]:
        """Return the method that holds."""

        def held(
            worker: WorkerProcess,
            frames: Sequence[bytes],
            *,
            deadline_s: float,
            reply_bytes_max: int,
        ) -> list[bytes]:
            self.workers.append(worker)
            assert self.may_talk.acquire(timeout=WITHIN_S)
            return self._exchange(
                worker, frames, deadline_s=deadline_s, reply_bytes_max=reply_bytes_max
            )

        return held


async def _outcome(pool: WorkerPool, data: bytes) -> int | tuple[str, str | None]:
    try:
        return (await pool.convert(data, {})).row_count
    except Rejected as refused:
        return refused.code, refused.field


def _works(pid: int | None) -> bool:
    return psutil.Process(pid).cpu_times().user > 0.2
