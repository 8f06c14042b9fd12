"""A hidden column and one that does not exist are told in the same bytes, name and all."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chancery.events.queries import RunQuery
from chancery.kernel.errors import Rejected
from tests.integration.tabular import test_raw_queries
from tests.integration.tabular.test_raw_queries import (
    CSV,
    HIDDEN_PROBES,
    Stage,
    open_stage,
    request_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.req("CR-27")]

WITHOUT = b"".join(line.rsplit(b",", 1)[0] + b"\n" for line in CSV.splitlines())
"""The same rows without their last column, `margin`."""


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with open_stage(tmp_path / "with") as opened:
        yield opened


@asynccontextmanager
async def without_margin(folder: Path, patch: pytest.MonkeyPatch) -> AsyncGenerator[Stage]:
    """Open the same dataset as if its last column had never been published."""
    patch.setattr(test_raw_queries, "CSV", WITHOUT)
    async with open_stage(folder) as opened:
        yield opened


async def test_a_hidden_name_is_told_byte_for_byte_as_the_same_name_that_does_not_exist(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes = [each.format(name) for each in HIDDEN_PROBES for name in ("margin", "Margin")]
    async with without_margin(tmp_path / "without", monkeypatch) as bare:
        for probe in probes:
            hidden = await stage.run(probe, hidden=("margin",))

            assert hidden == await bare.run(probe), probe
            assert "code" in hidden

    named = await stage.run("select Margin from orders", hidden=("margin",))
    assert str(named["detail"]).endswith(' do not have: "Margin"')
    assert "rows" in await stage.run("select Margin from orders")


async def test_whoever_may_read_a_dataset_is_told_that_it_is_not_ready_yet(stage: Stage) -> None:
    pending = stage.pinned().model_copy(update={"extraction_sha256": None, "state": "pending"})
    told: list[tuple[str, str]] = []

    for datasets in ((pending,), ()):
        body = RunQuery(workspace_id="w", sql="select id from Orders", datasets=datasets)
        with pytest.raises(Rejected) as refused:
            await stage.questions.run_query(request_of(body))
        told.append((refused.value.code, refused.value.detail))

    assert [code for code, _ in told] == ["sql_table_not_ready", "sql_unknown_table"]
    assert all(detail.endswith(': "Orders"') for _, detail in told)
