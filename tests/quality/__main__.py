"""Measures the selection: `python -m tests.quality [DATA_FOLDER]`.

Exit code 0 when every target is met, 1 when one is missed, 3 without data.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from chancery.execution.domain.quoting import Limits
from chancery.extract.media import MARKDOWN
from tests.quality.data import DataSet, NoData, read_span_questions, read_xquad
from tests.quality.equality import Compared, compare
from tests.quality.kinds import KINDS
from tests.quality.report import (
    Figure,
    equality_figures,
    span_figures,
    table,
    to_json,
    xquad_figures,
)
from tests.quality.runs import Outcome, run_all
from tests.quality.shelf import fill_shelf, read_all

HOME: Final = Path(__file__).resolve().parents[2]
DATA: Final = HOME.parent / "shared" / "data"
RESULTS: Final = HOME / "bench-results" / "quality.json"
EXIT_MET, EXIT_MISSED, EXIT_NO_DATA = 0, 1, 3

WIDE: Final = Limits()
"""What is shipped: quotations of at most 600 characters."""

NARROW: Final = Limits(characters_max=300, context_characters=300, reach=0.0, lead=0.46)
"""For short answers: at most 300 characters, neighbours only where they score as high."""


def main(arguments: Sequence[str]) -> int:
    """Measure, print the table, write the JSON."""
    folder = Path(arguments[0]) if arguments else DATA
    try:
        spans, xquad = read_span_questions(folder), read_xquad(folder)
    except NoData as error:
        sys.stderr.write(f"quality: no data: {error}\n")
        return EXIT_NO_DATA
    figures = [
        *_measure(spans, WIDE, span_figures, withhold=False),
        *_measure(xquad, NARROW, xquad_figures, withhold=True),
        *equality_figures(_compare_all(spans, xquad)),
    ]
    sys.stdout.write(f"{table(figures)}\n")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(to_json(figures), indent=1) + "\n", encoding="utf-8")
    return EXIT_MET if all(one.is_met for one in figures) else EXIT_MISSED


def _measure(
    data: DataSet,
    limits: Limits,
    figures: Callable[[Sequence[Outcome]], list[Figure]],
    *,
    withhold: bool,
) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        files = {name: text.encode() for name, text in data.documents.items()}
        shelf = fill_shelf(Path(folder), asyncio.run(read_all(MARKDOWN, files)))
        return figures(run_all(shelf, data, limits, withhold=withhold))


def _compare_all(*data: DataSet) -> list[Compared]:
    """Return what came of every type, over all documents and all questions."""
    documents = {name: text for one in data for name, text in one.documents.items()}
    questions = [asked.text for one in data for asked in one.questions]
    compared: list[Compared] = []
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            compared.append(compare(Path(folder), kind, documents, questions))
    return compared


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
