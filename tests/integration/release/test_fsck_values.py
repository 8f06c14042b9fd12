"""Sealed values, run again on their pinned snapshot: what execution said is not believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from chancery.authority.names import dataset_ref
from chancery.events.authority import ColumnPolicy, RowFilter
from chancery.events.run import ProposedValue
from chancery.evidence.bundle import RowsRead
from chancery.kernel.canonical import Json
from chancery.kernel.errors import NotFound, Rejected, Unavailable
from chancery.release.adapters.fsck_logs import StreamLogs
from chancery.release.adapters.fsck_rows import FsckRows
from chancery.release.app import Depth, examine
from chancery.release.domain.findings import Report
from chancery.release.domain.resealing import Again
from chancery.release.handlers import fsck_values
from chancery.release.handlers.fsck_values import CheckValues
from chancery.release.settings import ReleaseSettings
from chancery.store.pool import connect as connect_database
from chancery.tabular.jobs import Limits, Uncut
from chancery.tabular.pool import WorkerPool
from chancery.tabular.preview import (
    BUDGET_BYTES_MAX,
    BUDGET_BYTES_MIN,
    PREVIEW_BYTES_MAX,
    PreviewForm,
)
from chancery.tabular.restricting import Restricted
from chancery.verify.verify import verify_bundle
from tests.integration.release import test_values
from tests.integration.release.test_fsck import altered, path_of
from tests.integration.release.test_values import Orders, declared, parse
from tests.integration.release.world import TENANT, WORKSPACE

pytestmark = [pytest.mark.integration, pytest.mark.req("XB-2", "XB-4", "KO-3")]

orders = test_values.orders

SUM = "SELECT sum(amount) FROM orders"
LONGEST = "SELECT max(region) FROM orders"
OTHER_ROWS = b"id,amount,region,secret\n1,1,north,a\n2,2,south,b\n"
BIG = b"id,amount,region,secret\n" + b"".join(
    b"%d,1,%s%05d,a\n" % (number, b"r" * 1000, number) for number in range(5000)
)


WIDE = b"id,amount,region,secret\n" + b"".join(
    b"%d,1,%s,a\n" % (number, b"r" * 3_000) for number in range(1, 61)
)


@dataclass(frozen=True, slots=True)
class Examiner:
    """Examines the installation that a world is."""

    settings: ReleaseSettings

    async def __call__(self, depth: Depth) -> tuple[Report, list[Mapping[str, Json]]]:
        """Return the report and what was told."""
        lines: list[Mapping[str, Json]] = []
        return await examine(self.settings, depth, lines.append), lines

    async def run(self, run_id: str) -> Report:
        """Return the report on one run."""
        return (await self(Depth(run_id=run_id)))[0]


@pytest.fixture
def examiner(orders: Orders, nats_url: str, tmp_path: Path) -> Examiner:
    """Return the examiner of the installation in which the orders are."""
    return Examiner(
        ReleaseSettings(
            nats_url=nats_url,
            postgres_dsn=SecretStr(orders.world.database.dsn("release")),
            blobs_url=f"file://{tmp_path}",
        )
    )


async def sealed(orders: Orders, value: ProposedValue, run_id: str) -> str:
    """Seal a proposed value and return what the answer says."""
    admitted = await orders.world.admitted(run_id)
    await orders.world.propose(admitted, value)
    answer = parse((await orders.world.ended(run_id)).json_text)
    assert answer["status"] == "sealed"
    return str(answer["text"])


async def asked_and_sealed(orders: Orders, told: Orders | None = None) -> str:
    """Seal the sum of the orders as `told` (an execution that lies) has it; return the run."""
    run_id = (await orders.ask()).run_id
    await sealed(orders, await (told or orders).propose(run_id, SUM), run_id)
    return run_id


async def lying(orders: Orders) -> Orders:
    """Return an execution that runs over other rows than those of the pinned snapshot."""
    other = await orders.pool.convert(OTHER_ROWS, {})
    visible = tuple(each for each in other.columns if each.name != "secret")
    return replace(orders, parquet=other.parquet, table=replace(orders.table, columns=visible))


def only(report: Report) -> tuple[str, Mapping[str, str | int]]:
    """Return the code and place of the only finding."""
    (found,) = report.findings
    return found.code, found.where


async def test_an_honest_value_is_run_again_and_passes(orders: Orders, examiner: Examiner) -> None:
    run_id = await asked_and_sealed(orders)

    everything, lines = await examiner(Depth(deep=True, pending_s=600.0))
    shallow, _ = await examiner(Depth(pending_s=600.0))
    one = await examiner.run(run_id)

    assert (everything.findings, everything.unchecked, one.findings) == ([], [], [])
    assert everything.counts["results_run_again"] == one.counts["results_run_again"] == 1
    assert "results" not in shallow.counts
    assert any(line.get("check") == "values" for line in lines)


async def test_a_result_made_from_other_rows_is_named_by_run_and_result(
    orders: Orders, examiner: Examiner
) -> None:
    honest = await asked_and_sealed(orders)
    lied = await asked_and_sealed(orders, await lying(orders))
    bundle = await orders.world.document("bundle", lied)
    offline = verify_bundle(bundle.json_text.encode())

    report, _ = await examiner(Depth(deep=True, pending_s=600.0))

    code, where = only(report)
    assert (code, where["run_id"], where["result"]) == ("result_differs", lied, 0)
    assert str(where["differs"]).split() == ["preview", "preview.rows", "value", "carried_rows"]
    assert report.counts["results_run_again"] == 1
    assert (await examiner.run(honest)).findings == []
    assert only(await examiner.run(lied))[0] == "result_differs"
    # What the bundle carries fits together, and it says that this proves nothing of the snapshot.
    assert offline.exit_code == 0
    told = {check.name: check for check in offline.checks}["rows"]
    assert (told.verdict, told.inherent) == ("uncheckable", True)


async def test_carried_rows_that_only_give_the_same_result_are_named(
    orders: Orders, examiner: Examiner
) -> None:
    run_id = (await orders.ask()).run_id
    value = await orders.propose(run_id, SUM)
    false = RowsRead(table="orders", columns=(("amount", "BIGINT"),), rows=(("4000",), ("0",)))
    stored = await orders.world.blobs.put_run(TENANT, run_id, false.to_bytes())
    await sealed(orders, value.model_copy(update={"rows_sha256": stored}), run_id)

    code, where = only(await examiner.run(run_id))

    assert (code, where["differs"]) == ("result_differs", "carried_rows")


async def test_the_policy_of_the_cut_holds_not_the_one_of_today(
    orders: Orders, examiner: Examiner
) -> None:
    ref = dataset_ref(WORKSPACE, "orders")
    policy = {"secret": ColumnPolicy(roles=("admin",))}
    north = RowFilter(column="region", roles=("reader",), allowed=("north",))
    before = await asked_and_sealed(orders)
    await orders.world.append(ref, declared(policy).model_copy(update={"row_filters": (north,)}))
    beyond = await asked_and_sealed(orders)
    await orders.world.append(ref, declared(policy))

    honest, found = await examiner.run(before), await examiner.run(beyond)

    assert (honest.findings, honest.counts["results_run_again"]) == ([], 1)
    code, where = only(found)
    assert (code, where["run_id"]) == ("result_differs", beyond)
    assert "value" in str(where["differs"])
    assert "carried_rows" in str(where["differs"])


async def test_blobs_that_are_gone_or_altered_are_named(
    orders: Orders, examiner: Examiner, tmp_path: Path
) -> None:
    run_id = (await orders.ask()).run_id
    value = await orders.propose(run_id, SUM)
    await sealed(orders, value, run_id)
    rows = value.rows_sha256
    assert rows is not None
    pinned = {
        "snapshot": orders.manifest.extraction_sha256,
        "manifest": orders.manifest.sha256,
        "query": value.query_sha256,
        "preview": value.preview_sha256,
        "rows": rows,
    }

    for name, sha256 in pinned.items():
        path = path_of(tmp_path, sha256)
        kept = altered(path)
        damaged = only(await examiner.run(run_id))
        path.unlink()
        missing = only(await examiner.run(run_id))
        path.write_bytes(kept)
        assert (damaged[0], damaged[1]["blob"]) == ("result_blob_damaged", name)
        assert (missing[0], missing[1]["blob"]) == ("result_blob_missing", name)
    assert (await examiner.run(run_id)).findings == []


@pytest.fixture
def big(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish orders of which a query reads more than a bundle carries."""
    monkeypatch.setattr(test_values, "CSV", BIG)


