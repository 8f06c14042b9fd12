"""Datasets over HTTP: files of each kind, exact values, pages, provenance, answers that verify."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest
from pydantic import BaseModel, ConfigDict

from chancery.client.http import Ask, Chancery
from chancery.client.replies import SealedAnswer
from chancery.client.workspace import Table
from chancery.events.authority import ColumnPolicy, Measure
from chancery.tabular.formats import XLSX_TYPE
from chancery.verify.verify import verify_bundle
from tests.e2e.files import PARQUET_TYPE, parquet_of
from tests.e2e.world import World, send
from tests.unit.tabular.workbooks import workbook

TOTAL = Measure(name="total invoiced amount", aggregate="sum", column="amount")
CSV = b"id,amount\n1,1250.50\n2,2749.50\n"
SELECT = "SELECT * FROM (VALUES (1, 1250.50::DECIMAL(18,2)), (2, 2749.50)) t(id, amount)"
FILES: Mapping[str, Callable[[], bytes]] = {
    "text/csv": lambda: CSV,
    PARQUET_TYPE: lambda: parquet_of(SELECT),
    XLSX_TYPE: lambda: workbook([["id", "amount"], [1, 1250.5], [2, 2749.5]]),
}

VALUES = """
SELECT * FROM (VALUES
  (1, 12345678901234567890.12::DECIMAL(38,2), 9007199254740993::BIGINT,
   '99999999999999999999999999999999999999'::DECIMAL(38,0), 'NaN'::DOUBLE, DATE '2024-02-29',
   TIMESTAMP '1999-12-31 23:59:59.999999', TIMESTAMPTZ '2024-06-01 12:00:00+02', true, '',
   INTERVAL 3 DAY),
  (2, -0.10, -9223372036854775808, 0, 'Infinity', DATE '0001-01-01', TIMESTAMP '2000-01-01',
   TIMESTAMPTZ '2024-06-01 00:00:00+00', false, E'\u00fc"\\n', INTERVAL 1 MONTH),
  (3, NULL, NULL, NULL, '-Infinity', NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 0, 0, 1, -0.0, DATE '9999-12-31', TIMESTAMP '2000-01-01 00:00:00.5',
   TIMESTAMPTZ '1970-01-01 00:00:00+00', true, 'x', INTERVAL 0 DAY)
) t(id, price, big, wide, weight, day, moment, zoned, paid, words, span)
"""
WRITTEN = [
    ["1", "12345678901234567890.12", "9007199254740993", "9" * 38, "NaN", "2024-02-29",
     "1999-12-31T23:59:59.999999", "2024-06-01T10:00:00Z", "true", ""],
    ["2", "-0.10", "-9223372036854775808", "0", "Infinity", "0001-01-01",
     "2000-01-01T00:00:00", "2024-06-01T00:00:00Z", "false", '\u00fc"\n'],
    ["3", None, None, None, "-Infinity", None, None, None, None, None],
    ["4", "0.00", "0", "1", "0.0", "9999-12-31",
     "2000-01-01T00:00:00.500000", "1970-01-01T00:00:00Z", "true", "x"],
]  # fmt: skip


class Reply(BaseModel):
    """The reply to a raw query, with every field that it has."""

    model_config = ConfigDict(extra="forbid")

    class Column(BaseModel):
        """A column of the reply."""

        model_config = ConfigDict(extra="forbid")
        name: str
        label: str | None
        type: str
        eligible: bool
        reason: str | None

    class Page(BaseModel):
        """Which rows of the result these are."""

        offset: int
        limit: int
        next_offset: int | None
        ended_by: str | None

    columns: list[Column]
    rows: list[list[str | None]]
    truncated: bool
    page: Page
    preview_sha256: str
    verified_answer: bool
    provenance: dict[str, Any]


Bundle = dict[str, Any]


async def publish(world: World, name: str, data: bytes, media_type: str, table: Table) -> None:
    """Declare and publish a dataset."""
    await world.desk.declare_dataset(name, table)
    assert (await world.desk.publish_snapshot(name, data, media_type)).state == "ready"


async def ask_sql(client: Chancery, world: World, sql: str, **page: int) -> Reply:
    """Run a statement."""
    path = f"/v1/workspaces/{world.id}/query"
    response = await send(client, "POST", path, json={"sql": sql, **page})
    assert response.status_code == 200, response.text
    return Reply.model_validate_json(response.content)


async def refused(world: World, name: str, data: bytes, media_type: str) -> tuple[int, str, str]:
    """Publish a snapshot that is refused; return status, code and field."""
    path = f"/v1/workspaces/{world.id}/datasets/{name}/snapshots"
    headers = {"Content-Type": media_type}
    response = await send(world.publisher, "POST", path, content=data, headers=headers)
    told = response.json()
    return response.status_code, told["code"], told["field"]


@pytest.mark.req("KO-3", "KO-4", "CR-21", "CR-22", "XB-2")
@pytest.mark.parametrize("media_type", FILES)
async def test_a_table_is_published_queried_asked_and_verified(
    world: World, media_type: str
) -> None:
    data = FILES[media_type]()
    await publish(world, "invoices", data, media_type, Table(title="I", measures=(TOTAL,)))

    shown = await ask_sql(world.reader, world, "SELECT * FROM invoices ORDER BY id")
    handle = await world.reader.ask(
        world.id, Ask(question="What is the total invoiced amount?", mode="data")
    )
    answer = await world.reader.answer(handle)
    assert isinstance(answer, SealedAnswer)
    report = verify_bundle(await world.reader.bundle(handle.run_id))

    assert [[row[0], float(row[1] or 0)] for row in shown.rows] == [["1", 1250.5], ["2", 2749.5]]
    assert shown.columns[1].type.startswith("DECIMAL")
    citation = answer.citations[0]
    assert (citation.label, citation.dataset_id) == ("SUM(invoices.amount)", "invoices")
    assert float(citation.value or 0) == 4000
    assert (report.exit_code, report.mismatches) == (0, ())
    assert "results[0]" in {each.name for each in report.checks if each.verdict == "verified"}


def change_row(bundle: Bundle) -> None:
    bundle["results"][0]["rows"]["rows"][0][0] = "1250.51"


def change_statement(bundle: Bundle) -> None:
    bundle["results"][0]["sql"] = bundle["results"][0]["sql"].replace("sum", "max")


def change_label(bundle: Bundle) -> None:
    bundle["citations"][0]["label"] = "SUM(invoices.profit)"


def change_preview(bundle: Bundle) -> None:
    bundle["results"][0]["preview"]["rows"][0][0] = "4000.01"


@pytest.mark.req("XB-2", "XB-4")
async def test_whatever_is_changed_about_a_value_is_named(world: World) -> None:
    await publish(world, "invoices", CSV, "text/csv", Table(title="I", measures=(TOTAL,)))
    handle = await world.reader.ask(world.id, Ask(question="What is the total invoiced amount?"))
    bundle = await world.reader.bundle(handle.run_id)
    named: list[list[str]] = []

    for change in (change_row, change_statement, change_label, change_preview):
        forged: Bundle = json.loads(bundle)
        change(forged)
        report = verify_bundle(json.dumps(forged, ensure_ascii=False).encode())
        named.append(list(report.mismatches))
        assert report.exit_code == 1, change

    assert ["results[0]" in named[0], "results[0]" in named[1]] == [True, True]
    assert "citations" in named[2]
    assert "results[0]" in named[3]


@pytest.mark.req("CR-21", "CR-23", "KO-4")
async def test_an_alias_renames_nothing_and_a_constant_beside_a_sum_is_no_fact(
    world: World,
) -> None:
    data = b"id,amount\n1,1250\n2,2750\n"
    measure = Measure(name="profit", aggregate="sum", column="amount")
    await publish(world, "orders", data, "text/csv", Table(title="Orders", measures=(measure,)))

    raw = await ask_sql(
        world.reader, world, "SELECT sum(amount) AS profit, 42 AS answer FROM orders"
    )
    answer = await world.ask("What is the profit?")

    assert [(each.name, each.label, each.eligible) for each in raw.columns] == [
        ("profit", "SUM(orders.amount)", True),
        ("answer", None, False),
    ]
    assert raw.columns[1].reason == "constant"
    assert raw.rows == [["4000", "42"]]
    assert isinstance(answer, SealedAnswer)
    assert answer.text.endswith("[1] SUM(orders.amount) = 4,000")
    assert "profit" not in answer.model_dump_json()
    assert "42" not in answer.text


@pytest.mark.req("CR-22", "CR-23")
async def test_every_value_is_exact_and_the_same_query_gives_the_same_bytes(
    world: World,
) -> None:
    await publish(world, "values", parquet_of(VALUES), PARQUET_TYPE, Table(title="Values"))
    path = f"/v1/workspaces/{world.id}/query"
    body = {"sql": 'SELECT * EXCLUDE (span) FROM "values" ORDER BY id'}

    first = await send(world.reader, "POST", path, json=body)
    second = await send(world.publisher, "POST", path, json=body)
    shown = Reply.model_validate_json(first.content)

    assert first.content == second.content
    assert shown.rows == WRITTEN


@pytest.mark.req("CR-22", "CR-23")
async def test_nothing_null_and_zero_are_three_results(world: World) -> None:
    await publish(world, "values", parquet_of(VALUES), PARQUET_TYPE, Table(title="Values"))
    asked = (
        'SELECT id FROM "values" WHERE id > 9',
        'SELECT sum(price) FROM "values" WHERE id = 3',
        'SELECT sum(price) FROM "values" WHERE id = 4',
        'SELECT count(*) FROM "values" WHERE id > 9',
        'SELECT span::VARCHAR FROM "values" ORDER BY id',
    )

    rows = [(await ask_sql(world.reader, world, sql)).rows for sql in asked]
    carried = await send(
        world.reader,
        "POST",
        f"/v1/workspaces/{world.id}/query",
        json={"sql": 'SELECT span FROM "values"'},
    )

    assert rows[:4] == [[], [[None]], [["0.00"]], [["0"]]]
    assert rows[4] == [["3 days"], ["1 month"], [None], ["00:00:00"]]
    assert (carried.status_code, carried.json()["code"]) == (422, "sql_result_type")


@pytest.mark.req("CR-11")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"sql": "SELECT 1", "limit": 0}, "limit"),
        ({"sql": "SELECT 1", "limit": 51}, "limit"),
        ({"sql": "SELECT 1", "offset": -1}, "offset"),
        ({"sql": "SELECT 1", "offset": 10_001}, "offset"),
        ({"sql": "SELECT 1", "where": "id = 1"}, "where"),
        ({"sql": "SELECT 1", "filters": {"id": 1}}, "filters"),
        ({"sql": ""}, "sql"),
        ({}, "sql"),
    ],
)
async def test_what_a_query_does_not_take_is_refused_by_name(
    world: World, body: dict[str, object], field: str
) -> None:
    response = await send(world.reader, "POST", f"/v1/workspaces/{world.id}/query", json=body)

    assert (response.status_code, response.json()["field"]) == (422, field)


@pytest.mark.req("CR-21", "CR-27")
async def test_a_declared_type_is_kept_or_the_file_refused_by_its_field(world: World) -> None:
    types = {
        "code": ColumnPolicy(type="text"),
        "amount": ColumnPolicy(type="decimal(18,2)"),
        "day": ColumnPolicy(type="date"),
    }
    good = b"code,amount,day\n007,1.5,2024-02-29\n"
    await publish(world, "typed", good, "text/csv", Table(title="T", columns=types))
    schema = await world.reader.workspace(world.id).schema("typed")
    shown = await ask_sql(world.reader, world, "SELECT * FROM typed")

    parquet = parquet_of(
        "SELECT '7' AS code, 1.555::DECIMAL(18,3) AS amount, DATE '2024-01-01' AS day"
    )
    sheet = workbook([["code", "amount", "day"], ["7", "x", "date:45000"]])
    told = [
        await refused(world, "typed", b"code,amount,day\n7,1.555,2024-02-29\n", "text/csv"),
        await refused(world, "typed", b"code,amount,day\n7,1.5,2024-02-30\n", "text/csv"),
        await refused(world, "typed", b"code,amount\n7,1.5\n", "text/csv"),
        await refused(world, "typed", parquet, PARQUET_TYPE),
        await refused(world, "typed", sheet, XLSX_TYPE),
        await refused(world, "typed", b"PAR1 no", PARQUET_TYPE),
        await refused(world, "typed", b"<html>", "text/html"),
    ]

    assert schema.columns == (("code", "VARCHAR"), ("amount", "DECIMAL(18,2)"), ("day", "DATE"))
    assert shown.rows == [["007", "1.50", "2024-02-29"]]
    assert told == [
        (422, "csv_value_mismatch", "columns.amount.type"),
        (422, "csv_value_mismatch", "columns.day.type"),
        (422, "unknown_column", "columns.day"),
        (422, "parquet_value_mismatch", "columns.amount.type"),
        (422, "xlsx_value_mismatch", "columns.amount.type"),
        (422, "parquet_unreadable", "snapshot"),
        (415, "unsupported_media_type", "media_type"),
    ]


@pytest.mark.req("KO-3", "CL-13")
async def test_a_longer_file_is_the_next_snapshot_and_withholds_what_rested_on_the_last(
    world: World,
) -> None:
    table = Table(title="Orders", measures=(TOTAL,))
    await publish(world, "orders", b"id,amount\n1,1250\n", "text/csv", table)
    handle = await world.reader.ask(world.id, Ask(question="What is the total invoiced amount?"))
    before = await world.reader.answer(handle)

    second = await world.desk.publish_snapshot("orders", b"id,amount\n1,1250\n2,2750\n")
    again = await world.desk.publish_snapshot("orders", b"id,amount\n1,1250\n2,2750\n")
    after = await world.reader.answer(handle)
    shown = await ask_sql(world.reader, world, "SELECT sum(amount) FROM orders")
    first = await world.reader.workspace(world.id).snapshot("orders", 1)

    assert (before.status, after.status) == ("sealed", "withheld")
    assert (second.snapshot, again.snapshot) == (2, 2)
    assert shown.rows == [["4000"]]
    assert shown.provenance["snapshots"][0]["snapshot"] == 2
    assert (first.state, first.reason) == ("excluded", "superseded")


@pytest.mark.req("KO-3", "EV-14")
async def test_appended_rows_and_those_that_serve_are_the_next_snapshot(world: World) -> None:
    table = Table(title="Orders", measures=(TOTAL,))
    await world.desk.declare_dataset("orders", table)
    start = f"/v1/workspaces/{world.id}/datasets/orders/snapshots"

    async def append(content: bytes, key: str, media_type: str = "text/csv") -> httpx.Response:
        headers = {"Content-Type": media_type, "Idempotency-Key": key}
        path = f"{start}?mode=append"
        return await send(world.publisher, "POST", path, content=content, headers=headers)

    first = await append(b"id,amount\n1,1250\n", "first")
    second = await append(b"id,amount\n2,2750", "second")
    again = await append(b"id,amount\n2,2750", "second")
    both = await asyncio.gather(*(append(b"id,amount\n%d,1\n" % n, f"k{n}") for n in (3, 4)))
    other = await append(b"id,sum\n5,1\n", "other")
    sheet = await append(parquet_of("SELECT 1 AS id, 2 AS amount"), "sheet", PARQUET_TYPE)
    shown = await ask_sql(world.reader, world, "SELECT id, amount FROM orders ORDER BY id")
    answer = await world.ask("What is the total invoiced amount?")

    assert [each.status_code for each in (first, second, again)] == [201] * 3
    # Of two at a time the first may be superseded before it could be queried.
    assert {each.status_code for each in both} <= {201, 202}
    assert [each.json()["snapshot"] for each in (first, second, again)] == [1, 2, 2]
    assert sorted(each.json()["snapshot"] for each in both) == [3, 4]
    assert (other.status_code, other.json()["code"]) == (422, "csv_other_columns")
    assert (sheet.status_code, sheet.json()["code"]) == (422, "append_not_csv")
    assert shown.rows == [["1", "1250"], ["2", "2750"], ["3", "1"], ["4", "1"]]
    assert isinstance(answer, SealedAnswer)
    assert answer.citations[0].value == "4002"


async def test_who_may_not_publish_learns_nothing_by_appending(world: World) -> None:
    await publish(world, "orders", b"id,amount\n1,1\n", "text/csv", Table(title="Orders"))
    path = f"/v1/workspaces/{world.id}/datasets/orders/snapshots?mode=append"
    headers = {"Content-Type": "text/csv"}

    told = [
        await send(world.reader, "POST", path, content=content, headers=headers)
        for content in (b"id,amount\n2,2\n", b"id,other\n2,2\n", b"")
    ]

    assert len({(each.status_code, each.json()["code"]) for each in told}) == 1
    assert told[0].status_code in {403, 404, 422}
    assert (await ask_sql(world.reader, world, "SELECT * FROM orders")).rows == [["1", "1"]]
