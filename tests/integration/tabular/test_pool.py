"""Governed SQL in real worker processes: what comes back, what never does, and what ends them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from chancery.kernel.errors import ChanceryError, Corrupt, Rejected, Unavailable
from chancery.tabular.gate import GatedQuery
from chancery.tabular.jobs import Limits, RowFilter, Table, Uncut, query_job, reply_bytes_max
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.nursery import NURSERY
from chancery.tabular.plan import Plan, plan
from chancery.tabular.pool import WorkerPool
from chancery.tabular.preview import value_at
from chancery.tabular.process import WorkerProcess
from chancery.tabular.schema import ColumnDeclaration, TableSchema
from chancery.tabular.snapshot import Snapshot, convert_csv
from chancery.tabular.values import display
from chancery.testkit.waiting import WITHIN_S, eventually

CSV = b"""id,region,amount,cost,weight,day,moment
1,north,1250,7.50,0.5,2024-01-31,2024-01-31T10:00:00Z
2,south,2750,0.25,1.5,2024-02-29,2024-02-29T23:30:00+02:00
3,north,,12.00,2.5,,
"""
SLOW = "select count(*) from orders a, orders b, orders c, orders d where a.id + b.id < c.id * d.id"


REFUSED_UNREAD = {"sql_not_bindable", "sql_lineage_disagrees", "sql_failed", "sql_result_type"}
"""The codes of a statement that was bound, at most, and never run."""


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return convert_csv(CSV, {"weight": ColumnDeclaration("double")})


@pytest.fixture
def orders(snapshot: Snapshot) -> Table:
    return Table(TableSchema("orders", snapshot.columns), snapshot.parquet)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool() as opened:
        yield opened


def visible(table: Table, *names: str, filters: tuple[RowFilter, ...] = ()) -> Uncut:
    columns = tuple(each for each in table.schema.columns if each.name in names)
    return Uncut(TableSchema(table.schema.name, columns), table.parquet, filters)


@pytest.mark.req("KO-4", "CR-21", "CR-22")
async def test_the_sum_of_two_invoices_is_stated_natively(pool: WorkerPool, orders: Table) -> None:
    preview = await pool.query("select sum(amount) as bananas, 42 as total from orders", [orders])

    value = value_at(preview, 0, 0)

    assert (value.label, value.value, value.type) == ("SUM(orders.amount)", "4000", "HUGEINT")
    assert display(value.value, value.type) == "4,000"
    assert preview.columns[0].name == "bananas"
    assert preview.rows == (("4000", "42"),)
    with pytest.raises(Rejected):
        value_at(preview, 0, 1)


@pytest.mark.req("CR-22", "CR-27")
async def test_a_query_brings_the_rows_of_only_the_columns_it_read(
    pool: WorkerPool, orders: Table
) -> None:
    preview, rows = await pool.query_with_rows("select sum(amount) from orders", orders)

    assert preview == await pool.query("select sum(amount) from orders", [orders])
    assert rows is not None
    assert [column.name for column in rows.schema.columns] == ["amount"]
    assert sum(int(row[0] or "0") for row in rows.rows) == 4000
    assert rows == await pool.rows(Uncut(rows.schema, orders.parquet))


@pytest.mark.req("CR-22")
async def test_the_same_query_gives_the_same_preview(pool: WorkerPool, orders: Table) -> None:
    sql = "select * from orders order by id desc"

    first, second = await pool.query(sql, [orders]), await pool.query(sql, [orders])

    assert first.preview_sha256 == second.preview_sha256
    assert first.rows[0] == ("3", "north", None, "12.00", "2.5", None, None)
    assert first.rows[1][-2:] == ("2024-02-29", "2024-02-29T21:30:00Z")


@pytest.mark.req("CR-21", "CR-23")
@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select amount + 1 from orders where id = 1", (("1251",),)),
        ("select avg(amount), avg(cost) from orders where id < 3", (("2000.0", "3.875"),)),
        ("select count(*), count(amount) from orders", (("3", "2"),)),
        ("select sum(amount) from orders where id > 99", ((None,),)),
        ("select amount from orders where id > 99", ()),
        ("select region, sum(id) from orders group by 1 order by 2 limit 1", (("south", "2"),)),
        ("select count(*) from orders a join orders b on a.region = b.region", (("5",),)),
        ("with x as (select id from orders) select max(id) from x", (("3",),)),
        ("select id from orders where amount = (select max(amount) from orders)", (("2",),)),
        ("select id, rank() over (order by cost) from orders where id = 1", (("1", "1"),)),
        ("select id from orders where id = 1 union all select 7", (("1",), ("7",))),
        ("select distinct region from orders order by region offset 1", (("south",),)),
        ("select count(*) filter (where region = 'north') from orders", (("2",),)),
        ("select region from orders group by region having count(*) > 1", (("north",),)),
        ("select 1.50 as a, 0.1::double, 'nan'::double, null", (("1.50", "0.1", "NaN", None),)),
    ],
)  # fmt: skip
async def test_the_raw_query_succeeds_whether_or_not_it_is_eligible(
    pool: WorkerPool, orders: Table, sql: str, rows: tuple[tuple[str | None, ...], ...]
) -> None:
    assert (await pool.query(sql, [orders])).rows == rows


@pytest.mark.req("CR-22")
async def test_an_alias_never_takes_the_place_of_a_native_column(pool: WorkerPool) -> None:
    """Where alias and column collide, the labelled value is the column's."""
    made = convert_csv(b"id,amount,region\n1,10,n\n2,20,s\n", {})
    table = Table(TableSchema("orders", made.columns), made.parquet)
    traps = {
        "select id as amount, amount from orders where amount = 20": ("2", "20"),
        "select amount as id, id from orders order by id desc limit 1": ("20", "2"),
        "select id + 5 as amount, amount from orders where amount = 20": ("7", "20"),
        "select 7 as region, sum(amount) from orders where region = 'n'": ("7", "10"),
        "select -id as id, max(id) from orders where id = 2 group by id": ("-2", "2"),
    }

    for sql, row in traps.items():
        assert (await pool.query(sql, [table])).rows == (row,), sql


