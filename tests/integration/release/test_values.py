"""Values: release derives label and eligibility again and believes no preview."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from chancery.authority.names import dataset_ref, principal_ref
from chancery.events.authority import (
    ColumnPolicy,
    DatasetDeclared,
    MemberAdded,
    SnapshotPublished,
)
from chancery.events.index import RevisionExtracted, RevisionReady
from chancery.events.run import GatheredMeasure, ProposedValue, RunAdmitted
from chancery.evidence.bundle import Bundle, RowsRead
from chancery.evidence.manifest import DatasetManifest, MeasureCard
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import ChanceryError
from chancery.tabular.engine import engine_name
from chancery.tabular.jobs import RowTable, Uncut
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.pool import WorkerPool
from chancery.tabular.preview import PreviewForm
from chancery.tabular.schema import Column, TableSchema, column_of
from chancery.tabular.snapshot import Snapshot
from chancery.verify.verify import verify_bundle
from tests.integration.release.stage import KEY
from tests.integration.release.world import TENANT, WORKSPACE, World, parse

pytestmark = pytest.mark.integration

CSV = b"id,amount,region,secret\n1,1250,north,a\n2,2750,south,b\n"


@dataclass(frozen=True, slots=True)
class Orders:
    """A dataset that was published and indexed."""

    world: World
    pool: WorkerPool
    table: TableSchema
    parquet: bytes
    manifest: DatasetManifest

    def measure(self) -> GatheredMeasure:
        """Return the measure as retrieval gathers it."""
        return GatheredMeasure(
            key=self.manifest.key,
            snapshot=1,
            name="revenue",
            manifest_sha256=self.manifest.sha256,
        )

    async def propose(
        self,
        run_id: str,
        sql: str,
        *,
        column: int = 0,
        alter: tuple[bytes, bytes] = (b"", b""),
        form: PreviewForm | None = None,
    ) -> ProposedValue:
        """Play execution: run `sql`, store query, preview (altered) and rows, select a cell."""
        declared = tuple(card.sql for card in self.manifest.cards)
        table = Uncut(self.table, self.parquet, declared=declared)
        preview, rows = await self.pool.query_with_rows(sql, table, form=form)
        assert rows is not None
        read = rows_read(rows)
        blobs = self.world.blobs
        payload = preview.canonical().replace(*alter) if alter[0] else preview.canonical()
        return ProposedValue(
            key=self.manifest.key,
            snapshot=1,
            query_sha256=await blobs.put_run(TENANT, run_id, preview.sql.encode()),
            preview_sha256=await blobs.put_run(TENANT, run_id, payload),
            rows_sha256=await blobs.put_run(TENANT, run_id, read.to_bytes()),
            row=0,
            column=column,
        )

    async def ask(self) -> RunAdmitted:
        """Ask and gather the measure."""
        admitted = await self.world.admitted(await self.world.ask())
        await self.world.gather(admitted, measures=(self.measure(),))
        return admitted


@pytest.fixture
async def orders(world: World) -> AsyncGenerator[Orders]:
    """Publish the dataset `orders` whose column `secret` only admins see."""
    async with published_orders(world, CSV) as orders:
        yield orders


@asynccontextmanager
async def published_orders(world: World, rows: bytes) -> AsyncGenerator[Orders]:
    """Publish `rows` as the dataset `orders`, whose column `secret` only admins see."""
    ref = dataset_ref(WORKSPACE, "orders")
    await world.append(ref, declared({"secret": ColumnPolicy(roles=("admin",))}))
    content = await world.blobs.put(TENANT, rows)
    published = SnapshotPublished(
        snapshot=1, content_sha256=content, media_type="text/csv", size_bytes=len(rows)
    )
    sequence = await world.append(ref, published)
    async with WorkerPool(concurrency=1) as pool:
        snapshot = await pool.convert(rows, {})
        manifest = manifest_of(ref.id, snapshot, content)
        common = {
            "workspace_id": WORKSPACE,
            "kind": "dataset",
            "key": ref.id,
            "revision": 1,
            "content_sha256": content,
            "authority_sequence": sequence,
            "extraction_sha256": await world.blobs.put(TENANT, snapshot.parquet),
            "manifest_sha256": await world.blobs.put(TENANT, manifest.to_bytes()),
        }
        extracted = {**common, "extractor": "csv/1", "length": snapshot.row_count}
        await world.index(ref, RevisionExtracted.model_validate(extracted))
        await world.index(ref, RevisionReady.model_validate(common))
        visible = tuple(each for each in snapshot.columns if each.name != "secret")
        yield Orders(world, pool, TableSchema("orders", visible), snapshot.parquet, manifest)


def declared(columns: dict[str, ColumnPolicy]) -> DatasetDeclared:
    """Return the dataset's declaration with this column policy."""
    return DatasetDeclared(
        workspace_id=WORKSPACE,
        dataset_id="orders",
        title="Orders",
        visibility="workspace",
        declarer="anna",
        columns=columns,
    )


