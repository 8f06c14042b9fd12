"""Sealed statements run again in one pool, however many budgets their previews were cut to."""

from __future__ import annotations

import psutil
import pytest

from chancery.release.adapters.reexecuting import Reexecuting
from chancery.tabular.preview import BUDGET_BYTES_MIN, PreviewForm
from chancery.tabular.restricting import restricted_table
from chancery.tabular.snapshot import convert_csv

pytestmark = pytest.mark.integration

ROWS = b"name\n" + b"".join(b"%s%05d\n" % (b"n" * 1_000, number) for number in range(40))


@pytest.mark.req("KO-3", "XB-5")
async def test_many_byte_budgets_share_one_pool_and_each_is_kept() -> None:
    snapshot = convert_csv(ROWS, {})
    columns = tuple((each.name, each.duckdb_type) for each in snapshot.columns)
    table = restricted_table("staff", columns, snapshot.parquet, hidden=(), row_filters=())
    here = psutil.Process()
    budgets = [BUDGET_BYTES_MIN + 1_500 * step for step in range(5)]
    rows: list[int] = []
    async with Reexecuting() as reexecute:
        counts: list[int] = []
        for budget in budgets:
            again = await reexecute("SELECT name FROM staff", table, form=PreviewForm(budget))
            rows.append(len(again.preview.rows))
            counts.append(len(here.children()))
            assert len(again.preview.canonical()) <= budget

    assert rows == sorted(set(rows))
    assert max(counts) <= counts[0] + 1