@pytest.mark.req("CR-27")
async def test_hidden_columns_do_not_exist_for_a_query(pool: WorkerPool, orders: Table) -> None:
    restricted = visible(orders, "id", "region")

    star = await pool.query("select * from orders", [restricted])
    with pytest.raises(Rejected) as named:
        await pool.query("select amount from orders", [restricted])
    with pytest.raises(Rejected) as filtered:
        await pool.query("select id from orders where amount > 0", [restricted])

    assert [each.name for each in star.columns] == ["id", "region"]
    assert named.value.code == filtered.value.code == "sql_unknown_column"
    assert (await pool.query("select max(amount) from orders", [orders])).rows == (("2750",),)


@pytest.mark.req("CR-27")
async def test_hidden_rows_do_not_exist_for_a_query(pool: WorkerPool, orders: Table) -> None:
    async def total(*filters: RowFilter) -> tuple[str | None, ...]:
        table = visible(orders, "id", "amount", filters=filters)
        return (await pool.query("select count(*), sum(amount) from orders", [table])).rows[0]

    assert await total() == ("3", "4000")
    assert await total(RowFilter("region", ("north",))) == ("2", "1250")
    assert await total(RowFilter("region", ("north", "south"))) == ("3", "4000")
    assert await total(RowFilter("cost", ("0.25", "no number"))) == ("1", "2750")
    assert await total(RowFilter("day", ("2024-01-31",))) == ("1", "1250")
    assert await total(RowFilter("region", ())) == ("0", None)
    assert await total(RowFilter("id", ("1.5", "2e0x", "true"))) == ("0", None)
    assert await total(RowFilter("cost", ("7.5", "7.504"))) == ("1", "1250")
    assert await total(RowFilter("region", ("north",)), RowFilter("id", ("2",))) == ("0", None)
    with pytest.raises(Corrupt):
        await total(RowFilter("no_such_column", ("x",)))


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select cast(region as integer) from orders", "sql_failed"),
        ("select cast(region as date) from orders", "sql_failed"),
        ("select sum(region) from orders", "sql_not_bindable"),
        ("select region from orders where id = 'north'", "sql_failed"),
        ("select day - day, to_days(1) from orders", "sql_result_type"),
    ],
)
async def test_an_error_carries_a_code_and_no_data(
    pool: WorkerPool, orders: Table, sql: str, code: str
) -> None:
    with pytest.raises(Rejected) as refused:
        await pool.query(sql, [orders])

    assert refused.value.code == code
    assert "north" not in f"{refused.value.detail} {refused.value.__cause__}"


