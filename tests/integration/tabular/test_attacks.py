"""Attacks on the sandbox: each is refused with a code, no data leaks, and the pool lives on."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import Engine, EngineFailure
from chancery.tabular.jobs import Limits, Table
from chancery.tabular.plan import plan
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.snapshot import convert_csv

SECRET = "topsecretvalue"
CSV = b"id,word,number\n" + b"".join(b"%d,topsecretvalue,%d.50\n" % (n, n) for n in range(2_000))
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
    """Return the code with which `sql` is refused, or nothing; no text of it carries data."""
    told, code = "", ""
    try:
        await pool.query(sql, [table])
    except Rejected as refused:
        told, code = f"{refused.detail} {refused.field} {refused.__cause__}", refused.code
    assert SECRET not in told
    return code


FILES = [
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/proc/self/environ')",
    "select * from read_parquet('/dev/fd/3')",
    "select * from read_json_auto('/etc/hostname')",
    "select * from sniff_csv('/etc/passwd')",
    "select * from glob('/**')",
    "select * from '/etc/passwd'",
    'select * from "/etc/passwd"',
    "select * from 'file:///etc/passwd'",
    "from '/proc/self/maps'",
    "copy t to '/tmp/stolen.csv'",
    "copy (select * from t) to '/dev/stdout'",
    "with x as (copy t to '/tmp/stolen.csv') select * from x",
    "export database '/tmp/stolen'",
    "import database '/tmp/stolen'",
    "attach '/tmp/stolen.db' as other",
    "attach ':memory:' as other",
    "select * from parquet_metadata('/dev/fd/3')",
    "select * from duckdb_temporary_files()",
]
NETWORK = [
    "select * from read_csv('http://127.0.0.1:1/x')",
    "select * from 'https://127.0.0.1:1/x.parquet'",
    "select * from read_parquet('s3://bucket/x')",
    "attach 'http://127.0.0.1:1/x.db' as x",
    "attach 'host=127.0.0.1 dbname=x' as p (type postgres)",
    "select http_get('http://127.0.0.1:1')",
    "create secret s (type s3, key_id 'a', secret 'b')",
]
EXTENSIONS = [
    "install httpfs",
    "load httpfs",
    "force install spatial from community",
    "update extensions",
    "load '/tmp/evil.duckdb_extension'",
    "select * from duckdb_extensions()",
    "select * from st_read('/etc/passwd')",
]
SETTINGS = [
    "set enable_external_access = true",
    "set lock_configuration = false",
    "set global memory_limit = '64GB'",
    "set temp_directory = '/tmp'",
    "set threads = 64",
    "set s3_region = 'x'",
    "reset memory_limit",
    "pragma enable_profiling",
    "pragma memory_limit='64GB'",
    "pragma database_list",
    "set log_query_path = '/tmp/log'",
    "select current_setting('temp_directory')",
    "select current_setting('secret_directory')",
    "select * from duckdb_settings()",
    "checkpoint",
    "call enable_logging()",
]
CATALOG = [
    "select * from duckdb_tables()",
    "select * from duckdb_columns()",
    "select * from information_schema.tables",
    "select * from pg_catalog.pg_class",
    "select * from sqlite_master",
    "select * from duckdb_secrets()",
    "select * from pragma_storage_info('t')",
    "select * from pragma_table_info('t')",
    "select current_database(), current_schema()",
    "select current_user",
    "select version()",
    "select current_query()",
    "select pg_typeof(word) from t",
    "select txid_current()",
    "describe t",
    "summarize t",
    "show all tables",
    "explain analyze select * from t",
    "use memory",
]
VARIABLES_AND_MACROS = [
    "set variable x = (select max(word) from t)",
    "select getvariable('x')",
    "create macro m(a) as a",
    "create temp table stolen as select * from t",
    "create view v as select * from t",
    "prepare p as select 1",
    "execute p",
    "select $1",
    "select ? from t",
    "select nextval('s')",
    "select * from query('select 1')",
    "select * from query_table('t')",
    "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "select getenv('PATH')",
    "select random()",
    "select now()",
    "select uuid()",
    "select write_log('x')",
    "drop table t",
    "delete from t",
    "with x as (delete from t returning *) select * from x",
    "with x as (insert into t select * from t returning *) select * from x",
    "select 1; drop table t",
    "begin; select 1",
]
LEAKS = [
    "select error(word) from t",
    "select cast(word as integer) from t",
    "select cast(word as date) from t",
    "select cast(word || number as decimal(38,2)) from t",
    "select strftime(date '2020-01-01', word) || cast(word as integer) from t",
    "select id from t where word = 1",
    "select make_date(id, id, id) from t",
    "select (select word from t)::integer",
    "select regexp_extract(word, '(' || word) from t",
    "select date_trunc(word, date '2020-01-01') from t",
    "select date_part(word, date '2020-01-01') from t",
    "select sum(id * 1000000000000000000 * 10000000000000000000) from t",
    "select round(1, word) from t",
    "select string_agg(word, word) + 1 from t",
    "select topsecretvalue from t",
    "select t.topsecretvalue('x') from t",
    "select word from topsecretvalue",
]
BOMBS = (
    "select count(*) from t a, t b, t c, t d where a.id + b.id < c.id * d.id",
    "select length(string_agg(a.word || b.word || a.number, ',')) from t a, t b",
    "select max(length(s)) from (select " + "replace(" * 12 + "word" + ", 'e', 'eeeeeeee')" * 12
    + " as s from t)",
    "with a as (select word || word as s from t)"
    + "".join(f", a{n} as (select s || s as s from a{n - 1 if n else ''})" for n in range(26))
    + " select max(length(s)) from a25",
    "select count(*) from (select a.id from t a, t b order by a.word || b.word, b.number || a.id)",
    "select sum(x) from (select sum(a.id) over (order by b.id rows 999 preceding) x from t a, t b)",
    "select count(distinct a.word || b.id || c.id) from t a, t b, t c",
    "select median(a.id * b.id * c.id) from t a, t b, t c",
)  # fmt: skip
GROWTHS = [
    "select id+id as x0" + "".join(f", x{n}+x{n} as x{n + 1}" for n in range(60)) + " from t",
    "select id+id as a" + "".join(", a+a as a" for _ in range(60)) + " from t where a > 0",
    "select " + ",".join("*" * 2_000) + " from t",
    "with x0 as (select * from t)"
    + "".join(f", x{n + 1} as (select * from x{n} l, x{n} r)" for n in range(100))
    + " select * from x100",
    "select id from t where " + " or ".join(f"id = {n}" for n in range(900)),
    "select " + "case when id = 1 then " * 90 + "1" + " end" * 90 + " from t",
    "select " + "(select " * 70 + "1" + ")" * 70,
    "select " + "(" * 290 + "id" + ")" * 290 + " from t",
    "select " + "-" * 590 + "id from t",
    "select " + "not " * 900 + "true",
    " union ".join(["select id from t"] * 400),
    "select id from t" + " join t using (id)" * 300,
    "select '" + "x" * 8_100 + "'",
    "select " + "1" * 8_000,
    "select 1e" + "9" * 8_000,
    "/*" * 2_000 + "select 1",
]  # fmt: skip


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    "attacks",
    [FILES, NETWORK, EXTENSIONS, SETTINGS, CATALOG, VARIABLES_AND_MACROS],
    ids=["files", "network", "extensions", "settings", "catalog", "variables"],
)
async def test_what_reaches_out_of_the_tables_is_refused(
    pool: WorkerPool, table: Table, attacks: list[str]
) -> None:
    codes = {sql: await refusal_of(pool, sql, table) for sql in attacks}

    assert [sql for sql, code in codes.items() if not code.startswith("sql_")] == []
    assert await refusal_of(pool, "select count(*) from t", table) == ""


@pytest.mark.req("CR-27")
async def test_no_refusal_carries_data_or_a_name_of_the_statement(
    pool: WorkerPool, table: Table
) -> None:
    codes = [await refusal_of(pool, sql, table) for sql in LEAKS]

    assert all(code.startswith("sql_") for code in codes), list(zip(codes, LEAKS, strict=True))
    assert {"sql_failed", "sql_unknown_column", "sql_feature_function"} <= set(codes)


async def test_a_bomb_ends_its_own_process_only(pool: WorkerPool, table: Table) -> None:
    started = time.monotonic()

    codes = [await refusal_of(pool, sql, table) for sql in BOMBS]

    assert set(codes) <= {"sql_timeout", "sql_resources", "sql_failed"}, codes
    assert time.monotonic() - started < len(BOMBS) * (LIMITS.query_s + 3)
    assert await refusal_of(pool, "select count(*) from t", table) == ""


async def test_good_queries_are_right_while_bombs_run(pool: WorkerPool, table: Table) -> None:
    async with asyncio.TaskGroup() as group:
        bombs = [group.create_task(refusal_of(pool, sql, table)) for sql in BOMBS[:3]]
        good = [
            group.create_task(pool.query(f"select sum(id) + {n} from t", [table])) for n in range(6)
        ]

    assert all(bomb.result() for bomb in bombs)
    assert [one.result().rows[0][0] for one in good] == [str(1_999_000 + n) for n in range(6)]


@pytest.mark.parametrize("sql", GROWTHS, ids=range(len(GROWTHS)))
def test_a_statement_that_grows_is_planned_or_refused_at_once(sql: str) -> None:
    schema = TableSchema("t", (column_of("id", "BIGINT"), column_of("word", "VARCHAR")))
    started = time.monotonic()
    code = ""

    try:
        plan(sql, [schema])
    except Rejected as refused:
        code = refused.code

    assert time.monotonic() - started < 3
    assert code == "" or code.startswith("sql_")


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
    codes = [_code(locked, sql) for sql in (*SETTINGS[:7], *EXTENSIONS[:2], *EXTENSIONS[4:5])]

    assert codes == ["sql_failed"] * len(codes)


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
