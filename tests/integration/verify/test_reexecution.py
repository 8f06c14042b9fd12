"""A carried value is computed again by the real worker process."""

from __future__ import annotations

import pytest

from chancery.evidence.bundle import RowsRead
from chancery.kernel.canonical import parse_json
from chancery.tabular.preview import (
    BUDGET_BYTES_MAX,
    BUDGET_BYTES_MIN,
    PREVIEW_BYTES_MAX,
    PreviewForm,
    budget_of,
)
from chancery.tabular.tree import as_items, as_object
from chancery.verify.values import execute_in_duckdb
from chancery.verify.verify import verify_bundle
from tests.unit.verify import sealed

pytestmark = pytest.mark.integration


@pytest.mark.req("KO-4", "CR-22")
def test_the_bundles_value_is_verified_by_running_its_query_again() -> None:
    report = verify_bundle(sealed.bundle().to_bytes(), public_key=sealed.KEY.public_key)

    assert (report.exit_code, report.mismatches) == (0, ())


def test_the_stand_in_of_the_unit_tests_gives_the_bytes_of_the_real_worker() -> None:
    assert execute_in_duckdb(sealed.SQL, sealed.ROWS) == sealed.run_in_python(
        sealed.SQL, sealed.ROWS
    )


@pytest.mark.req("CR-22")
@pytest.mark.parametrize("budget", [BUDGET_BYTES_MIN, PREVIEW_BYTES_MAX, BUDGET_BYTES_MAX])
def test_a_query_is_cut_again_to_the_budget_that_its_preview_states(budget: int) -> None:
    notes = RowsRead(table="notes", columns=(("note", "VARCHAR"),), rows=(("n" * 3_000,),) * 60)

    made = execute_in_duckdb("SELECT note FROM notes", notes, form=PreviewForm(budget))

    preview = as_object(parse_json(made))
    assert (budget_of(preview), preview["truncated"]) == (budget, True)
    assert len(as_items(preview["rows"])) == min(50, (budget - 300) // 3_005)


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM read_text('/etc/hostname')", "DROP TABLE orders", "SELECT"]
)
def test_a_hostile_statement_in_a_bundle_is_a_mismatch_and_not_run(sql: str) -> None:
    full = sealed.bundle()
    proof = full.results[0].model_copy(update={"sql": sql})

    report = verify_bundle(full.model_copy(update={"results": (proof,)}).to_bytes())

    assert report.exit_code == 1
    assert "results[0]" in report.mismatches
    # Whether today's gate refuses what an earlier one took cannot be told here; it is not run.
    (executed,) = [each for each in report.checks if each.name == "execution[0]"]
    assert executed.verdict != "ok"


def test_hostile_rows_in_a_bundle_are_a_mismatch() -> None:
    full = sealed.bundle()
    rows = RowsRead(table="orders", columns=(("amount", "DECIMAL(10,2)"),), rows=(("x'); --",),))
    proof = full.results[0].model_copy(update={"rows": rows})

    report = verify_bundle(full.model_copy(update={"results": (proof,)}).to_bytes())

    assert {"results[0]", "execution[0]"} <= set(report.mismatches)