async def test_a_result_of_more_than_fifty_rows_is_truncated(pool: WorkerPool) -> None:
    data = b"n,note\n" + b"".join(b"%d,%s\n" % (n, b"x" * 100) for n in range(60))
    made = convert_csv(data, {})
    table = Table(TableSchema("numbers", made.columns), made.parquet)

    cut = await pool.query("select n from numbers", [table])
    whole = await pool.query("select n from numbers where n < 50", [table])

    assert (len(cut.rows), cut.truncated) == (50, True)
    assert (len(whole.rows), whole.truncated) == (50, False)
    async with WorkerPool(Limits(preview_bytes_max=2_000)) as narrow:
        budgeted = await narrow.query("select * from numbers", [table])
    assert budgeted.truncated
    assert 0 < len(budgeted.rows) < 50
    assert len(budgeted.canonical()) <= 2_000


async def test_a_query_beyond_its_time_is_ended_with_a_code(orders: Table) -> None:
    big = convert_csv(b"id\n" + b"".join(b"%d\n" % n for n in range(3_000)), {})
    table = Table(TableSchema("orders", big.columns), big.parquet)

    async with WorkerPool(Limits(query_s=1.0)) as pool:
        with pytest.raises(Rejected) as refused:
            await pool.query(SLOW, [table])
        after = await pool.query("select count(*) from orders", [table])

    assert refused.value.code == "sql_timeout"
    assert after.rows == (("3000",),)


async def test_a_query_beyond_its_memory_is_ended_with_a_code() -> None:
    big = convert_csv(b"id\n" + b"".join(b"%d\n" % n for n in range(3_000)), {})
    table = Table(TableSchema("orders", big.columns), big.parquet)
    sql = (
        "select length(string_agg(a.id || '-' || b.id || '-' || a.id, ',')) from orders a, orders b"
    )

    async with WorkerPool(Limits(memory_bytes=64 * 1024 * 1024)) as pool:
        with pytest.raises(Rejected) as refused:
            await pool.query(sql, [table])

    assert refused.value.code == "sql_resources"


async def test_a_cancelled_query_ends_its_process(orders: Table) -> None:
    big = convert_csv(b"id\n" + b"".join(b"%d\n" % n for n in range(3_000)), {})
    table = Table(TableSchema("orders", big.columns), big.parquet)

    async with WorkerPool(Limits(query_s=60.0), concurrency=1) as pool:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await pool.query(SLOW, [table])
        async with asyncio.timeout(WITHIN_S):
            after = await pool.query("select count(*) from orders", [table])

    assert after.rows == (("3000",),)


async def test_waiting_too_long_for_a_process_is_unavailable(orders: Table) -> None:
    big = convert_csv(b"id\n" + b"".join(b"%d\n" % n for n in range(3_000)), {})
    table = Table(TableSchema("orders", big.columns), big.parquet)

    async def ask(pool: WorkerPool) -> str:
        try:
            await pool.query(SLOW, [table])
        except ChanceryError as error:
            return error.code
        return "answered"

    async with WorkerPool(Limits(query_s=2.0, queue_s=0.2), concurrency=1) as pool:
        codes = await asyncio.gather(ask(pool), ask(pool))

    assert sorted(codes) == ["sql_busy", "sql_timeout"]
    assert issubclass(Unavailable, ChanceryError)


def test_a_process_that_dies_is_a_code(orders: Table) -> None:
    worker = WorkerProcess()
    os.kill(worker.pid, signal.SIGKILL)

    with pytest.raises(Rejected) as refused:
        ask_directly(worker, plan("select * from orders", [orders.schema]), orders)

    assert refused.value.code == "sql_resources"


