"""Files become snapshots in processes of their own, and broken snapshots are told apart."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from chancery.kernel.errors import Corrupt, Rejected, TooLarge
from chancery.tabular.jobs import Limits, Table
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import ColumnDeclaration, TableSchema, column_of
from chancery.tabular.snapshot import Snapshot, convert_csv

CSV = b"id,amount,weight\n1,1250,0.5\n2,2750,1.5\n"


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


async def test_bytes_that_are_no_snapshot_are_corrupt(pool: WorkerPool, orders: Table) -> None:
    with pytest.raises(Corrupt) as broken:
        await pool.query("select * from orders", [Table(orders.schema, b"not parquet")])
    retyped = TableSchema("orders", (column_of("amount", "VARCHAR"),))
    with pytest.raises(Corrupt):
        await pool.query("select * from orders", [Table(retyped, orders.parquet)])

    assert broken.value.code == "dataset_unreadable"


async def test_conversion_in_a_process_is_conversion_here(
    pool: WorkerPool, snapshot: Snapshot
) -> None:
    declared = {"weight": ColumnDeclaration("double")}

    assert await pool.convert(CSV, declared) == snapshot
    with pytest.raises(Rejected) as ragged:
        await pool.convert(b"a,b\n1\n", {})
    with pytest.raises(TooLarge) as wide:
        await pool.convert(",".join(f"c{n}" for n in range(501)).encode(), {})
    assert (ragged.value.code, ragged.value.field) == ("csv_ragged_row", "snapshot")
    assert wide.value.code == "csv_too_many_columns"


@pytest.mark.parametrize(
    "bound", [Limits(convert_s=0.0), Limits(convert_cpu_s=0.0)], ids=["in all", "of the processor"]
)
async def test_a_file_that_takes_too_long_is_no_fault_of_a_statement(
    snapshot: Snapshot, bound: Limits
) -> None:
    declared = {"weight": ColumnDeclaration("double")}

    async with WorkerPool(bound) as hasty:
        with pytest.raises(Rejected) as refused:
            await hasty.convert(CSV + b"1,2,3.5\n" * 900_000, declared)
    async with WorkerPool() as usual:
        assert await usual.convert(CSV, declared) == snapshot

    assert (refused.value.code, refused.value.field) == ("sql_timeout", "snapshot")