def manifest_of(
    key: str, snapshot: Snapshot, content_sha256: str = sha256_hex(CSV)
) -> DatasetManifest:
    """Return the manifest of the snapshot with its measures."""
    table = TableSchema("orders", snapshot.columns)
    measures = (
        Measure("revenue", "sum", "amount"),
        Measure("western", "sum", "amount", where={"region": "west"}),
        Measure("private", "sum", "amount", where={"region": "east", "secret": "a"}),
    )
    return DatasetManifest(
        key=key,
        snapshot=1,
        content_sha256=content_sha256,
        extraction_sha256=sha256_hex(snapshot.parquet),
        extractor="csv/1",
        rows=snapshot.row_count,
        columns=tuple((each.name, each.duckdb_type) for each in snapshot.columns),
        cards=tuple(_card(table, each) for each in measures),
    )


def _card(table: TableSchema, measure: Measure) -> MeasureCard:
    statement = measure_statement(table, measure)
    return MeasureCard(
        name=measure.name,
        label=statement.label,
        sql=statement.sql,
        aggregate="sum",
        column=measure.column,
    )


@pytest.mark.req("KO-4", "CR-22")
async def test_a_value_is_sealed_under_its_native_label_and_verifies(orders: Orders) -> None:
    admitted = await orders.ask()
    sql = "SELECT sum(amount) AS invented, 42 AS made_up FROM orders"

    await orders.world.propose(admitted, await orders.propose(admitted.run_id, sql))

    answer = parse((await orders.world.ended(admitted.run_id)).json_text)
    assert answer["status"] == "sealed"
    assert "SUM(orders.amount) = 4,000" in str(answer["text"])
    assert "invented" not in str(answer)
    bundle = await orders.world.document("bundle", admitted.run_id)
    report = verify_bundle(bundle.json_text.encode(), public_key=KEY.public_key)
    assert (report.exit_code, report.mismatches) == (0, ())


@pytest.mark.req("CR-27", "XB-4")
async def test_no_hash_is_told_that_a_guess_at_hidden_rows_and_columns_could_be_held_against(
    orders: Orders,
) -> None:
    admitted = await orders.ask()
    value = await orders.propose(admitted.run_id, "SELECT sum(amount) FROM orders")
    await orders.world.propose(admitted, value)
    await orders.world.ended(admitted.run_id)
    manifest = orders.manifest
    plain = {manifest.content_sha256, manifest.extraction_sha256, manifest.sha256}

    told = [
        (await orders.world.document(noun, admitted.run_id)).json_text
        for noun in ("answer", "audit", "bundle")
    ]

    assert [each for each in plain if any(each in text for text in told)] == []
    # The control: the snapshot is named in all the same, by commitments that fsck opens.
    (named,) = Bundle.from_json_text(told[2].encode()).receipt.core.sources
    assert (named.key, named.revision) == (manifest.key, manifest.snapshot)
    assert not plain & {named.content_sha256, named.extraction_sha256, named.manifest_sha256}


