"""The pages of a raw result: together the whole of it, and no page names one that is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from chancery.events.queries import QUERY_OFFSET_MAX
from tests.integration.tabular.test_raw_queries import Stage, open_stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with open_stage(tmp_path) as opened:
        yield opened


@pytest.mark.req("CR-22", "CR-23")
async def test_pages_together_are_the_whole_result(stage: Stage) -> None:
    sql = "select id from orders order by amount desc"
    found: list[JsonValue] = []
    hashes: set[JsonValue] = set()
    offset: int | None = 0
    while offset is not None:
        page = await stage.run(sql, offset=offset, limit=50)
        rows, place = page["rows"], page["page"]
        assert isinstance(rows, list)
        assert isinstance(place, dict)
        found.extend(rows)
        hashes.add(page["preview_sha256"])
        following = place["next_offset"]
        assert following is None or isinstance(following, int)
        offset = following

    assert found == [[str(n)] for n in reversed(range(120))]
    assert len(hashes) == 3
    short = await stage.run(sql, offset=118, limit=1)
    assert (short["rows"], short["truncated"]) == ([["1"]], True)
    beyond = await stage.run(sql, offset=500)
    assert (beyond["rows"], beyond["truncated"]) == ([], False)


@pytest.mark.req("CR-23")
@pytest.mark.parametrize(
    ("offset", "limit", "following", "ended_by"),
    [
        (QUERY_OFFSET_MAX - 50, 50, QUERY_OFFSET_MAX, None),
        (QUERY_OFFSET_MAX - 1, 2, None, "offset_max"),
        (QUERY_OFFSET_MAX, 50, None, "offset_max"),
    ],
)
async def test_a_page_names_no_offset_that_would_be_refused(
    stage: Stage, offset: int, limit: int, following: int | None, ended_by: str | None
) -> None:
    page = await stage.run("select a.id from orders a, orders b", offset=offset, limit=limit)

    place = {"offset": offset, "limit": limit, "next_offset": following, "ended_by": ended_by}
    assert (page["page"], page["truncated"]) == (place, True)


@pytest.mark.req("CR-22", "CR-23")
async def test_a_row_that_no_page_can_carry_ends_the_pages(stage: Stage) -> None:
    wide = ", ".join(["region || region || region || region"] * 4)
    grown = f"with w as (select concat({wide}) as s from orders limit 1)"
    grown += "".join(
        f", w{n} as (select s || s || s || s as s from w{n - 1 if n else ''})" for n in range(6)
    )

    page = await stage.run(f"{grown} select s from w5")

    assert (page["rows"], page["truncated"]) == ([], True)
    place = {"offset": 0, "limit": 50, "next_offset": None, "ended_by": "row_too_large"}
    assert page["page"] == place
