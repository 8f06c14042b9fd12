"""From outcomes to figures, each beside its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from chancery.execution.domain.confidence import CONFIDENCE_MIN
from chancery.kernel.canonical import Json
from tests.quality.equality import Compared
from tests.quality.measures import below, mean, threshold_for
from tests.quality.runs import Outcome

CHOOSING_REFUSED_MIN = 0.92
"""The share of withheld questions that the threshold refuses on the half that chooses it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number; `least` and `most` are its targets, None where it is only told."""

    name: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def is_met(self) -> bool:
        """Tell whether the value reaches its targets."""
        low = self.least is None or self.value >= self.least
        return low and (self.most is None or self.value <= self.most)


def span_figures(outcomes: Sequence[Outcome]) -> list[Figure]:
    """Return the figures of span_questions."""
    answered = [one for one in outcomes if one.confidence >= CONFIDENCE_MIN]
    gathered = mean(one.gathered_recall for one in outcomes)
    return [
        Figure("span: needed text in the parts of 10 gathered passages", gathered, least=0.97),
        Figure("span: character recall", mean(one.recall for one in outcomes), least=0.80),
        Figure("span: character precision", mean(one.precision for one in outcomes), least=0.12),
        Figure("span: characters quoted", mean(one.quoted for one in outcomes)),
        Figure("span: refused at the shipped threshold", 1 - len(answered) / len(outcomes)),
        Figure("span: recall, refused counts as 0", _answered(outcomes, "recall")),
        Figure("span: recall of the answered", mean(one.recall for one in answered)),
        Figure("span: precision of the answered", mean(one.precision for one in answered)),
        Figure("span: milliseconds to select", mean(one.select_ms for one in outcomes)),
    ]


def xquad_figures(outcomes: Sequence[Outcome]) -> list[Figure]:
    """Return the figures of xquad; thresholds are chosen on one half of the articles."""
    articles = sorted({one.document for one in outcomes})
    first = set(articles[::2])
    halves = (
        [one for one in outcomes if one.document in first],
        [one for one in outcomes if one.document not in first],
    )
    return [
        Figure("xquad: answer inside a quotation", mean(one.in_any for one in outcomes), 0.93),
        Figure("xquad: answer inside the first", mean(one.in_first for one in outcomes), 0.83),
        Figure("xquad: inside a quotation, refused counts as 0", _answered(outcomes, "in_any")),
        Figure("xquad: characters quoted", mean(one.quoted for one in outcomes), most=450),
        *_refusal("xquad: first half chooses", halves[0], halves[1]),
        *_refusal("xquad: second half chooses", halves[1], halves[0]),
        *_refused_at("xquad: shipped threshold", outcomes, CONFIDENCE_MIN),
        Figure("xquad: milliseconds to select", mean(one.select_ms for one in outcomes)),
    ]


def equality_figures(compared: Sequence[Compared]) -> list[Figure]:
    """Return the hard gate by type: none released is missed, and every type has released some."""
    return [
        figure
        for one in compared
        for figure in (
            Figure(f"{one.kind}: documents published", one.documents),
            Figure(f"{one.kind}: quotations released", one.released, least=1),
            Figure(f"{one.kind}: quotations other than source[start:end]", one.differing, most=0),
            Figure(f"{one.kind}: quotations with words not in the file", one.foreign, most=0),
        )
    ]


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as lines of text."""
    return "\n".join(
        f"{'ok ' if one.is_met else 'LOW'}  {one.value:9.4f}  {_target(one):>10}  {one.name}"
        for one in figures
    )


def to_json(figures: Sequence[Figure]) -> Json:
    """Return the figures as JSON."""
    return [{**asdict(one), "met": one.is_met} for one in figures]


def _answered(outcomes: Sequence[Outcome], measure: Literal["recall", "in_any"]) -> float:
    """Return the mean of a measure as the shipped selector has it, which refuses some."""
    return mean(
        float(one.recall if measure == "recall" else one.in_any)
        if one.confidence >= CONFIDENCE_MIN
        else 0.0
        for one in outcomes
    )


def _refusal(name: str, choosing: Sequence[Outcome], told: Sequence[Outcome]) -> list[Figure]:
    threshold = threshold_for([one.withheld for one in choosing], CHOOSING_REFUSED_MIN)
    return [Figure(f"{name} the threshold", threshold), *_refused_at(name, told, threshold)]


def _refused_at(name: str, told: Sequence[Outcome], threshold: float) -> list[Figure]:
    withheld = below([one.withheld for one in told], threshold)
    answerable = below([one.confidence for one in told], threshold)
    return [
        Figure(f"{name}, refused with the article withheld", withheld, least=0.90),
        Figure(f"{name}, refused though answerable", answerable, most=0.05),
    ]


def _target(figure: Figure) -> str:
    if figure.least is not None:
        return f">= {figure.least:g}"
    return "" if figure.most is None else f"<= {figure.most:g}"
