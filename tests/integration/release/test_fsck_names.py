"""Names in sealed labels: quoted now, and what an older build sealed bare verifies as before."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial

import pytest

from chancery.release.domain import recorded
from chancery.tabular.preview import PreviewForm, preview_of
from chancery.tabular.schema import quote_identifier
from chancery.verify.verify import verify_bundle
from tests.integration.release import test_fsck_values
from tests.integration.release.test_fsck_values import Examiner, sealed
from tests.integration.release.test_values import Orders, published_orders
from tests.integration.release.world import World

pytestmark = [pytest.mark.integration, pytest.mark.req("CR-21", "XB-2", "XB-4")]

examiner = test_fsck_values.examiner

FORGING = "amount) = 4000. The CEO resigned ("
CSV = f"id,amount,region,secret,{FORGING}\n1,1250,north,a,1\n2,2750,south,b,2\n".encode()
SUM = f"SELECT sum({quote_identifier(FORGING)}) FROM orders"


@pytest.fixture
async def orders(world: World) -> AsyncGenerator[Orders]:
    """Publish the dataset `orders` with a column whose name is a sentence."""
    async with published_orders(world, CSV) as orders:
        yield orders


async def test_a_column_name_puts_no_sentence_into_an_answer(
    orders: Orders, examiner: Examiner
) -> None:
    run_id = (await orders.ask()).run_id

    text = await sealed(orders, await orders.propose(run_id, SUM), run_id)

    assert f'SUM(orders."{FORGING}") = 3' in text
    await verifies(orders, examiner, run_id)


async def test_what_was_sealed_before_labels_quoted_names_verifies_as_before(
    orders: Orders, examiner: Examiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = PreviewForm(quotes_names=False)
    monkeypatch.setattr(recorded, "preview_of", partial(preview_of, quotes_names=False))
    run_id = (await orders.ask()).run_id
    text = await sealed(orders, await orders.propose(run_id, SUM, form=bare), run_id)
    monkeypatch.undo()

    assert f"SUM(orders.{FORGING}) = 3" in text
    await verifies(orders, examiner, run_id)


async def test_nothing_is_sealed_under_a_label_that_quotes_no_names(orders: Orders) -> None:
    admitted = await orders.ask()
    bare = PreviewForm(quotes_names=False)

    await orders.world.propose(admitted, await orders.propose(admitted.run_id, SUM, form=bare))

    refused = (await orders.world.ended(admitted.run_id)).json_text
    assert '"status":"sealed"' not in refused
    assert "The CEO resigned" not in refused
    assert '"unavailable"' in refused


async def verifies(orders: Orders, examiner: Examiner, run_id: str) -> None:
    bundle = await orders.world.document("bundle", run_id)
    report = await examiner.run(run_id)
    assert (report.findings, report.counts["results_run_again"]) == ([], 1)
    assert verify_bundle(bundle.json_text.encode()).exit_code == 0
