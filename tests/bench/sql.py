"""Measures governed SQL beside bare DuckDB: gate, latency, throughput, a million rows, memory.

Run as `python -m tests.bench.sql`. Ours and bare DuckDB take turns, so that whatever else the
machine does slows both. Each statement is a new one, so that none was planned before. The numbers
are told, never judged.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Final

import duckdb
import psutil
from pydantic import TypeAdapter

from chancery.tabular.engine import Engine
from chancery.tabular.jobs import RowFilter, Table, Uncut
from chancery.tabular.plan import plan
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import TableSchema, column_of
from chancery.testkit.waiting import eventually
from tests.bench.report import about

OUT: Final = Path("bench-results/sql.json")
SMALL_ROWS: Final = 1_000
BIG_ROWS: Final = 1_000_000
AT_ONCE: Final = 16
BLOCK: Final = 8
"""The statements of each kind that take turns when throughput is measured."""

SPARE_WITHIN_S: Final = 10.0
STEADY: Final = 12
"""How often in a row a worker must have spent no processor time to count as waiting."""

TOTAL: Final = "SELECT sum(amount) FROM orders"
STATEMENTS: Final = (
    TOTAL,
    "SELECT * FROM orders",
    "SELECT region, sum(amount) FROM orders WHERE paid GROUP BY region ORDER BY 2 DESC",
    "SELECT count(*) FROM orders WHERE region = 'r1' AND paid = true",
    "SELECT o.id, rank() OVER (PARTITION BY o.region ORDER BY o.amount) FROM orders o",
    "WITH x AS (SELECT max(amount) AS m FROM orders) SELECT id FROM orders JOIN x ON amount = m",
    "SELECT id FROM orders WHERE amount > (SELECT avg(amount) FROM orders) LIMIT 5",
)
COLUMNS: Final = (
    column_of("id", "BIGINT"),
    column_of("amount", "DECIMAL(18,2)"),
    column_of("region", "VARCHAR"),
    column_of("paid", "BOOLEAN"),
)
ROWS: Final = (
    "SELECT i AS id, (hash(i) % 1000000 / 100)::DECIMAL(18,2) AS amount,"
    " 'r' || (i % 50) AS region, i % 3 = 0 AS paid FROM range({rows}) r(i)"
)

Measured = dict[str, float]


class _Statements:
    """Makes statements new by a comment: what was planned before costs next to nothing."""

    def __init__(self) -> None:
        self._numbers = count(time.monotonic_ns())

    def next(self, sql: str) -> str:
        """Return `sql` as no earlier statement was."""
        return f"{sql} -- {next(self._numbers)}"


def main(arguments: Sequence[str]) -> int:
    """Measure, write the JSON and print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sql", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="repetitions of each measurement")
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes")
    chosen = parser.parse_args(arguments)
    rounds, out = max(3, int(chosen.rounds)), Path(chosen.out)
    found = asyncio.run(measure(rounds))
    report = {"about": about(f"python -m tests.bench.sql --rounds {rounds}", "none"), **found}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(TypeAdapter(object).dump_json(report, indent=2) + b"\n")
    for name, numbers in found.items():
        print(name, *(f"{key}={value}" for key, value in numbers.items()))
    return 0