@pytest.mark.req("CR-21")
def test_a_lineage_that_the_binder_contradicts_is_refused(orders: Table) -> None:
    honest = plan("select sum(amount) from orders where region = 'north'", [orders.schema])
    for reads in ({"orders": ("amount",)}, {"orders": ("amount", "region", "id")}, {}):
        lying = replace(honest, reads=reads)

        with pytest.raises(Rejected) as refused:
            ask_directly(WorkerProcess(), lying, orders)

        assert refused.value.code == "sql_lineage_disagrees"
    assert ask_directly(WorkerProcess(), honest, orders)


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    "stolen",
    [
        "select * from read_parquet('/dev/fd/200')",
        "select * from read_text('/proc/self/environ')",
        "select content from read_blob('/dev/fd/200')",
    ],
)
def test_a_statement_past_the_gate_still_opens_no_file(orders: Table, stolen: str) -> None:
    """Not even the file that the worker itself loads snapshots from, hidden columns and all."""
    honest = plan("select 1", [orders.schema])
    hostile = GatedQuery(stolen, honest.query.node, ())
    for tables in ([orders], []):
        job = query_job(replace(honest, query=hostile), tables, Limits())

        with pytest.raises(Rejected) as refused:
            WorkerProcess().exchange(job, deadline_s=10, reply_bytes_max=2**20)

        assert refused.value.code in REFUSED_UNREAD


async def test_several_snapshots_of_one_query_keep_their_rows_apart(pool: WorkerPool) -> None:
    tables = [
        Table(TableSchema(name, made.columns), made.parquet)
        for name in ("a", "b", "c")
        for made in [convert_csv(b"id,%s\n1,%s\n2,%s2\n" % ((name.encode(),) * 3), {})]
    ]

    found = await pool.query("select a, b, c from a join b using (id) join c using (id)", tables)

    assert sorted(found.rows) == [("a", "b", "c"), ("a2", "b2", "c2")]


def ask_directly(worker: WorkerProcess, planned: Plan, table: Table) -> list[bytes]:
    limits = Limits()
    return worker.exchange(
        query_job(planned, [table], limits),
        deadline_s=limits.query_s,
        reply_bytes_max=reply_bytes_max(limits.preview_bytes_max),
    )


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
def test_a_process_inherits_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANCERY_SIGNING_KEY", "a-secret")
    worker = WorkerProcess()
    deadline, environment = time.monotonic() + WITHIN_S, b""
    try:
        while not environment and time.monotonic() < deadline:
            environment = Path(f"/proc/{worker.pid}/environ").read_bytes()
    finally:
        worker.kill()

    assert b"PYTHONUTF8" in environment
    assert b"CHANCERY" not in environment
    assert not worker.waiting


async def test_leaving_the_pool_ends_the_waiting_process(orders: Table) -> None:
    pool = WorkerPool()
    async with pool:
        await pool.query("select 1", [orders])
        spare = pool.spare_pid
    assert spare is not None
    assert await eventually(lambda: not psutil.pid_exists(spare))


async def test_a_template_that_dies_is_replaced(orders: Table) -> None:
    async with WorkerPool(concurrency=1) as pool:
        NURSERY.close()

        answers = [await pool.query("select count(*) from orders", [orders]) for _ in range(3)]

    assert [each.rows for each in answers] == [(("3",),)] * 3


async def test_sixteen_queries_at_once_are_answered(pool: WorkerPool, orders: Table) -> None:
    asked = [f"select sum(amount) + {n} from orders" for n in range(16)]

    async with asyncio.timeout(120):
        answers = await asyncio.gather(*(pool.query(sql, [orders]) for sql in asked))

    assert [each.rows[0][0] for each in answers] == [str(4000 + n) for n in range(16)]


@pytest.mark.req("CR-21")
async def test_a_column_that_bears_the_name_of_a_session_value_is_calculated_with(
    pool: WorkerPool,
) -> None:
    data = "current_date,user,ÄMTER\n1250,a,5\n2750,b,6\n".encode()
    rows = convert_csv(data, {})
    table = Table(TableSchema("regexp", rows.columns), rows.parquet)
    measure = Measure("m", "sum", "current_date", where={"user": "b", "ÄMTER": 6})

    preview = await pool.query(measure_statement(table.schema, measure).sql, [table])
    cut = visible(table, "current_date", filters=(RowFilter("user", ("a",)),))
    filtered = await pool.query("SELECT sum(current_date) FROM regexp", [cut])

    assert preview.rows == (("2750",),)
    assert preview.columns[0].eligible
    assert filtered.rows == (("1250",),)
