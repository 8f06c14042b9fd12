"""The pages of a raw result over HTTP."""

from __future__ import annotations

import pytest

from chancery.client.workspace import Table
from tests.e2e.test_datasets import Reply, ask_sql, publish
from tests.e2e.world import World


@pytest.mark.req("CR-23")
async def test_pages_make_up_the_result_and_say_what_they_are_of(world: World) -> None:
    rows = "".join(f"{number},{number * number}\n" for number in range(1, 121))
    await publish(world, "squares", f"n,square\n{rows}".encode(), "text/csv", Table(title="S"))
    pinned = await world.reader.workspace(world.id).snapshot("squares", 1)
    sql = "SELECT n, square FROM squares ORDER BY n"
    found: list[list[str | None]] = []
    offset: int | None = 0
    pages: list[Reply] = []

    while offset is not None:
        page = await ask_sql(world.reader, world, sql, offset=offset, limit=50)
        pages.append(page)
        found += page.rows
        offset = page.page.next_offset

    assert found == [[str(number), str(number * number)] for number in range(1, 121)]
    assert [len(each.rows) for each in pages] == [50, 50, 20]
    assert [each.truncated for each in pages] == [True, True, False]
    assert len({each.preview_sha256 for each in pages}) == 3
    for each in pages:
        assert each.verified_answer is False
        assert each.provenance["snapshots"] == [
            {
                "dataset_id": "squares",
                "snapshot": 1,
                "content_sha256": pinned.content_sha256,
                "extraction_sha256": pinned.extraction_sha256,
            }
        ]
        assert each.provenance["engine"].startswith("duckdb/")
        assert each.provenance["sql"].startswith("SELECT")


@pytest.mark.req("CR-23")
async def test_the_last_page_that_may_be_asked_for_names_no_further_one(world: World) -> None:
    rows = "".join(f"{number}\n" for number in range(10_101))
    await publish(world, "long", f"n\n{rows}".encode(), "text/csv", Table(title="Long"))
    sql = "SELECT n FROM long ORDER BY n"

    before = await ask_sql(world.reader, world, sql, offset=9_950)
    last = await ask_sql(world.reader, world, sql, offset=before.page.next_offset or 0)
    rest = await ask_sql(world.reader, world, f"{sql} OFFSET 10050")

    assert (before.page.next_offset, before.page.ended_by) == (10_000, None)
    assert (last.rows[0], last.truncated) == (["10000"], True)
    assert (last.page.next_offset, last.page.ended_by) == (None, "offset_max")
    assert rest.rows == [[str(number)] for number in range(10_050, 10_100)]