@pytest.mark.req("KO-2", "KO-4", "CR-21")
@pytest.mark.parametrize(
    ("sql", "column", "alter"),
    [
        ("SELECT sum(amount), 42 AS made_up FROM orders", 1, (b"", b"")),
        ("SELECT sum(amount) FROM orders", 3, (b"", b"")),
        ("SELECT sum(amount) FROM orders", 0, (b"SUM(orders.amount)", b"SUM(orders.profit)")),
        ("SELECT 42 AS made_up FROM orders", 0, (b'"eligible":false', b'"eligible":true')),
    ],
    ids=["synthetic", "outside", "other label", "forged eligibility"],
)
async def test_a_value_that_does_not_stand_up_refuses_the_answer(
    orders: Orders, sql: str, column: int, alter: tuple[bytes, bytes]
) -> None:
    admitted = await orders.ask()
    value = await orders.propose(admitted.run_id, sql, column=column, alter=alter)

    await orders.world.propose(admitted, value)

    answer = parse((await orders.world.ended(admitted.run_id)).json_text)
    assert answer["outcome"] == "insufficient_evidence"


WHERE = "SELECT sum(amount) FROM orders WHERE region = '{}'"


@pytest.mark.req("CR-21", "KO-2", "KO-4")
@pytest.mark.parametrize(("text", "stated"), [("north", "1,250"), ("west", "NULL")])
async def test_a_text_of_the_rows_or_of_a_published_measure_is_sealed_in_a_label(
    orders: Orders, text: str, stated: str
) -> None:
    admitted = await orders.ask()

    await orders.world.propose(admitted, await orders.propose(admitted.run_id, WHERE.format(text)))

    answer = parse((await orders.world.ended(admitted.run_id)).json_text)
    assert f"WHERE orders.region = '{text}' = {stated}" in str(answer["text"])
    bundle = await orders.world.document("bundle", admitted.run_id)
    report = verify_bundle(bundle.json_text.encode(), public_key=KEY.public_key)
    assert (report.exit_code, report.mismatches) == (0, ())


@pytest.mark.req("CR-21", "KO-2", "KO-4")
@pytest.mark.parametrize(
    ("text", "alter"),
    [
        ("The merger is approved", (b"", b"")),
        ("The merger is approved", (b'"basis":null', b'"basis":"declared"')),
        ("The merger is approved", (b'"basis":null', b'"basis":"rows"')),
        ("east", (b"", b"")),
    ],
    ids=["prose", "claims a measure", "claims rows", "of a measure that the role does not see"],
)
async def test_a_text_of_the_author_of_a_statement_is_never_sealed_in_a_label(
    orders: Orders, text: str, alter: tuple[bytes, bytes]
) -> None:
    admitted = await orders.ask()
    value = await orders.propose(admitted.run_id, WHERE.format(text), alter=alter)

    await orders.world.propose(admitted, value)

    answer = parse((await orders.world.ended(admitted.run_id)).json_text)
    assert answer["outcome"] == "insufficient_evidence"
    assert text not in str(answer)


@pytest.mark.req("CR-21", "KO-2")
async def test_a_result_that_does_not_tell_of_its_texts_is_unavailable_and_no_answer(
    orders: Orders,
) -> None:
    admitted = await orders.ask()
    told = b',"label_texts":[{"basis":null,"column":"region","literal":"\'prose\'"}]'
    silent = await orders.propose(admitted.run_id, WHERE.format("prose"), alter=(told, b""))

    await orders.world.propose(admitted, silent)

    answer = parse((await orders.world.ended(admitted.run_id)).json_text)
    assert answer["outcome"] == "unavailable"
    assert "prose" not in str(answer)


@pytest.mark.req("KO-3", "KO-8")
async def test_a_value_of_another_engine_is_unavailable_and_answered_when_asked_again(
    orders: Orders,
) -> None:
    """In a rolling upgrade execution may run another engine than the one that receipts can name."""
    world, admitted = orders.world, await orders.ask()
    run_id, sql = admitted.run_id, "SELECT sum(amount) FROM orders"
    value = await orders.propose(run_id, sql)

    await world.propose(admitted, value.model_copy(update={"engine": "duckdb/9.9.9"}))

    refused = parse((await world.ended(run_id)).json_text)
    assert (refused["status"], refused["outcome"]) == ("refused", "unavailable")
    run = parse((await world.document("run", run_id)).json_text)
    assert (run["state"], run["detail"], run["coverage"]) == ("refused", "engine_mismatch", None)
    await world.retry(run_id, key="again")
    again = await world.admitted(run_id, generation=2)
    await world.gather(again, measures=(orders.measure(),))
    await world.propose(again, value.model_copy(update={"engine": engine_name()}))
    assert parse((await world.ended(run_id)).json_text)["status"] == "sealed"


