"""The gate over quotations of every type bites on a shifted offset and on altered words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chancery.evidence.manifest import build_manifest
from chancery.execution.ports import SelectedQuote
from chancery.extract.extraction import Extraction
from chancery.extract.media import MARKDOWN
from chancery.kernel.canonical import sha256_hex
from chancery.retrieval.domain.entries import Pin, RevisionRef
from tests.quality.equality import Compared, Released, compare, differing, resolved
from tests.quality.kinds import KINDS, Kind, squeezed
from tests.quality.report import equality_figures
from tests.quality.shelf import Book, read_all

TEXT = (
    "The harbour master signs every permit in Oslo.\n\n"
    "Permits | fee < 40 | valid & stamped\n\n"
    "Renewals are paid in March, says the café's owner.\n"
)
QUOTE = "every permit"


def book_of(text: str) -> Book:
    manifest = build_manifest(
        "source-1", 1, content_sha256=sha256_hex(b""), extractor="text/1", text=text
    )
    pin = Pin(RevisionRef("source", "source-1", 1), manifest.extraction_sha256, manifest.sha256)
    return Book("permits", text, manifest, pin)


def selected(book: Book, start: int, end: int) -> SelectedQuote:
    return SelectedQuote("source-1", 1, book.manifest.parts[0].part_id, (start, end))


@pytest.mark.parametrize("shift", [-1, 1])
def test_the_gate_bites_on_a_shifted_offset(shift: int) -> None:
    book, start = book_of(TEXT), TEXT.index(QUOTE)
    right = resolved(book, selected(book, start, start + len(QUOTE)))
    shifted = replace(right, start=right.start + shift, end=right.end + shift)

    assert right == Released("permits", QUOTE, start, start + len(QUOTE))
    assert differing([right, shifted], {"permits": TEXT}) == [shifted]


def test_the_gate_bites_on_a_source_that_is_read_otherwise_the_second_time() -> None:
    right = Released("permits", QUOTE, TEXT.index(QUOTE), TEXT.index(QUOTE) + len(QUOTE))

    assert differing([right], {"permits": f"\ufeff{TEXT}"}) == [right]
    assert not differing([right], {"permits": TEXT})


def test_a_quotation_that_leaves_its_part_is_a_miss() -> None:
    book = book_of(TEXT)
    beyond = resolved(book, selected(book, 0, len(TEXT) + 1))

    assert beyond.text is None
    assert differing([beyond], {"permits": TEXT}) == [beyond]


@pytest.mark.parametrize(
    ("compared", "is_met"),
    [
        (Compared("PDF", 1, 3, 0, 0), True),
        (Compared("PDF", 1, 3, 1, 0), False),
        (Compared("PDF", 1, 3, 0, 1), False),
        (Compared("PDF", 1, 0, 0, 0), False),
    ],
)
def test_one_miss_or_none_released_misses_the_target(compared: Compared, *, is_met: bool) -> None:
    assert all(figure.is_met for figure in equality_figures([compared])) is is_met


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.media_type == MARKDOWN])
def test_words_that_the_file_does_not_have_are_found(kind: Kind, tmp_path: Path) -> None:
    def altered(text: str) -> bytes:
        return text.replace("Oslo", "Bergen").encode()

    question = "Who signs every permit?"
    false = compare(tmp_path / "a", replace(kind, write=altered), {"p": TEXT}, [question])
    true = compare(tmp_path / "b", kind, {"p": TEXT}, [question])

    assert (false.released, false.differing, false.foreign) == (1, 0, 1)
    assert (true.released, true.differing, true.foreign) == (1, 0, 0)


async def test_a_text_is_written_and_read_by_the_gate_without_a_change() -> None:
    found: dict[str, Extraction] = await read_all(MARKDOWN, {"p": KINDS[0].write(TEXT)})

    assert squeezed(found["p"].text) == squeezed(TEXT)
