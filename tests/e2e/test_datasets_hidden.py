"""What policy hides of a dataset does not exist for whom it is hidden, on any route."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import pytest

from chancery.client.http import Ask, Chancery
from chancery.client.replies import SealedAnswer
from chancery.client.workspace import Table
from chancery.events.authority import ColumnPolicy, RowFilter
from chancery.kernel.ids import random_id
from chancery.testkit.servers import run_apart
from tests.e2e.files import PARQUET_TYPE, parquet_of
from tests.e2e.payroll import (
    ABSENT,
    HIDDEN,
    PLAIN,
    SECRETS,
    VISIBLE_CSV,
    WHOLE,
    WHOLE_CSV,
    ask_sql,
    publish_payroll,
    read,
)
from tests.e2e.running import System
from tests.e2e.world import World, make_world, send

NAMING = (
    "SELECT {c} FROM payroll",
    "SELECT payroll.{c} FROM payroll",
    'SELECT p."{c}" FROM payroll p',
    "FROM payroll SELECT {C}",
    "SELECT id FROM payroll WHERE {c} > 0",
    "SELECT id FROM payroll WHERE {c} IS NOT NULL",
    "SELECT id FROM payroll WHERE {c} = 7001",
    "SELECT id FROM payroll ORDER BY {c}",
    "SELECT count(*) FROM payroll GROUP BY {c}",
    "SELECT region FROM payroll GROUP BY region HAVING max({c}) > 0",
    "SELECT sum({c}) FROM payroll",
    "SELECT count({c}) FROM payroll",
    "SELECT amount + {c} FROM payroll",
    "SELECT upper({c}) FROM payroll",
    "SELECT {c}::DATE FROM payroll",
    "SELECT CASE WHEN {c} > 7001 THEN 1 ELSE 0 END FROM payroll",
    "SELECT 1 / ({c} - 7001) FROM payroll",
    "SELECT * EXCLUDE ({c}) FROM payroll",
    "SELECT * REPLACE (1 AS {c}) FROM payroll",
    "SELECT * RENAME ({c} AS x) FROM payroll",
    "SELECT * LIKE '{c}' FROM payroll",
    "SELECT COLUMNS('{c}') FROM payroll",
    "SELECT COLUMNS(c -> c = '{c}') FROM payroll",
    "SELECT COLUMNS(['{c}']) FROM payroll",
    "SELECT * FROM payroll PIVOT (sum({c}) FOR region IN ('north'))",
    "SELECT * FROM payroll PIVOT (count(id) FOR {c} IN (7001))",
    "PIVOT payroll ON {c} USING count(*)",
    "UNPIVOT payroll ON {c} INTO NAME n VALUE v",
    "SELECT payroll.name.{c} FROM payroll",
    "SELECT (payroll).{c} FROM payroll",
    "SELECT payroll['{c}'] FROM payroll",
    "SELECT struct_extract(payroll, '{c}') FROM payroll",
    "SELECT {c}.upper() FROM payroll",
    "SELECT main.payroll.{c} FROM payroll",
    "SELECT x FROM payroll AS p(x, {c})",
    "SELECT {c} FROM payroll AS p(id, name, region, amount, {c})",
    "SELECT rank() OVER (ORDER BY {c}) FROM payroll",
    "SELECT id FROM payroll QUALIFY row_number() OVER (PARTITION BY {c}) = 1",
    "SELECT sum(id) OVER w FROM payroll WINDOW w AS (ORDER BY {c})",
    "SELECT a.id FROM payroll a JOIN payroll b USING ({c})",
    "SELECT a.id FROM payroll a JOIN payroll b ON a.{c} = b.{c}",
    "SELECT id FROM (SELECT id, {c} FROM payroll)",
    "WITH x AS (SELECT {c} FROM payroll) SELECT count(*) FROM x",
    "SELECT (SELECT max({c}) FROM payroll)",
    "SELECT id FROM payroll WHERE EXISTS (SELECT {c})",
    "SELECT id FROM payroll WHERE id IN (SELECT {c} FROM payroll)",
    "SELECT id FROM payroll UNION ALL SELECT {c} FROM payroll",
    "SELECT id FROM payroll UNION ALL BY NAME SELECT {c} FROM payroll",
    "SELECT DISTINCT ON ({c}) id FROM payroll",
    "SELECT count(*) FILTER (WHERE {c} > 0) FROM payroll",
    "SELECT string_agg(name, ',' ORDER BY {c}) FROM payroll",
    "SELECT id FROM payroll LIMIT {c}",
    "SELECT id AS {c}, {c} + 1 FROM payroll",
    "SELECT amount AS {c} FROM payroll ORDER BY {c}",
    "SELECT '{c}' FROM payroll",
    "SELECT '{c}'::INTEGER FROM payroll",
    "SELECT mx({c}) FROM payroll",
    "CREATE MACRO mx() AS (SELECT max({c}) FROM payroll)",
    "FROM query('SELECT {c} FROM payroll')",
    "SELECT getvariable('{c}')",
    "SELECT id FROM {c}",
)
"""Every way to a column by its name; whether a way is allowed at all makes no difference."""

STARS = (
    "SELECT * FROM payroll",
    "SELECT p.* FROM payroll p",
    "SELECT * EXCLUDE (id) FROM payroll",
    "FROM payroll",
    "SELECT count(*), sum(amount), min(region), max(name) FROM payroll",
    "SELECT region, count(*) FROM payroll GROUP BY ALL ORDER BY region",
    "SELECT DISTINCT region FROM payroll ORDER BY region",
    "SELECT * FROM payroll a JOIN payroll b USING (id) ORDER BY 1",
    "SELECT id FROM payroll WHERE region = 'quagmire'",
    "SELECT 1 / (amount - 900) FROM payroll",
    "SELECT region::INTEGER FROM payroll",
    "SELECT payroll FROM payroll",
    "SELECT payroll::VARCHAR FROM payroll",
    "SELECT rowid FROM payroll",
    "SELECT COLUMNS(*) FROM payroll",
    "SELECT COLUMNS('.*') FROM payroll",
    "SELECT #5 FROM payroll",
    "SELECT id FROM payroll ORDER BY 5",
    "SELECT id FROM payroll ORDER BY ALL",
    "SELECT struct_pack(*COLUMNS(*)) FROM payroll",
    "DESCRIBE payroll",
    "SUMMARIZE payroll",
    "SHOW TABLES",
    "SELECT * FROM duckdb_columns()",
    "SELECT * FROM information_schema.columns",
    "SELECT a FROM payroll AS p(a, b, c, d, e)",
    "UNPIVOT payroll ON COLUMNS(*) INTO NAME n VALUE v",
    "SELECT * FROM payroll USING SAMPLE 100%",
    "TABLE payroll",
)
"""Statements that name nothing hidden and would meet it in the whole table."""

QUESTIONS = (
    "What is the total amount?",
    "What is the extra pay?",
    "What is the extra paid amount?",
    "How much bonus was paid in quagmire?",
)
VIEWS = ("", "/answer", "/audit", "/bundle", "/events")


@dataclass(frozen=True, slots=True)
class Pair:
    """A workspace whose table hides something, and one whose table has nothing to hide."""

    whole: World
    bare: World


@pytest.fixture(scope="module")
def published(system: System) -> tuple[str, str]:
    """Publish both tables, once for this module; return the two workspaces."""

    async def publish() -> tuple[str, str]:
        async with system.operator() as operator:
            names = (f"w-{random_id()[:8]}", f"w-{random_id()[:8]}")
            whole, bare = [await make_world(operator, name) for name in names]
            await asyncio.gather(
                publish_payroll(whole, WHOLE, WHOLE_CSV), publish_payroll(bare, PLAIN, VISIBLE_CSV)
            )
            return names

    return run_apart(publish())


@pytest.fixture
async def pair(system: System, published: tuple[str, str]) -> AsyncGenerator[Pair]:
    """Yield the two workspaces; a test leaves them as they were."""
    async with system.operator() as operator:
        yield Pair(*[await _again(operator, name) for name in published])


async def _again(operator: Chancery, name: str) -> World:
    roles = ("publisher", "reader", "stranger")
    clients = [
        operator.acting_with((await operator.issue_credential(f"{role}-{name}")).token)
        for role in roles
    ]
    return World(name, operator, *clients)


async def answers(
    client: Chancery, world: World, statements: Sequence[str]
) -> list[tuple[int, str]]:
    """Run statements, a few at a time."""
    turn = asyncio.Semaphore(4)

    async def one(sql: str) -> tuple[int, str]:
        async with turn:
            return await ask_sql(client, world, sql)

    return await asyncio.gather(*(one(sql) for sql in statements))


def naming(name: str) -> list[str]:
    """Return the statements that name a column of this name."""
    return [sql.format(c=name, C=name.upper()) for sql in NAMING]


@pytest.mark.req("CR-27", "KO-2")
async def test_a_hidden_column_is_answered_as_a_column_that_does_not_exist(pair: Pair) -> None:
    whole = pair.whole
    hidden = await answers(whole.reader, whole, naming(HIDDEN))
    absent = await answers(whole.reader, whole, naming(ABSENT))
    shown = await answers(whole.publisher, whole, naming(HIDDEN))

    # A name of the caller's own comes back as the caller wrote it.
    echoed = [
        (status, text.replace(HIDDEN, ABSENT).replace(HIDDEN.upper(), ABSENT.upper()))
        for status, text in hidden
    ]
    assert [
        (sql, one, other)
        for sql, one, other in zip(NAMING, echoed, absent, strict=True)
        if _unhashed(one) != _unhashed(other)
    ] == []
    assert not any(word in text for _, text in hidden for word in SECRETS[1:])
    reached = [sql for sql, one, own in zip(NAMING, hidden, shown, strict=True) if one != own]
    assert len(reached) >= 30, "who sees the column gets further with it"
    assert sum(status == 200 for status, _ in shown) >= 30


@pytest.mark.req("CR-27")
async def test_stars_and_whole_rows_reach_only_what_is_visible(pair: Pair) -> None:
    whole = await answers(pair.whole.reader, pair.whole, STARS)
    bare = await answers(pair.bare.reader, pair.bare, STARS)
    shown = await answers(pair.whole.publisher, pair.whole, STARS)

    assert [
        (sql, one, other)
        for sql, one, other in zip(STARS, whole, bare, strict=True)
        if _unhashed(one) != _unhashed(other)
    ] == []
    assert sum(status == 200 for status, _ in whole) >= 8
    assert [_preview(text) for _, text in whole] == [_preview(text) for _, text in bare]
    found = [
        (sql, word)
        for sql, (_, text) in zip(STARS, whole, strict=True)
        for word in SECRETS
        if word in _unhashed((0, text))[1] and word not in sql
    ]
    assert found == []
    everything = "".join(text for _, text in shown)
    assert [word for word in SECRETS if word not in everything] == []


@pytest.mark.req("CR-27")
async def test_the_routes_of_a_dataset_tell_a_reader_nothing_of_its_policy(pair: Pair) -> None:
    paths = [f"datasets/payroll{rest}" for rest in ("", "/schema", "/snapshots/1", "/snapshots/2")]
    told: list[list[str]] = []
    for world in (pair.whole, pair.bare):
        start = f"/v1/workspaces/{world.id}"
        told.append([await read(world.reader, world, f"{start}/{path}") for path in paths])
    shown = [
        await read(pair.whole.publisher, pair.whole, f"/v1/workspaces/{pair.whole.id}/{path}")
        for path in paths
    ]

    assert told[0] == told[1]
    assert not any(word in text for text in told[0] for word in (*SECRETS, "hidden_", "_filters"))
    assert HIDDEN in shown[0]
    assert HIDDEN in shown[1]
    assert '"rows":3' in shown[1]
    assert '"rows":2' in told[0][1]


@pytest.mark.req("CR-27", "CR-7", "KO-2")
@pytest.mark.parametrize("question", QUESTIONS)
async def test_no_view_of_a_run_tells_of_what_is_hidden(pair: Pair, question: str) -> None:
    told = [await _views(world.reader, world, question) for world in (pair.whole, pair.bare)]

    assert told[0] == told[1]
    assert not any(word in text for text in told[0] for word in SECRETS)


@pytest.mark.req("CR-27", "CR-21", "KO-4")
async def test_an_answer_counts_the_rows_that_its_reader_may_see(pair: Pair) -> None:
    values: list[str | None] = []
    for client in (pair.whole.reader, pair.whole.publisher):
        answer = await pair.whole.ask("What is the total amount?", client)
        assert isinstance(answer, SealedAnswer)
        values.append(answer.citations[0].value)
    extra = await pair.whole.ask("What is the extra pay?", pair.whole.publisher)

    assert values == ["350", "1250"]
    assert isinstance(extra, SealedAnswer)
    assert extra.text.endswith("[1] SUM(payroll.bonus) = 21,006")


@pytest.mark.req("CR-27")
async def test_why_a_snapshot_failed_is_told_to_who_may_publish(world: World) -> None:
    roles = ColumnPolicy(roles=("publisher",))
    await world.desk.declare_dataset("payroll", Table(title="P", columns={"no_such": roles}))
    path = f"/v1/workspaces/{world.id}/datasets/payroll/snapshots"

    refused = await send(
        world.publisher, "POST", path, content=WHOLE_CSV, headers={"Content-Type": "text/csv"}
    )
    shown = await send(world.publisher, "GET", f"{path}/1")
    told = await send(world.reader, "GET", f"{path}/1")
    asking = f"/v1/workspaces/{world.id}/search"
    found = await send(world.reader, "POST", asking, json={"query": "pay", "k": 3})
    answers = [
        await world.ask("What is the total amount?", client)
        for client in (world.reader, world.publisher)
    ]

    assert "'reasons': {'not_recorded': 1}" in repr(answers[0])
    assert "'reasons': {'policy_column_missing': 1}" in repr(answers[1])
    assert "policy_column_missing" not in found.text + repr(answers[0])
    assert (refused.status_code, refused.json()["code"]) == (422, "policy_column_missing")
    assert (shown.json()["state"], shown.json()["reason"]) == ("failed", "policy_column_missing")
    assert (told.json()["state"], told.json()["reason"]) == ("failed", None)


@pytest.mark.req("CR-27")
async def test_a_hidden_field_hides_the_whole_nested_column(world: World) -> None:
    hidden = {"st.priv": ColumnPolicy(roles=("publisher",))}
    await world.desk.declare_dataset("nested", Table(title="Nested", columns=hidden))
    parquet = parquet_of("SELECT 1 AS id, {'pub': 2, 'priv': 7001} AS st")
    await world.desk.publish_snapshot("nested", parquet, PARQUET_TYPE)
    asked = (
        "SELECT {s} FROM nested",
        "SELECT {s}.pub FROM nested",
        "SELECT nested.{s}.priv FROM nested",
        "SELECT {s}['priv'] FROM nested",
        "SELECT struct_extract({s}, 'priv') FROM nested",
        "SELECT id FROM nested ORDER BY {s}",
        "SELECT {s}::VARCHAR FROM nested",
        "SELECT count({s}) FROM nested",
    )

    told = await answers(world.reader, world, [sql.format(s="st") for sql in asked])
    absent = await answers(world.reader, world, [sql.format(s="zz") for sql in asked])
    shown = await answers(world.publisher, world, [sql.format(s="st") for sql in asked])
    schema = await world.reader.workspace(world.id).schema("nested")

    echoed = [(status, text.replace(r"\"st\"", r"\"zz\"")) for status, text in told]
    assert echoed == absent
    assert schema.columns == (("id", "INTEGER"),)
    assert shown[-1][0] == 200
    assert "7001" in shown[-2][1]


def _preview(text: str) -> str | None:
    """Return the hash over what is shown; of what is not shown nothing may be in it."""
    found = re.search(r'"preview_sha256":"([0-9a-f]{64})"', text)
    return found and found.group(1)


def _unhashed(answer: tuple[int, str]) -> tuple[int, str]:
    """Return an answer without the hashes of what it read, which differ with the file."""
    return answer[0], re.sub(r"[0-9a-f]{64}", "#", answer[1])


async def _views(client: Chancery, world: World, question: str) -> list[str]:
    handle = await client.ask(world.id, Ask(question=question))
    told = [await read(client, world, f"/v1/runs/{handle.run_id}{view}") for view in VIEWS]
    # What is only told of a stage may arrive beside its outcome, or too late to be told at all.
    frames = re.sub(r"id: ~\.\d+\n", "", told.pop()).split("\n\n")
    return [*told, *sorted(each for each in frames if "event: activity" not in each)]


@pytest.mark.req("CR-27")
async def test_a_publisher_is_told_which_columns_betray_hidden_rows_until_they_have_types(
    world: World,
) -> None:
    filters = (RowFilter(roles=("reader",), column="region", allowed=("north",)),)
    types = {"region": ColumnPolicy(type="text"), "cost": ColumnPolicy(type="decimal(18,4)")}
    tables = {
        "found": Table(title="F", row_filters=filters),
        "typed": Table(title="T", row_filters=filters, columns=types),
    }
    for name, table in tables.items():
        await world.desk.declare_dataset(name, table)
        csv = b"region,cost\nnorth,10\nsouth,30.1234\n"
        assert (await world.desk.publish_snapshot(name, csv)).state == "ready"
    told = {name: (await world.desk.schema(name)).types_from_all_rows for name in tables}
    seen = await world.reader.workspace(world.id).schema("found")
    shown = await ask_sql(world.reader, world, "SELECT cost FROM found")

    assert told == {"found": ("region", "cost"), "typed": ()}
    assert seen.types_from_all_rows is None
    assert "10.0000" in shown[1]
