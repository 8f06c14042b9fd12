"""A text of a statement stands in a label only when it is data of the caller, or was declared."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from chancery.kernel.canonical import parse_json
from chancery.tabular.jobs import RowFilter, Uncut
from chancery.tabular.pool import WorkerPool
from chancery.tabular.preview import PreviewForm, form_of, value_at
from chancery.tabular.reexecute import reexecute
from chancery.tabular.schema import TableSchema
from chancery.tabular.snapshot import convert_csv
from chancery.tabular.tree import as_object

CSV = b"id,region,amount,note\n1,north,1250,it's\n2,south,2750,\n3,,5,x\n"
NORTH = RowFilter("region", ("north",))
SUM = "select sum(amount) from orders where {}"

pytestmark = [pytest.mark.integration, pytest.mark.req("CR-21", "CR-22")]


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool() as opened:
        yield opened


def orders(*filters: RowFilter, declared: tuple[str, ...] = ()) -> Uncut:
    made = convert_csv(CSV, {})
    schema = TableSchema("orders", made.columns)
    return Uncut(schema, made.parquet, filters, is_whole=not filters, declared=declared)


@pytest.mark.parametrize(
    ("where", "grounded"),
    [
        ("region = 'The merger is approved'", False),
        ("region = 'north'", True),
        ("region = 'North'", False),
        ("region = 'north '", False),
        ("region = ''", False),
        ("region = 'it''s'", False),
        ("note = 'it''s'", True),
        ("region = 'north' and note = 'approved'", False),
        ("region = 'north' and note = 'it''s' and id = 1", True),
        ("region = 'north' and note = 'x'", True),
        ("id = 77", True),
    ],
)
async def test_a_label_repeats_a_text_only_when_its_column_has_it(
    pool: WorkerPool, where: str, grounded: bool
) -> None:
    preview = await pool.query(SUM.format(where), [orders()])

    (column,) = preview.columns
    assert len(preview.rows) == 1, "the raw query answers all the same"
    assert (column.eligible, column.reason) == (grounded, None if grounded else "label_text")
    assert (column.label is None) is not grounded


@pytest.mark.req("CR-27")
async def test_a_text_of_hidden_rows_is_judged_as_one_that_is_nowhere(pool: WorkerPool) -> None:
    async def judged(text: str, *filters: RowFilter) -> bytes:
        found = await pool.query(SUM.format(f"region = '{text}'"), [orders(*filters)])
        return found.canonical().replace(text.encode(), b"TEXT")

    assert await judged("south", NORTH) == await judged("nowhere", NORTH)
    assert b'"eligible":false' in await judged("south", NORTH)
    assert b'"eligible":true' in await judged("south")


async def test_a_published_measure_may_state_a_text_that_no_row_has(pool: WorkerPool) -> None:
    west, prose = SUM.format("region = 'west'"), SUM.format("region = 'all is well'")
    table = orders(declared=("SELECT count_star() FROM orders WHERE (region = 'west')",))

    stated, _ = await pool.query_with_rows(west, table)
    other, _ = await pool.query_with_rows(prose, table)
    cut = await pool.query(west, [replace(table, filters=(NORTH,), is_whole=False)])

    assert value_at(stated, 0, 0).label == "SUM(orders.amount) WHERE orders.region = 'west'"
    assert [each.basis for each in stated.texts] == ["declared"]
    assert other.columns[0].reason == "label_text"
    assert cut.columns[0].eligible


async def test_what_texts_rest_on_is_found_again_in_the_rows_that_a_bundle_carries(
    pool: WorkerPool,
) -> None:
    made, carried = await pool.query_with_rows(SUM.format("region = 'north'"), orders())
    assert carried is not None
    form = form_of(as_object(parse_json(made.canonical())))
    nowhere = replace(carried, rows=carried.rows[1:])

    assert reexecute(made.sql, [carried], form=form) == made
    assert not reexecute(made.sql, [nowhere], form=form).columns[0].eligible


async def test_a_result_of_an_older_build_comes_out_again_as_it_was(pool: WorkerPool) -> None:
    old = PreviewForm(texts=None)

    made, carried = await pool.query_with_rows(SUM.format("region = 'nowhere'"), orders(), form=old)

    assert carried is not None
    assert b"label_texts" not in made.canonical()
    assert made.columns[0].eligible
    assert reexecute(made.sql, [carried], form=old) == made
    assert not (await pool.query(made.sql, [orders()])).columns[0].eligible
