"""What a caller who sees only some of a dataset is told in the place of its hashes."""

from __future__ import annotations

import hashlib

import pytest

from chancery.client.http import Chancery
from chancery.client.workspace import Table
from chancery.events.authority import ColumnPolicy, RowFilter
from tests.e2e.world import World, send

ROWS = b"region,amount,grade\nnorth,1250,7\nsouth,2750,3\n"
POLICIES = {
    "column": Table(title="W", columns={"grade": ColumnPolicy(roles=("publisher",))}),
    "rows": Table(
        title="W",
        row_filters=(RowFilter(column="region", roles=("reader",), allowed=("north",)),),
    ),
}


async def told(client: Chancery, world: World) -> list[str]:
    """Return all that the three routes say of the dataset that names its bytes."""
    base = f"/v1/workspaces/{world.id}"
    schema = await send(client, "GET", f"{base}/datasets/wages/schema")
    pinned = await send(client, "GET", f"{base}/datasets/wages/snapshots/1")
    body = {"sql": "SELECT sum(amount) FROM wages"}
    result = await send(client, "POST", f"{base}/query", json=body)
    used = result.json()["provenance"]["snapshots"][0]
    found = [schema.json()["dataset"], pinned.json(), used]
    names = ("content_sha256", "extraction_sha256", "manifest_sha256")
    return [each[name] for each in found for name in names if name in each]


@pytest.mark.req("CR-27", "CR-23")
@pytest.mark.parametrize("policy", POLICIES)
async def test_no_guess_at_what_is_hidden_can_be_held_against_a_hash(
    world: World, policy: str
) -> None:
    await world.desk.declare_dataset("wages", POLICIES[policy])
    published = await world.desk.publish_snapshot("wages", ROWS, "text/csv")
    assert published.state == "ready"

    whole, part = await told(world.publisher, world), await told(world.reader, world)

    assert hashlib.sha256(ROWS).hexdigest() in whole
    assert set(whole).isdisjoint(part)
    # They name the same snapshot, each time, by as many names.
    assert part == await told(world.reader, world)
    assert len(set(part)) == len(set(whole)) == 3