@pytest.mark.req("CR-27")
async def test_a_column_that_the_role_does_not_see_cannot_be_stated(orders: Orders) -> None:
    admitted = await orders.ask()
    hidden = Orders(
        orders.world,
        orders.pool,
        TableSchema("orders", (*orders.table.columns, *_secret(orders))),
        orders.parquet,
        orders.manifest,
    )
    value = await hidden.propose(admitted.run_id, "SELECT min(secret) FROM orders")

    await orders.world.propose(admitted, value)

    answer = parse((await orders.world.ended(admitted.run_id)).json_text)
    assert answer["outcome"] == "insufficient_evidence"
    scope = await orders.world.scope(admitted)
    assert scope.entries[0].hidden_columns == ("secret",)


@pytest.mark.req("CR-27", "CL-12")
async def test_a_field_that_is_hidden_later_withholds_the_answer(orders: Orders) -> None:
    admitted = await orders.ask()
    value = await orders.propose(admitted.run_id, "SELECT sum(amount) FROM orders")
    await orders.world.propose(admitted, value)
    assert (await orders.world.ended(admitted.run_id)).status == "sealed"
    hidden = declared({"amount": ColumnPolicy(roles=("admin",))})

    await orders.world.append(dataset_ref(WORKSPACE, "orders"), hidden)

    assert (await orders.world.document("answer", admitted.run_id)).status == "withheld"
    promoted = MemberAdded(workspace_id=WORKSPACE, role="admin")
    await orders.world.append(principal_ref("anna"), promoted)
    assert (await orders.world.document("answer", admitted.run_id)).status == "sealed"


@pytest.mark.req("CR-27")
async def test_recorded_rows_of_a_column_that_was_not_read_are_not_handed_out(
    orders: Orders,
) -> None:
    admitted = await orders.ask()
    value = await orders.propose(admitted.run_id, "SELECT sum(amount) FROM orders")
    hidden = TableSchema("orders", _secret(orders))
    rows = await orders.pool.rows(Uncut(hidden, orders.parquet))
    assert rows is not None
    stored = rows_read(rows).to_bytes()
    assert b"secret" in stored
    smuggled = await orders.world.blobs.put_run(TENANT, admitted.run_id, stored)

    await orders.world.propose(admitted, value.model_copy(update={"rows_sha256": smuggled}))

    assert (await orders.world.ended(admitted.run_id)).status == "sealed"
    with pytest.raises(ChanceryError) as refused:
        await orders.world.document("bundle", admitted.run_id)
    assert "secret" not in str(refused.value)


@pytest.mark.req("KO-2")
async def test_the_query_of_another_run_is_no_evidence_of_this_one(orders: Orders) -> None:
    first, second = await orders.ask(), await orders.ask()
    value = await orders.propose(first.run_id, "SELECT sum(amount) FROM orders")

    await orders.world.propose(second, value)
    await orders.world.propose(first, value)

    answer = parse((await orders.world.ended(second.run_id)).json_text)
    assert answer["outcome"] == "insufficient_evidence"
    assert (await orders.world.ended(first.run_id)).status == "sealed"


def rows_read(rows: RowTable) -> RowsRead:
    """Return the rows as execution stores them."""
    columns = tuple((each.name, each.duckdb_type) for each in rows.schema.columns)
    return RowsRead(table=rows.schema.name, columns=columns, rows=rows.rows)


def _secret(orders: Orders) -> tuple[Column, ...]:
    return tuple(
        column_of(name, duckdb_type)
        for name, duckdb_type in orders.manifest.columns
        if name == "secret"
    )
