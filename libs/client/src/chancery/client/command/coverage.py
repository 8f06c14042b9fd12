"""Telling a person that not everything was searched, how much is missing and why."""

from __future__ import annotations

from chancery.client.command.output import tell_progress
from chancery.client.found import Coverage
from chancery.client.replies import Answer, WithheldAnswer


def tell_answer_coverage(answer: Answer) -> None:
    """Say what an answer or a refusal could not rest on; where no coverage is told, nothing."""
    if not isinstance(answer, WithheldAnswer) and answer.coverage is not None:
        tell_coverage(Coverage.model_validate(answer.coverage))


def tell_coverage(coverage: Coverage) -> None:
    """Say what is missing; of complete coverage nothing is said."""
    if coverage.state != "complete":
        tell_progress(incomplete_line(coverage))


def incomplete_line(coverage: Coverage) -> str:
    """Return how many of how many were searched, and of the others their states and reasons."""
    states = {
        "pending": coverage.pending,
        "failed": coverage.failed,
        "unavailable": coverage.unavailable,
    }
    line = f"{coverage.state}: {coverage.ready} of {coverage.eligible} searched"
    reasons = _counted(coverage.reasons)
    return f"{line}; {_counted(states)}" + (f" ({reasons})" if reasons else "")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)
