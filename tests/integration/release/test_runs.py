"""Whole runs against the real service: the test plays retrieval and execution over the bus."""

from __future__ import annotations

import pytest

from tests.integration.release.world import World, parse

pytestmark = pytest.mark.integration

REVIEWS = "Service reviews are owned by Mara Lindt. The invoices are kept in euro.\n"
QUOTE = "Service reviews are owned by Mara Lindt."


@pytest.mark.req("KO-7")
async def test_a_proposed_quotation_is_sealed_with_its_rows(world: World) -> None:
    source = await world.publish_source("handbook", REVIEWS)

    run_id = await world.answer_with((source, QUOTE))

    document = await world.ended(run_id)
    answer = parse(document.json_text)
    assert document.status == "sealed", answer
    assert f"“{QUOTE}”" in str(answer["text"])
    rows = await world.rows(run_id)
    assert [row.event for row in rows.rows] == [
        "state",
        "state",
        "state",
        "state",
        "sealed",
        "end",
    ]
    assert rows.ended
    frame = parse(rows.rows[4].data)
    assert {**answer, "sequence": 5} == frame
