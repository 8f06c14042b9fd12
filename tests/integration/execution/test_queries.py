"""SQL and schemas over the bus: hidden columns and rows are not there, errors are codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import JsonValue, TypeAdapter

from chancery.events.queries import DatasetSchema, QueryResult, RunQuery
from chancery.evidence.scope import ScopeEntry
from chancery.kernel.errors import NotFound, Rejected
from tests.integration.execution.world import HIGHEST, ORDERS, TOTAL, World, pinned

pytestmark = pytest.mark.integration

_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


async def query(world: World, sql: str, *entries: ScopeEntry) -> dict[str, JsonValue]:
    """Run a statement over datasets and return its result."""
    body = RunQuery(workspace_id="w", sql=sql, datasets=tuple(pinned(each) for each in entries))
    return _OBJECT.validate_json((await world.ask("sql", body, QueryResult)).json_text)


@pytest.mark.req("CR-23")
async def test_a_raw_result_has_its_provenance_and_is_no_verified_answer(world: World) -> None:
    orders = await world.dataset(TOTAL)

    result = await query(world, "select sum(amount) as total from orders", orders)

    assert result["rows"] == [["4000"]]
    assert result["verified_answer"] is False
    provenance = _OBJECT.validate_python(result["provenance"])
    (snapshot,) = TypeAdapter(list[dict[str, JsonValue]]).validate_python(provenance["snapshots"])
    assert (snapshot["dataset_id"], snapshot["snapshot"]) == ("orders", 1)
    assert snapshot["content_sha256"] == orders.content_sha256
    assert str(provenance["engine"]).startswith("duckdb/")
    assert "sum" in str(provenance["sql"]).casefold()


@pytest.mark.req("CR-23")
async def test_the_provenance_names_what_was_read_and_not_what_is_called_alike(
    world: World,
) -> None:
    orders = await world.dataset()
    alike = orders.model_copy(update={"id": "ORDERS", "key": "e" * 32, "revision": 2})

    async def read(sql: str) -> list[JsonValue]:
        result = TypeAdapter(dict[str, Any]).validate_python(await query(world, sql, orders, alike))
        return [each["dataset_id"] for each in result["provenance"]["snapshots"]]

    assert await read("select sum(id) from orders") == ["orders"]
    assert await read('select sum(id) from "ORDERS"') == ["ORDERS"]
    with pytest.raises(Rejected) as refused:
        await query(world, "select sum(id) from Orders", orders, alike)
    assert refused.value.code == "sql_ambiguous_table"


@pytest.mark.req("CR-23", "CR-27")
async def test_a_dataset_that_has_no_table_yet_is_told_to_who_may_see_it(world: World) -> None:
    orders = await world.dataset()
    nothing = {"extraction_sha256": None, "manifest_sha256": None, "state": "pending"}
    waiting = orders.model_copy(update={**nothing, "id": "later", "key": "e" * 32})
    alike = waiting.model_copy(update={"id": "ORDERS"})

    async def refusal(sql: str, *seen: ScopeEntry) -> tuple[str, str]:
        with pytest.raises(Rejected) as refused:
            await query(world, sql, orders, *seen)
        return refused.value.code, refused.value.detail

    shown = await refusal("select * from later", waiting)
    unseen, absent = await refusal("select * from later"), await refusal("select * from never")

    assert shown[0] == "sql_table_not_ready"
    assert '"later"' in shown[1]
    assert unseen[0] == "sql_unknown_table"
    assert unseen[1].replace("later", "never") == absent[1]
    assert (await refusal('select * from "ORDERS"', alike))[0] == "sql_table_not_ready"
    assert (await refusal("select * from Orders", alike))[0] == "sql_ambiguous_table"
    assert (await query(world, "select id from orders", orders, waiting, alike))["rows"]


@pytest.mark.req("CR-21", "CR-23", "CR-27")
async def test_a_label_repeats_a_text_of_a_published_measure_only_if_its_columns_are_visible(
    world: World,
) -> None:
    west = TOTAL.model_copy(update={"name": "western", "where": {"region": "west"}})
    east = HIGHEST.model_copy(update={"name": "eastern", "where": {"region": "east"}})
    orders = await world.dataset(west, east, hidden=("discount",), filters=(("id", (1,)),))

    async def eligible(region: str) -> bool:
        sql = f"select count(*) from orders where region = '{region}'"
        return '"eligible": true' in json.dumps(await query(world, sql, orders))

    asked = ("north", "west", "south", "east", "The merger is approved")
    assert [await eligible(each) for each in asked] == [True, True, False, False, False]


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    "sql",
    [
        "select discount from orders",
        'select "DISCOUNT" from orders',
        "select max(o.discount) from orders o",
        "select id from orders where discount > 5",
        "select id from orders order by discount",
    ],
)
async def test_a_hidden_column_can_be_named_nowhere(world: World, sql: str) -> None:
    hidden, open_ = await world.dataset(hidden=("Discount",)), await world.dataset()

    with pytest.raises(Rejected) as refused:
        await query(world, sql, hidden)
    allowed = await query(world, sql, open_)

    assert allowed["rows"]
    assert refused.value.code
    assert "20" not in refused.value.detail
    assert "Discount" not in refused.value.detail, "the spelling of the publisher"
    assert refused.value.detail.partition(": ")[2].strip('"') in sql


@pytest.mark.req("CR-27")
async def test_everything_is_what_the_caller_may_see(world: World) -> None:
    orders = await world.dataset(hidden=("discount",), filters=(("region", ("north",)),))

    result = await query(world, "select * from orders", orders)
    count = await query(world, "select count(*) from orders", orders)

    assert result["rows"] == [["1", "north", "1250"]]
    assert count["rows"] == [["1"]]


@pytest.mark.req("CR-27")
async def test_a_schema_tells_neither_hidden_columns_nor_the_number_of_hidden_rows(
    world: World,
) -> None:
    narrow = await world.dataset(hidden=("discount",), filters=(("region", ("north",)),))
    wide = await world.dataset()

    seen = await world.ask("schema", pinned(narrow), DatasetSchema)
    everything = await world.ask("schema", pinned(wide), DatasetSchema)

    assert [name for name, _ in seen.columns] == ["id", "region", "amount"]
    assert seen.rows < 2
    assert seen.statistics is not None
    assert [(each.name, each.count, each.maximum) for each in seen.statistics] == [
        ("id", 1, "1"),
        ("region", 1, "north"),
        ("amount", 1, "1250"),
    ]
    assert everything.statistics is not None
    assert [each.name for each in everything.statistics][-1] == "discount"
    assert [name for name, _ in everything.columns] == ["id", "region", "amount", "discount"]
    assert everything.rows == ORDERS.count(b"\n") - 1


async def test_a_snapshot_that_is_not_extracted_has_no_schema(world: World) -> None:
    orders = await world.dataset()
    pending = pinned(orders).model_copy(update={"extraction_sha256": None, "manifest_sha256": None})

    with pytest.raises(NotFound) as refused:
        await world.ask("schema", pending, DatasetSchema)

    assert refused.value.code == "not_extracted"


@pytest.mark.req("CR-23")
@pytest.mark.parametrize(
    "sql",
    [
        "drop table orders",
        "select * from read_csv('/etc/passwd')",
        "select * from elsewhere",
        "select 1; select 2",
        "select cast(region as integer) from orders",
    ],
)
async def test_a_refusal_is_a_code_and_quotes_nothing(world: World, sql: str) -> None:
    orders = await world.dataset()

    with pytest.raises(Rejected) as refused:
        await query(world, sql, orders)

    told = f"{refused.value.code} {refused.value.detail}"
    assert refused.value.code not in {"internal", "rejected"}
    assert _quotes_nothing(told, ["north", "south", "passwd", "1250"])


def _quotes_nothing(told: str, secrets: Sequence[str]) -> bool:
    return not any(secret in told for secret in secrets)
