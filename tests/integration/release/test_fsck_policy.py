"""Policy that moves between admission and cut: a clean denial or a clean pass, nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest

from chancery.authority.names import dataset_ref
from chancery.bus.load import Stored, StreamState
from chancery.events.authority import ColumnPolicy, RowFilter
from chancery.release.adapters.fsck_logs import StreamLogs
from chancery.release.adapters.fsck_rows import FsckRows
from chancery.release.adapters.reexecuting import Reexecuting
from chancery.release.domain.findings import Report
from chancery.release.handlers.fsck_values import CheckValues
from chancery.release.ports.fsck import Logs
from chancery.store.pool import connect as connect_database
from chancery.verify.verify import verify_bundle
from tests.integration.release import test_fsck_values
from tests.integration.release.test_fsck_values import (
    Examiner,
    asked_and_sealed,
    lying,
    only,
)
from tests.integration.release.test_values import Orders, declared, parse
from tests.integration.release.world import TENANT, WORKSPACE

pytestmark = [pytest.mark.integration, pytest.mark.req("XB-2", "CR-27", "KO-3")]

orders = test_fsck_values.orders
examiner = test_fsck_values.examiner

HIDDEN = ColumnPolicy(roles=("admin",))
STAR = "SELECT * FROM orders ORDER BY id"
BY_ALIAS = "SELECT amount AS secret, region FROM orders WHERE secret > 1000"
"""`secret` is the alias for as long as policy hides the column of that name."""


async def moved(
    orders: Orders, sql: str, *columns: str, filters: tuple[RowFilter, ...] = ()
) -> tuple[str, str]:
    """Admit a run, let policy hide exactly `columns`, seal; return the run and its outcome."""
    admitted = await orders.ask()
    value = await orders.propose(admitted.run_id, sql)
    policy = declared(dict.fromkeys(columns, HIDDEN))
    changed = policy.model_copy(update={"row_filters": filters})

    await orders.world.append(dataset_ref(WORKSPACE, "orders"), changed)
    await orders.world.propose(admitted, value)

    answer = parse((await orders.world.ended(admitted.run_id)).json_text)
    return admitted.run_id, str(answer.get("outcome") or answer["status"])


@pytest.mark.parametrize("sql", [STAR, BY_ALIAS, "SELECT count(*) FROM orders"])
async def test_a_column_that_is_revealed_before_the_cut_changes_no_verdict(
    orders: Orders, examiner: Examiner, sql: str
) -> None:
    run_id, status = await moved(orders, sql)
    bundle = await orders.world.document("bundle", run_id)

    report = await examiner.run(run_id)

    assert status == "sealed"
    assert (report.findings, report.unchecked) == ([], [])
    assert report.counts["results_run_again"] == 1
    assert verify_bundle(bundle.json_text.encode()).exit_code == 0


@pytest.mark.parametrize("sql", [STAR, BY_ALIAS])
async def test_a_column_that_is_hidden_before_the_cut_denies_what_read_it(
    orders: Orders, sql: str
) -> None:
    _, outcome = await moved(orders, sql, "secret", "region")
    assert outcome == "access_changing"


async def test_a_column_that_nothing_reads_may_be_hidden_before_the_cut(
    orders: Orders, examiner: Examiner
) -> None:
    run_id, status = await moved(orders, "SELECT sum(amount) FROM orders", "secret", "region")

    assert status == "sealed"
    assert (await examiner.run(run_id)).counts["results_run_again"] == 1


async def test_rows_that_are_hidden_before_the_cut_deny(orders: Orders) -> None:
    north = RowFilter(column="region", roles=("reader",), allowed=("north",))
    _, outcome = await moved(orders, "SELECT count(*) FROM orders", "secret", filters=(north,))
    assert outcome == "access_changing"


async def test_a_result_of_other_rows_is_found_whatever_policy_revealed(
    orders: Orders, examiner: Examiner
) -> None:
    lied, status = await moved(await lying(orders), STAR)

    code, where = only(await examiner.run(lied))

    assert status == "sealed"
    assert code == "result_differs"
    assert {"preview.rows", "carried_rows"} <= set(str(where["differs"]).split())


@dataclass(frozen=True, slots=True)
class Counting:
    """A log that counts how often each message of a subject is read."""

    inner: Logs
    reads: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])

    async def state(self, stream: str) -> StreamState:
        """Return the state."""
        return await self.inner.state(stream)

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """Return the message."""
        return await self.inner.at(stream, sequence)

    async def subject(self, stream: str, subject: str, after: int = 0) -> AsyncGenerator[Stored]:
        """Yield the messages."""
        async for stored in self.inner.subject(stream, subject, after):
            self.reads[subject, stored.sequence] += 1
            yield stored


async def test_an_examination_reads_each_event_of_a_dataset_once(orders: Orders) -> None:
    ref, world, report = dataset_ref(WORKSPACE, "orders"), orders.world, Report()
    for column in ("secret", "region", "secret"):
        await world.append(ref, declared({column: HIDDEN}))
        await asked_and_sealed(orders)
    counting = Counting(StreamLogs(world.bus))

    async with (
        connect_database(world.database.dsn("release"), name="test") as db,
        Reexecuting() as reexecute,
    ):
        await CheckValues(FsckRows(db), counting, world.blobs, reexecute).run(report, _silent)

    assert (report.findings, report.counts["results_run_again"]) == ([], 3)
    read = {at: times for (subject, at), times in counting.reads.items() if ref.id in subject}
    assert ref.subject(TENANT) in {subject for subject, _ in counting.reads}
    assert len(read) >= 5, "two declarations and a snapshot, then the three that moved policy"
    assert set(counting.reads.values()) == {1}


def _silent(check: str, done: int, total: int) -> None:
    assert (check, done <= total) == ("values", True)
