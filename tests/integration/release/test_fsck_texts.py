"""What the texts of sealed labels rest on is found again, in the snapshot and in carried rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chancery.release.domain import recorded
from chancery.release.domain.findings import Report
from chancery.tabular.preview import PreviewForm
from chancery.verify.verify import verify_bundle
from tests.integration.release import test_fsck_values
from tests.integration.release.test_fsck_values import Examiner, only, sealed
from tests.integration.release.test_values import WHERE, Orders

pytestmark = [pytest.mark.integration, pytest.mark.req("XB-2", "XB-4", "KO-3")]

orders = test_fsck_values.orders
examiner = test_fsck_values.examiner

PROSE_ROWS = b"id,amount,region,secret\n1,1250,all is well,a\n2,2750,south,b\n"


@pytest.mark.req("CR-21")
async def test_what_the_texts_of_a_label_rest_on_is_found_again(
    orders: Orders, examiner: Examiner
) -> None:
    other = await orders.pool.convert(PROSE_ROWS, {})
    lied = replace(orders, parquet=other.parquet)

    async def examined(told: Orders, text: str) -> tuple[Report, int]:
        run_id = (await orders.ask()).run_id
        await sealed(orders, await told.propose(run_id, WHERE.format(text)), run_id)
        bundle = await orders.world.document("bundle", run_id)
        return await examiner.run(run_id), verify_bundle(bundle.json_text.encode()).exit_code

    for text in ("north", "west"):
        report, exit_code = await examined(orders, text)
        assert (report.findings, report.counts["results_run_again"], exit_code) == ([], 1, 0)
    report, _ = await examined(lied, "all is well")
    code, where = only(report)
    assert code == "result_differs"
    assert {"preview.label_texts", "value_ineligible"} <= set(str(where["differs"]).split())


@pytest.mark.req("CR-21", "XB-2")
async def test_rows_that_a_bundle_carries_disprove_a_text_that_they_do_not_have(
    orders: Orders,
) -> None:
    run_id = (await orders.ask()).run_id
    other = await orders.pool.convert(PROSE_ROWS, {})
    value = await replace(orders, parquet=other.parquet).propose(
        run_id, WHERE.format("all is well")
    )
    honest = await orders.propose(run_id, WHERE.format("all is well"))
    await sealed(orders, value.model_copy(update={"rows_sha256": honest.rows_sha256}), run_id)

    bundle = await orders.world.document("bundle", run_id)

    assert "execution[0]" in verify_bundle(bundle.json_text.encode()).mismatches


@pytest.mark.req("CR-21", "XB-2")
async def test_what_was_sealed_before_previews_told_of_their_texts_verifies_as_before(
    orders: Orders, examiner: Examiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_before(*_: object) -> tuple[()]:
        return ()

    monkeypatch.setattr(recorded, "grounded_texts", as_before)
    run_id = (await orders.ask()).run_id
    told = await orders.propose(run_id, WHERE.format("nowhere"), form=PreviewForm(texts=None))
    text = await sealed(orders, told, run_id)
    monkeypatch.undo()
    bundle = await orders.world.document("bundle", run_id)

    report = await examiner.run(run_id)

    assert "orders.region = 'nowhere'" in text
    assert (report.findings, report.counts["results_run_again"]) == ([], 1)
    assert verify_bundle(bundle.json_text.encode()).exit_code == 0
