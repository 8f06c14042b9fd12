"""The raw query API behind its gateway: pages, provenance, and nothing that policy hides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from pydantic import JsonValue, TypeAdapter

from chancery.events.queries import PinnedRevision, RunQuery
from chancery.events.requests import Caller, Message, Request
from chancery.events.topology import abandoned_subject
from chancery.evidence.manifest import DatasetManifest
from chancery.execution.handlers.budget import Budget
from chancery.execution.handlers.cuts import Cuts
from chancery.execution.handlers.material import Budgets, Reading
from chancery.execution.handlers.questions import Questions
from chancery.execution.handlers.turns import TurnLimits, Turns
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.store.blobs import Blobs, open_blobs
from chancery.tabular.jobs import FIRST_PAGE, Limits, Page, Table
from chancery.tabular.pool import WorkerPool
from chancery.tabular.preview import Preview
from chancery.tabular.snapshot import convert_csv
from chancery.tabular.statistics import TableStatistics
from chancery.testkit.waiting import eventually

CSV = b"id,region,amount,margin\n" + b"".join(
    b"%d,%s,%d,%d\n" % (n, b"north" if n % 3 else b"south", n * 10, n) for n in range(120)
)
Filters = tuple[tuple[str, tuple[str | int | bool, ...]], ...]
RESULT = TypeAdapter(dict[str, JsonValue])


@dataclass(frozen=True, slots=True)
class Stage:
    """The raw query API of execution over one stored dataset."""

    questions: Questions
    extraction_sha256: str
    manifest_sha256: str
    size_bytes: int

    def over(self, questions: Questions) -> Stage:
        """Return the same dataset behind other limits."""
        return replace(self, questions=questions)

    def pinned(self, hidden: tuple[str, ...] = (), filters: Filters = ()) -> PinnedRevision:
        """Return the dataset as release authorises it."""
        return PinnedRevision(
            kind="dataset",
            key="k",
            id="orders",
            title="Orders",
            revision=1,
            content_sha256=sha256_hex(CSV),
            media_type="text/csv",
            size_bytes=len(CSV),
            state="ready",
            extraction_sha256=self.extraction_sha256,
            manifest_sha256=self.manifest_sha256,
            hidden_columns=hidden,
            row_filters=filters,
        )

    async def run(
        self,
        sql: str,
        *,
        hidden: tuple[str, ...] = (),
        filters: Filters = (),
        offset: int = 0,
        limit: int = 50,
        principal: str = "ada",
    ) -> dict[str, JsonValue]:
        """Run a statement and return the result, or the refusal as a problem tells it."""
        body = RunQuery(
            workspace_id="w",
            sql=sql,
            datasets=(self.pinned(hidden, filters),),
            offset=offset,
            limit=limit,
        )
        try:
            result = await self.questions.run_query(request_of(body, principal))
        except ChanceryError as error:
            return {"code": error.code, "detail": error.detail, "field": error.field}
        return RESULT.validate_json(result.json_text)


CALLER = Caller(tenant="acme", principal="ada", credential_id="c", proof="0" * 64)


B = TypeVar("B", bound=Message)


def request_of(body: B, principal: str = "ada") -> Request[B]:
    caller = CALLER.model_copy(update={"principal": principal})
    return Request[B](
        caller=caller, body=body, route="query", idempotency_key="i", request_sha256="0" * 64
    )


async def store(blobs: Blobs) -> tuple[str, str, int]:
    """Store the dataset as indexing does; return the hashes of Parquet and manifest, the size."""
    made = convert_csv(CSV, {})
    extraction = await blobs.put("acme", made.parquet)
    manifest = DatasetManifest(
        key="k",
        snapshot=1,
        content_sha256=sha256_hex(CSV),
        extraction_sha256=extraction,
        extractor="csv/1",
        rows=made.row_count,
        columns=tuple((each.name, each.duckdb_type) for each in made.columns),
        cards=(),
    )
    return extraction, await blobs.put("acme", manifest.to_bytes()), len(made.parquet)


@asynccontextmanager
async def open_stage(folder: Path) -> AsyncGenerator[Stage]:
    """Store the dataset in a folder and put the raw query API over it."""
    blobs = open_blobs(f"file://{folder}")
    stored = await store(blobs)
    async with WorkerPool() as pool:
        yield Stage(Questions(Reading(blobs, Cuts(pool)), pool), *stored)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with open_stage(tmp_path) as opened:
        yield opened


@pytest.mark.req("CR-23")
async def test_a_result_says_where_it_comes_from_and_that_it_is_no_answer(stage: Stage) -> None:
    result = await stage.run("select sum(amount) as profit, 42 as answer from orders")

    assert result["verified_answer"] is False
    assert result["rows"] == [["71400", "42"]]
    columns = result["columns"]
    assert isinstance(columns, list)
    assert columns[0] == {
        "name": "profit",
        "label": "SUM(orders.amount)",
        "type": "HUGEINT",
        "eligible": True,
        "reason": None,
    }
    assert isinstance(columns[1], dict)
    assert (columns[1]["eligible"], columns[1]["label"]) == (False, None)
    provenance = result["provenance"]
    assert isinstance(provenance, dict)
    assert str(provenance["engine"]).startswith("duckdb/")
    assert provenance["snapshots"] == [
        {
            "dataset_id": "orders",
            "snapshot": 1,
            "content_sha256": sha256_hex(CSV),
            "extraction_sha256": stage.extraction_sha256,
        }
    ]


@pytest.mark.req("CR-21", "CR-23")
async def test_prose_in_a_condition_is_answered_raw_and_is_in_no_label(stage: Stage) -> None:
    sql = "select count(*) from orders where region = '{}'"

    prose = await stage.run(sql.format("The merger is approved"))
    value = await stage.run(sql.format("north"))

    assert (prose["rows"], prose["verified_answer"]) == ([["0"]], False)
    assert prose["columns"] == [
        {
            "name": "count_star()",
            "label": None,
            "type": "BIGINT",
            "eligible": False,
            "reason": "label_text",
        }
    ]
    assert "COUNT(*) WHERE orders.region = 'north'" in str(value["columns"])


HIDDEN_PROBES = [
    "select {} from orders",
    "select orders.{} from orders",
    "select sum({}) from orders",
    "select id from orders where {} > 5",
    "select id from orders order by {}",
    "select id from orders group by id, {}",
    "select * exclude ({}) from orders",
    "select * replace (1 as {}) from orders",
    "select id, (select max({}) from orders) from orders",
    "select a.id from orders a join orders b using ({})",
    "select {}::integer from orders",
    "select error({}) from orders",
    "select x.{} from (select * from orders) x",
    "select id from orders x(id, {})",
    "select columns('{}') from orders",
    "select * from orders pivot (count(id) for {} in (1))",
]


@pytest.mark.req("CR-27")
@pytest.mark.parametrize("probe", HIDDEN_PROBES)
async def test_a_hidden_column_is_answered_byte_for_byte_as_one_that_does_not_exist(
    stage: Stage, probe: str
) -> None:
    hidden = await stage.run(probe.format("margin"), hidden=("Margin",))
    absent = await stage.run(probe.format("nought"), hidden=("Margin",))

    renamed = {**absent, "detail": str(absent["detail"]).replace('"nought"', '"margin"')}
    assert hidden == renamed
    assert "code" in hidden


@pytest.mark.req("CR-27")
async def test_a_star_and_a_count_keep_to_the_policy(stage: Stage) -> None:
    star = await stage.run("select * from orders limit 1", hidden=("margin",))
    whole = await stage.run("select * from orders limit 1")
    north: Filters = (("region", ("north",)),)
    counted = await stage.run("select count(*), max(id) from orders", filters=north)

    assert star["rows"] == [["0", "south", "0"]]
    assert whole["rows"] == [["0", "south", "0", "0"]]
    assert counted["rows"] == [["80", "119"]]


@pytest.mark.req("CR-27")
async def test_a_schema_counts_the_rows_that_the_caller_may_see(stage: Stage) -> None:
    cut_down = stage.pinned(("margin",), (("region", ("south",)),))

    whole = await stage.questions.read_schema(request_of(stage.pinned()))
    cut = await stage.questions.read_schema(request_of(cut_down))

    assert ([name for name, _ in whole.columns], whole.rows) == (
        ["id", "region", "amount", "margin"],
        120,
    )
    assert ([name for name, _ in cut.columns], cut.rows) == (["id", "region", "amount"], 40)
    assert whole.statistics is not None
    assert cut.statistics is not None
    assert [each.maximum for each in whole.statistics] == ["119", "south", "1190", "119"]
    assert [each.maximum for each in cut.statistics] == ["117", "south", "1170"]


@pytest.mark.req("CR-27")
async def test_statistics_are_computed_once_for_each_policy(stage: Stage) -> None:
    """The second time no process is needed; another policy has statistics of its own."""
    reading = stage.questions.reading
    north: Filters = (("region", ("north",)),)
    async with WorkerPool(concurrency=1) as pool:
        questions = Questions(reading, pool)
        asked = [stage.pinned(), stage.pinned(("margin",)), stage.pinned(filters=north)]
        first = [await questions.read_schema(request_of(each)) for each in asked]
    idle = Questions(reading, _NoSql(), remembered=questions.remembered)

    second = [await idle.read_schema(request_of(each)) for each in asked]
    unknown = await idle.read_schema(request_of(stage.pinned(("amount",))))

    assert second == first
    assert len({schema.model_dump_json(include={"statistics"}) for schema in first}) == 3
    assert unknown.statistics is None


class _NoSql:
    """A pool that answers nothing."""

    async def tables(self, sql: str) -> tuple[str, ...]:
        """Refuse."""
        raise Unavailable(sql)

    async def query(self, sql: str, tables: Sequence[Table], *, page: Page = FIRST_PAGE) -> Preview:
        """Refuse."""
        del tables, page
        raise Unavailable(sql)

    async def statistics(self, table: Table) -> TableStatistics:
        """Refuse."""
        raise Unavailable(table.schema.name)


@pytest.mark.req("CR-27")
async def test_a_schema_is_told_without_statistics_that_take_too_much(stage: Stage) -> None:
    north: Filters = (("region", ("north",)),)
    async with WorkerPool(Limits(memory_bytes=1024), concurrency=1) as pool:
        questions = Questions(stage.questions.reading, pool)
        whole = await questions.read_schema(request_of(stage.pinned()))
        with pytest.raises(ChanceryError) as refused:
            await questions.read_schema(request_of(stage.pinned(filters=north)))

    assert (whole.rows, whole.statistics) == (120, None)
    assert refused.value.code == "sql_resources", "the number of all rows is no way out"


async def test_a_dataset_that_is_not_ready_is_no_table(stage: Stage) -> None:
    pinned = stage.pinned().model_copy(update={"extraction_sha256": None, "state": "pending"})
    body = RunQuery(workspace_id="w", sql="select id from orders", datasets=(pinned,))

    with pytest.raises(ChanceryError) as refused:
        await stage.questions.run_query(request_of(body))

    assert refused.value.code == "sql_table_not_ready"


SLOW = (
    "select count(*) from orders a, orders b, orders c, orders d, orders e"
    " where a.id + b.id + c.id < d.id * e.id"
)
QUICK = "select sum(amount) from orders"


@pytest.mark.req("KO-3")
async def test_heavy_statements_of_one_principal_let_those_of_another_through(
    stage: Stage,
) -> None:
    """Eight at once: the first run until they are ended, the others are told to come back."""
    async with WorkerPool(Limits(query_s=6.0), concurrency=3) as pool:
        turns = Turns(TurnLimits(running=2, running_each=1, wait_s=3.0))
        crowded = stage.over(Questions(stage.questions.reading, pool, turns))
        async with asyncio.TaskGroup() as group:
            heavy = [group.create_task(crowded.run(SLOW)) for _ in range(8)]
            await _turn_of_the_loop()
            quick = [await crowded.run(QUICK, principal="bob") for _ in range(3)]
            assert not heavy[0].done(), "they did not have to end first"

    assert [each["rows"] for each in quick] == [[["71400"]]] * 3
    codes = sorted(str(task.result()["code"]) for task in heavy)
    assert codes == ["sql_timeout"] + 7 * ["sql_too_many_queries"]


async def test_a_statement_that_nobody_waits_for_any_more_is_ended(stage: Stage) -> None:
    async with WorkerPool(Limits(query_s=60.0), concurrency=1) as pool:
        short = stage.over(Questions(stage.questions.reading, pool, answer_s=2.0))
        await eventually(lambda: pool.spare_pid is not None)
        pid = pool.spare_pid
        assert pid is not None

        refused = await short.run(SLOW)
        await eventually(lambda: not psutil.pid_exists(pid))
        after = await stage.over(Questions(stage.questions.reading, pool)).run(QUICK)

    assert refused["code"] == "sql_busy"
    assert after["rows"] == [["71400"]]


@pytest.mark.req("KO-3")
async def test_snapshots_beyond_what_a_statement_may_load_are_refused(stage: Stage) -> None:
    reading, size_bytes = stage.questions.reading, stage.size_bytes
    large_enough = Budgets(small=Budget(1, 1), large=Budget(size_bytes, size_bytes))
    too_small = Budgets(small=Budget(1, 1), large=Budget(size_bytes, size_bytes - 1))

    async def ask(budgets: Budgets) -> dict[str, JsonValue]:
        questions = Questions(Reading(reading.blobs, reading.cuts, budgets), stage.questions.sql)
        return await stage.over(questions).run(QUICK)

    refused, answered = await ask(too_small), await ask(large_enough)

    assert (refused["code"], refused["field"]) == ("sql_input_too_large", "sql")
    assert answered["rows"] == [["71400"]]
    assert large_enough.large.free_bytes == too_small.large.free_bytes == size_bytes
    assert large_enough.small.free_bytes == 1


async def _turn_of_the_loop() -> None:
    """Let the other tasks go on."""
    turned = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turned.set_result, None)
    await turned


async def test_a_statement_whose_caller_has_gone_is_ended(stage: Stage) -> None:
    async with WorkerPool(Limits(query_s=60.0), concurrency=1) as pool:
        questions = Questions(stage.questions.reading, pool)
        pid = await eventually(lambda: pool.spare_pid)
        assert pid is not None
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(stage.over(questions).run(SLOW))
            await eventually(lambda: pool.spare_pid != pid)
            await questions.abandon(abandoned_subject("acme", "ada", "another key"))
            await questions.abandon(abandoned_subject("acme", "bob", "i"))
            assert len(questions.running) == 1
            await questions.abandon(abandoned_subject("acme", "ada", "i"))
        await eventually(lambda: not psutil.pid_exists(pid))

    assert asked.result()["code"] == "sql_abandoned"
    assert not questions.running
