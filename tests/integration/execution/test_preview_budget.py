"""The byte budget of previews is a setting of execution."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from chancery.execution.app import create_pool
from chancery.execution.settings import ExecutionSettings
from chancery.tabular.jobs import RowTable
from chancery.tabular.preview import BUDGET_BYTES_MAX, BUDGET_BYTES_MIN, PREVIEW_BYTES_MAX
from chancery.tabular.schema import TableSchema, column_of

pytestmark = [pytest.mark.integration, pytest.mark.req("CR-22")]

NOTES = RowTable(TableSchema("notes", (column_of("note", "VARCHAR"),)), (("n" * 3_000,),) * 50)


async def test_previews_are_cut_to_the_budget_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANCERY_PREVIEW_BYTES", "20000")
    async with create_pool(ExecutionSettings()) as pool:
        preview = await pool.query("SELECT note FROM notes", [NOTES])

    assert (len(preview.rows), preview.truncated, preview.bytes_max) == (6, True, 20_000)
    assert len(preview.canonical()) <= 20_000


def test_the_budget_has_a_default_and_bounds() -> None:
    assert ExecutionSettings().preview_bytes == PREVIEW_BYTES_MAX == 64 * 1024
    for bound in (BUDGET_BYTES_MIN, BUDGET_BYTES_MAX):
        assert ExecutionSettings(preview_bytes=bound).preview_bytes == bound
    for beyond in (BUDGET_BYTES_MIN - 1, BUDGET_BYTES_MAX + 1):
        with pytest.raises(ValidationError):
            ExecutionSettings(preview_bytes=beyond)