@pytest.mark.usefixtures("big")
async def test_a_table_too_large_for_a_bundle_is_checked(
    orders: Orders, examiner: Examiner
) -> None:
    honest, lied = await orders.ask(), await orders.ask()
    other = await lying(orders)
    values: list[ProposedValue] = []
    for told, run_id in ((orders, honest.run_id), (other, lied.run_id)):
        made = Uncut(told.table, told.parquet)
        preview, rows = await told.pool.query_with_rows(LONGEST, made)
        assert (rows is None) == (told is orders)
        put = orders.world.blobs.put_run
        values.append(
            ProposedValue(
                key=orders.manifest.key,
                snapshot=1,
                query_sha256=await put(TENANT, run_id, preview.sql.encode()),
                preview_sha256=await put(TENANT, run_id, preview.canonical()),
                row=0,
                column=0,
            )
        )
    await sealed(orders, values[0], honest.run_id)
    await sealed(orders, values[1], lied.run_id)

    passed, found = await examiner.run(honest.run_id), await examiner.run(lied.run_id)

    assert (passed.findings, passed.unchecked) == ([], [])
    assert passed.counts["results_run_again"] == 1
    code, where = only(found)
    assert (code, where["differs"]) == ("result_differs", "preview preview.rows value")


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish orders whose first rows do not fit into every budget."""
    monkeypatch.setattr(test_values, "CSV", WIDE)


@pytest.mark.req("CR-22")
@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(
    ("budget", "rows"), [(BUDGET_BYTES_MIN, 5), (PREVIEW_BYTES_MAX, 21), (BUDGET_BYTES_MAX, 50)]
)
async def test_another_byte_budget_is_sealed_verified_and_examined(
    orders: Orders, examiner: Examiner, budget: int, rows: int
) -> None:
    run_id, beyond = (await orders.ask()).run_id, (await orders.ask()).run_id
    sql = "SELECT id, region FROM orders"
    async with WorkerPool(Limits(preview_bytes_max=budget), concurrency=1) as pool:
        told = replace(orders, pool=pool)
        last = (await told.propose(run_id, sql)).model_copy(update={"row": rows - 1})
        past = (await told.propose(beyond, sql)).model_copy(update={"row": rows})

    assert f"orders.id = {rows}" in await sealed(orders, last, run_id)
    await orders.world.propose(await orders.world.admitted(beyond), past)

    refused = parse((await orders.world.ended(beyond)).json_text)
    assert refused["outcome"] == "insufficient_evidence"
    bundle = await orders.world.document("bundle", run_id)
    assert verify_bundle(bundle.json_text.encode()).exit_code == 0
    assert (await examiner.run(run_id)).counts["results_run_again"] == 1


@dataclass(frozen=True, slots=True)
class Failing:
    """Runs nothing: always the same error."""

    error: Rejected | Unavailable

    async def __call__(self, sql: str, table: Restricted, *, form: PreviewForm) -> Again:
        """Raise the error."""
        assert (sql, table.schema.name, form.bytes_max) == (SUM, "orders", 64 * 1024)
        raise self.error


@pytest.mark.req("XB-5")
async def test_a_limit_of_this_machine_is_neither_a_pass_nor_a_finding(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await asked_and_sealed(orders)

    async def checked(error: Rejected | Unavailable) -> Report:
        report, world = Report(), orders.world
        async with connect_database(world.database.dsn("release"), name="test") as db:
            check = CheckValues(FsckRows(db), StreamLogs(world.bus), world.blobs, Failing(error))
            await check.run(report, _silent)
        return report

    for code in ("sql_timeout", "sql_resources"):
        report = await checked(Rejected("too slow", code=code))
        (left,) = report.unchecked
        assert (left.reason, left.where["run_id"], left.where["result"]) == (code, run_id, 0)
        assert report.findings == []
        assert "results_run_again" not in report.counts
    for code in ("sql_feature_row_order", "sql_lineage_disagrees", "sql_result_type"):
        narrower = await checked(Rejected("no more", code=code))
        assert [each.reason for each in narrower.unchecked] == ["gate_changed"]
        assert narrower.findings == []
    refused = await checked(Rejected("no such column", code="sql_unknown_column"))
    assert only(refused)[1]["differs"] == "sql_unknown_column"
    with pytest.raises(Unavailable, match="away"):
        await checked(Unavailable("away"))
    monkeypatch.setattr(fsck_values, "engine_name", lambda: "duckdb/9.9.9")
    elsewhere = await checked(Rejected("failed", code="sql_failed"))
    assert [each.reason for each in elsewhere.unchecked] == ["engine_changed"]
    assert elsewhere.findings == []


def _silent(check: str, done: int, total: int) -> None:
    assert (check, done <= total) == ("values", True)


async def test_another_engine_is_named_where_it_gives_something_else(
    orders: Orders, examiner: Examiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = await asked_and_sealed(orders)
    lied = await asked_and_sealed(orders, await lying(orders))
    monkeypatch.setattr(fsck_values, "engine_name", lambda: "duckdb/9.9.9")

    same, other = await examiner.run(honest), await examiner.run(lied)

    assert (same.unchecked, same.counts["results_run_again"]) == ([], 1)
    assert [each.reason for each in other.unchecked] == ["engine_changed"]
    assert other.findings == []


async def test_a_run_that_was_never_sealed_here_is_told(examiner: Examiner, orders: Orders) -> None:
    assert orders.manifest.rows == 2
    with pytest.raises(NotFound):
        await examiner.run("nobody-asked")
