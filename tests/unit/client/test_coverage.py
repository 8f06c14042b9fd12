"""What a person is told of evidence that was not searched."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from chancery.client.command.coverage import incomplete_line, tell_answer_coverage
from chancery.client.found import Coverage
from chancery.client.replies import RefusedAnswer, WithheldAnswer

COUNTS: dict[str, JsonValue] = {
    "state": "incomplete",
    "eligible": 6,
    "ready": 2,
    "pending": 1,
    "failed": 3,
    "unavailable": 0,
}
REASONS: dict[str, JsonValue] = {"encrypted": 2, "not_indexed_yet": 1, "truncated": 1}


@pytest.mark.req("CL-2")
def test_the_line_names_how_many_are_missing_and_why() -> None:
    told = Coverage.model_validate({**COUNTS, "reasons": REASONS})
    older = Coverage.model_validate(COUNTS)

    counts = "incomplete: 2 of 6 searched; 1 pending, 3 failed"
    assert incomplete_line(told) == f"{counts} (2 encrypted, 1 not_indexed_yet, 1 truncated)"
    assert incomplete_line(older) == counts


@pytest.mark.req("CL-2")
def test_a_refusal_says_it_and_a_complete_or_withheld_one_says_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refusal = RefusedAnswer(
        status="refused",
        run_id="run",
        outcome="insufficient_evidence",
        explanation="None.",
        coverage={**COUNTS, "reasons": REASONS},
    )
    complete = {**COUNTS, "state": "complete", "eligible": 2, "pending": 0, "failed": 0}

    tell_answer_coverage(refusal)
    told = capsys.readouterr()
    tell_answer_coverage(refusal.model_copy(update={"coverage": complete}))
    tell_answer_coverage(refusal.model_copy(update={"coverage": None}))
    tell_answer_coverage(WithheldAnswer(status="withheld", run_id="run", explanation="No."))

    assert "incomplete: 2 of 6 searched" in told.out + told.err
    assert "2 encrypted" in told.out + told.err
    silent = capsys.readouterr()
    assert silent.out + silent.err == ""
