"""Reading states costs what is read, also in tables that no statistics have been taken of yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from pydantic import JsonValue, TypeAdapter

from chancery.store.pool import Connection, connect
from chancery.store.queries import load_queries
from chancery.testkit.postgres import Database

pytestmark = pytest.mark.integration

THINGS = 1000
ROWS_PER_THING = 12
TENANT, WORKSPACE = "acme", "w"
KEYS = [f"key-{number:04}" for number in range(THINGS)]
SOURCES = ["source"] * THINGS
PLAN = TypeAdapter(list[dict[str, JsonValue]])
QUERIES = load_queries("chancery.release")

FILL = (
    """
    INSERT INTO release.checkpoint (projection, table_set, stream_created, digest)
    SELECT l.projection, l.table_set, clock_timestamp(), sha256('x')
    FROM release.live_set AS l
    WHERE l.projection = 'authority' AND length($1 || $2) + cardinality($3::text[]) > 0
    """,
    """
    INSERT INTO release.aggregate
        (tenant, table_set, kind, id, workspace_id, serving, published, sequence, event_type,
         event_id, payload_sha256, state)
    SELECT $1, l.table_set, 'source', k.id, $2, 1, k.number, k.number, 't', k.id, 'h', '{}'
    FROM release.live_set AS l, unnest($3::text[]) WITH ORDINALITY AS k (id, number)
    WHERE l.projection = 'authority'
    """,
    """
    INSERT INTO release.index_state
        (tenant, table_set, kind, key, revision, workspace_id, state, sequence,
         authority_sequence, entry)
    SELECT $1, l.table_set, 'source', k.id, 1, $2, 'ready', k.number, k.number, '{}'
    FROM release.live_set AS l, unnest($3::text[]) WITH ORDINALITY AS k (id, number)
    WHERE l.projection = 'index'
    """,
)
ALL_WITH_ALL = """
SELECT count(*) FROM release.aggregate AS a JOIN release.aggregate AS b ON a.published < b.sequence
"""
ARGUMENTS: Mapping[str, Sequence[object]] = {
    "read_states": (TENANT, SOURCES, KEYS),
    "read_states_and_later": (TENANT, SOURCES, KEYS, WORKSPACE, THINGS - 10),
    "read_states_at_cuts": (*map(",".join, ([TENANT] * THINGS, SOURCES, KEYS)), [TENANT], [1]),
    "read_workspace": (TENANT, WORKSPACE, ["source", "item"]),
    "read_resources": (TENANT, WORKSPACE, SOURCES, KEYS),
    "read_rows": (1, [TENANT] * THINGS, SOURCES, KEYS),
    "read_entries": (1, [TENANT] * THINGS, SOURCES, KEYS, [1] * THINGS),
}


def rows_touched(node: Mapping[str, JsonValue]) -> float:
    """Return how many rows a step of a plan and those below it looked at."""
    counts = [node.get("Actual Rows"), *(node[name] for name in node if "Rows Removed" in name)]
    loops = node["Actual Loops"]
    assert isinstance(loops, int | float)
    own = loops * sum(count for count in counts if isinstance(count, int | float))
    below = node.get("Plans", [])
    assert isinstance(below, list)
    return own + sum(rows_touched(each) for each in below if isinstance(each, dict))


async def touched(database: Connection, query: str, *arguments: object) -> float:
    """Return how many rows a statement looks at."""
    told = await database.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", *arguments)
    (plan,) = PLAN.validate_json(told) if isinstance(told, str) else PLAN.validate_python(told)
    found = plan["Plan"]
    assert isinstance(found, dict)
    return rows_touched(found)


@pytest.mark.parametrize("name", ARGUMENTS)
async def test_each_thing_is_looked_up_by_its_whole_key(database: Database, name: str) -> None:
    async with connect(database.superuser_dsn, name="test-plans") as connection:
        for statement in FILL:
            await connection.execute(statement, TENANT, WORKSPACE, KEYS)

        rows = await connection.fetch(QUERIES[name], *ARGUMENTS[name])
        looked_at = await touched(connection, QUERIES[name], *ARGUMENTS[name])
        compared = await touched(connection, ALL_WITH_ALL)

    assert len(rows) >= THINGS
    assert looked_at <= ROWS_PER_THING * THINGS
    assert compared > THINGS * THINGS / 4