async def measure(rounds: int) -> dict[str, Measured]:
    """Return every measurement by its name."""
    with tempfile.TemporaryDirectory(prefix="chancery-bench-") as folder:
        small, small_file = _table(Path(folder), SMALL_ROWS)
        big, big_file = _table(Path(folder), BIG_ROWS)
        async with WorkerPool() as pool:
            await pool.query(TOTAL, [small])
            return {
                "gate_and_lineage_ms": _gate(rounds),
                "latency_ms": await _latency(pool, small, small_file, rounds),
                "throughput_per_s": await _throughput(pool, small, small_file, rounds),
                "processor_ms": await _processor(pool, small, small_file, rounds),
                "million_rows_ms": await _million(pool, big, big_file, max(3, rounds // 4)),
                "restricted_ms": await _restricted(pool, small, rounds),
                "restricted_million_rows_ms": await _restricted(pool, big, max(3, rounds // 4)),
                "sixteen_at_once": await _at_once(pool, small),
                "memory_mib": await _memory(pool, small, rounds),
            }


def _gate(rounds: int) -> Measured:
    """Plan each statement, and let DuckDB parse and bind it on empty tables."""
    schemas = [TableSchema("orders", COLUMNS)]
    new = _Statements()
    ours: list[float] = []
    bare: list[float] = []
    with duckdb.connect(":memory:") as connection:
        columns = ", ".join(f"{each.name} {each.duckdb_type}" for each in COLUMNS)
        connection.execute(f"CREATE TABLE orders ({columns})")
        for _ in range(rounds):
            for sql in STATEMENTS:
                fresh = new.next(sql)
                ours.append(_timed(lambda sql=fresh: plan(sql, schemas)))
                bare.append(_timed(lambda sql=sql: connection.execute(f"DESCRIBE {sql}")))
    return {"ours": _median_ms(ours), "duckdb_parse_and_bind": _median_ms(bare)}


async def _latency(pool: WorkerPool, table: Table, file: Path, rounds: int) -> Measured:
    """Ask with a spare ready; bare DuckDB has its database open, and loads and asks too."""
    new = _Statements()
    ours: list[float] = []
    again: list[float] = []
    bare: list[float] = []
    for _ in range(rounds):
        ours.append(await _asked(pool, new.next(TOTAL), table))
        again.append(await _asked(pool, TOTAL, table))
        with duckdb.connect(":memory:") as connection:
            bare.append(_timed(lambda opened=connection: _loaded_and_asked(opened, file)))
    found = {
        "ours": _median_ms(ours),
        "ours_planned_before": _median_ms(again),
        "duckdb_open": _median_ms(bare),
    }
    return {
        **found,
        "overhead": round(found["ours"] - found["duckdb_open"], 2),
        "least_overhead": round(1000 * (min(ours) - min(bare)), 2),
    }


async def _asked(pool: WorkerPool, sql: str, table: Table | Uncut) -> float:
    """Return the seconds that one query takes with a spare ready."""
    await _spare_ready(pool)
    started = time.perf_counter()
    await pool.query(sql, [table])
    return time.perf_counter() - started


async def _throughput(pool: WorkerPool, table: Table, file: Path, rounds: int) -> Measured:
    """Ask as fast as it goes; bare DuckDB opens a database for each statement, one by one."""
    new = _Statements()
    ours_s = bare_s = 0.0
    for _ in range(rounds):
        started = time.perf_counter()
        await asyncio.gather(*(pool.query(new.next(TOTAL), [table]) for _ in range(BLOCK)))
        ours_s += time.perf_counter() - started
        bare_s += _timed(lambda: [_connected(file) for _ in range(BLOCK)])
    ours, bare = rounds * BLOCK / ours_s, rounds * BLOCK / bare_s
    return {
        "ours": round(ours, 1),
        "duckdb_with_connect": round(bare, 1),
        "ratio": round(ours / bare, 2),
    }


async def _processor(pool: WorkerPool, table: Table, file: Path, rounds: int) -> Measured:
    """Tell the processor time of one statement, which a busy machine changes least.

    That of ours is of all processes, with the worker that is started instead of the used one.
    """
    new = _Statements()
    await _spare_ready(pool)
    before = _spent_s()
    for _ in range(rounds):
        await pool.query(new.next(TOTAL), [table])
    await _spare_ready(pool)
    ours = _spent_s() - before
    before = time.process_time()
    for _ in range(rounds):
        _connected(file)
    bare = time.process_time() - before
    return {
        "ours": round(1000 * ours / rounds, 2),
        "duckdb_with_connect": round(1000 * bare / rounds, 2),
    }


async def _million(pool: WorkerPool, table: Table, file: Path, rounds: int) -> Measured:
    """Aggregate a million rows, end to end."""
    ours: list[float] = []
    carried: list[float] = []
    bare: list[float] = []
    for _ in range(rounds):
        ours.append(await _asked(pool, TOTAL, table))
        await _spare_ready(pool)
        started = time.perf_counter()
        await pool.query_with_rows(TOTAL, table)
        carried.append(time.perf_counter() - started)
        bare.append(_timed(lambda: _connected(file)))
    found = {
        "ours": _median_ms(ours),
        "ours_for_an_answer": _median_ms(carried),
        "duckdb_with_load": _median_ms(bare),
    }
    return {**found, "ratio": round(found["ours"] / found["duckdb_with_load"], 2)}


async def _restricted(pool: WorkerPool, table: Table, rounds: int) -> Measured:
    """Aggregate what policy leaves: with the cut that comes first, over a kept one, over all."""
    visible = TableSchema("orders", COLUMNS[:3])
    uncut = Uncut(visible, table.parquet, (RowFilter("paid", ("true",)),))
    kept = await pool.cut(uncut)
    new = _Statements()
    times: dict[str, list[float]] = {"first": [], "again": [], "unrestricted": []}
    for _ in range(rounds):
        times["first"].append(await _asked(pool, new.next(TOTAL), uncut))
        times["again"].append(await _asked(pool, new.next(TOTAL), kept))
        times["unrestricted"].append(await _asked(pool, new.next(TOTAL), table))
    return {name: _median_ms(taken) for name, taken in times.items()}


async def _at_once(pool: WorkerPool, table: Table) -> Measured:
    started = time.perf_counter()
    answers = await asyncio.gather(
        *(pool.query(f"SELECT sum(id) + {n} FROM orders", [table]) for n in range(AT_ONCE)),
        return_exceptions=True,
    )
    failed = sum(isinstance(each, BaseException) for each in answers)
    return {"failed": failed, "ms": round(1000 * (time.perf_counter() - started), 1)}


async def _memory(pool: WorkerPool, table: Table, rounds: int) -> Measured:
    """Tell the resident memory of this process with its workers, before and after."""
    before = _resident_mib()
    for _ in range(2 * rounds):
        await pool.query(TOTAL, [table])
    await _spare_ready(pool)
    return {"before": before, "after": _resident_mib()}


def _table(folder: Path, rows: int) -> tuple[Table, Path]:
    file = folder / f"{rows}.parquet"
    with Engine() as engine:
        engine.run(
            f"COPY ({ROWS.format(rows=rows)}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)"
        )
    return Table(TableSchema("orders", COLUMNS), file.read_bytes()), file


def _connected(file: Path) -> None:
    with duckdb.connect(":memory:") as connection:
        _loaded_and_asked(connection, file)


def _loaded_and_asked(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    connection.execute("SET threads=1")
    connection.execute(f"CREATE TABLE orders AS SELECT amount FROM read_parquet('{file}')")
    connection.execute(TOTAL).fetchall()


async def _spare_ready(pool: WorkerPool) -> None:
    """Wait until a worker waits with its databases open; opening them takes a while."""
    spent: deque[float | None] = deque(maxlen=STEADY)

    def is_steady() -> bool:
        spent.append(_processor_s(pool.spare_pid))
        return len(spent) == STEADY and spent[0] is not None and len(set(spent)) == 1

    await eventually(is_steady, SPARE_WITHIN_S)


def _processor_s(pid: int | None) -> float | None:
    """Return the processor time of a waiting worker; it stands still once databases are open."""
    return None if pid is None else sum(psutil.Process(pid).cpu_times()[:2])


def _spent_s() -> float:
    """Return the processor time of this process and all below it, those that ended too."""
    here = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (here, *here.children(recursive=True)))


def _resident_mib() -> float:
    here = psutil.Process()
    everyone = [here, *here.children(recursive=True)]
    return round(sum(map(_resident, everyone)) / 2**20, 1)


def _resident(process: psutil.Process) -> int:
    """Return the resident bytes of a process, 0 when it has ended meanwhile."""
    try:
        resident: int = process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0
    return resident


def _timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _median_ms(seconds: Sequence[float]) -> float:
    return round(1000 * statistics.median(seconds), 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
