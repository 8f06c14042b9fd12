"""Attacks on the sandbox: each is refused with a code, no data leaks, and the pool lives on."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.jobs import Limits, Table
from chancery.tabular.plan import plan
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.snapshot import convert_csv
from tests.integration.tabular.attacks import (
    BOMBS,
    CATALOG,
    CSV,
    EXTENSIONS,
    FILES,
    GROWTHS,
    LEAKS,
    NETWORK,
    SECRET,
    SETTINGS,
    VARIABLES_AND_MACROS,
)

LIMITS = Limits(query_s=1.5, memory_bytes=96 * 1024 * 1024)


@pytest.fixture(scope="module")
def table() -> Table:
    made = convert_csv(CSV, {})
    return Table(TableSchema("t", made.columns), made.parquet)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(LIMITS) as opened:
        yield opened


async def refusal_of(pool: WorkerPool, sql: str, table: Table) -> str:
    """Return the code with which `sql` is refused, or nothing; no text of it carries data.

    An unknown name or function that stands in `sql` itself may be told.
    """
    told, code = "", ""
    try:
        await pool.query(sql, [table])
    except Rejected as refused:
        told, code = f"{refused.detail} {refused.field} {refused.__cause__}", refused.code
    own = (f': "{SECRET}" sql ', f' function "{SECRET}"; ') if SECRET in sql else ()
    for each in own:
        told = told.replace(each, " ")
    assert SECRET not in told
    return code


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    "attacks",
    [FILES, NETWORK, EXTENSIONS, SETTINGS, CATALOG, VARIABLES_AND_MACROS],
    ids=["files", "network", "extensions", "settings", "catalog", "variables"],
)
async def test_what_reaches_out_of_the_tables_is_refused(
    pool: WorkerPool, table: Table, attacks: dict[str, str]
) -> None:
    codes = {sql: await refusal_of(pool, sql, table) for sql in attacks}

    assert codes == attacks
    assert await refusal_of(pool, "select count(*) from t", table) == ""


@pytest.mark.req("CR-27")
async def test_no_refusal_carries_data_or_more_than_an_unknown_name_of_the_statement(
    pool: WorkerPool, table: Table
) -> None:
    codes = {sql: await refusal_of(pool, sql, table) for sql in LEAKS}

    assert codes == LEAKS


async def test_a_bomb_ends_its_own_process_only(pool: WorkerPool, table: Table) -> None:
    started = time.monotonic()

    codes = [await refusal_of(pool, sql, table) for sql in BOMBS]

    assert set(codes) <= {"sql_timeout", "sql_resources", "sql_failed"}, codes
    assert time.monotonic() - started < len(BOMBS) * (LIMITS.query_s + 10)
    assert await refusal_of(pool, "select count(*) from t", table) == ""


async def test_good_queries_are_right_while_bombs_run(table: Table) -> None:
    # Time enough for what is good on a machine that bombs keep busy.
    limits = replace(LIMITS, query_s=6.0)
    async with WorkerPool(limits) as pool, asyncio.TaskGroup() as group:
        bombs = [group.create_task(refusal_of(pool, sql, table)) for sql in BOMBS[:3]]
        good = [
            group.create_task(pool.query(f"select sum(id) + {n} from t", [table])) for n in range(6)
        ]

    assert all(bomb.result() for bomb in bombs)
    assert [one.result().rows[0][0] for one in good] == [str(1_999_000 + n) for n in range(6)]


@pytest.mark.parametrize(("sql", "code"), GROWTHS.items(), ids=range(len(GROWTHS)))
def test_a_statement_that_grows_is_planned_or_refused_at_once(sql: str, code: str) -> None:
    schema = TableSchema("t", (column_of("id", "BIGINT"), column_of("word", "VARCHAR")))
    started = time.process_time()
    found = ""

    try:
        plan(sql, [schema])
    except Rejected as refused:
        found = refused.code

    assert time.process_time() - started < 10
    assert found == code


def test_growth_is_bounded_and_not_merely_forbidden() -> None:
    """The positive control: small uses of the same features pass."""
    schema = TableSchema("t", (column_of("id", "BIGINT"), column_of("word", "VARCHAR")))
    chain = "select id+id as x, x+x as y, y+y as z from t where z > 8 order by z"

    assert plan(chain, [schema]).reads == {"t": ("id",)}
    assert plan("select *, * from t", [schema]).reads == {"t": ("id", "word")}


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Engine]:
    """Return a database as a worker runs statements in: full of data, and locked."""
    (tmp_path / "readable.csv").write_text("a\n1\n")
    with Engine() as engine:
        engine.run("CREATE TABLE t (word VARCHAR)")
        engine.run("INSERT INTO t VALUES ('topsecretvalue')")
        assert engine.fetch(f"select * from '{tmp_path}/readable.csv'", rows_max=1), "control"
        engine.lock()
        yield engine


def test_the_lock_alone_keeps_files_out(locked: Engine, tmp_path: Path) -> None:
    """Even past the gate: a locked database opens, writes and lists nothing."""
    tried = [
        f"select * from '{tmp_path}/readable.csv'",
        f"select * from read_text('{tmp_path}/readable.csv')",
        f"select * from glob('{tmp_path}/*')",
        f"copy t to '{tmp_path}/stolen.csv'",
        f"export database '{tmp_path}/stolen'",
        f"attach '{tmp_path}/stolen.db' as other",
        "select * from read_parquet('/dev/fd/3')",
        f"with x as (copy t to '{tmp_path}/stolen.csv') select * from x",
    ]

    codes = [_code(locked, sql) for sql in tried]

    assert codes == ["sql_failed"] * len(tried)
    assert [each.name for each in tmp_path.iterdir()] == ["readable.csv"]


def test_the_lock_alone_keeps_settings_and_extensions(locked: Engine) -> None:
    settings, extensions = list(SETTINGS), list(EXTENSIONS)
    tried = [*settings[:7], *extensions[:2], extensions[4]]

    codes = [_code(locked, sql) for sql in tried]

    assert codes == ["sql_failed"] * len(tried)


def test_the_lock_alone_reaches_no_network(locked: Engine) -> None:
    calls: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        listener = threading.Thread(target=_accept, args=(server, calls))
        listener.start()
        port = server.getsockname()[1]

        codes = [
            _code(locked, f"select * from read_csv('http://127.0.0.1:{port}/x')"),
            _code(locked, f"select * from 'http://127.0.0.1:{port}/x.parquet'"),
            _code(locked, f"attach 'http://127.0.0.1:{port}/x.db' as x"),
        ]
        listener.join()

    assert codes == ["sql_failed"] * 3
    assert calls == []


def _accept(server: socket.socket, calls: list[bytes]) -> None:
    try:
        connection, _ = server.accept()
    except TimeoutError:
        return
    calls.append(b"called")
    connection.close()


def _code(engine: Engine, sql: str) -> str:
    told = ""
    try:
        engine.fetch(sql, rows_max=5)
    except EngineFailure as failure:
        told = str(failure)
    assert SECRET not in told
    return told
