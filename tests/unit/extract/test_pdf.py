"""The text of a PDF, its pages and the places of its lines, from files made by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.evidence.layout import Layout, page_of, rectangles
from chancery.evidence.manifest import build_manifest
from chancery.evidence.terms import terms
from chancery.extract.pdf import PAGE_SEPARATOR, read_pdf
from tests.unit.extract.files import lines, pdf_file, stream

_WORD = st.text("abcdefghijklmnopqrstuvwxyzäöüß", min_size=3, max_size=9)
_LINE = st.lists(_WORD, min_size=2, max_size=8).map(" ".join)
"""PDFium takes lines of a character or two for pieces of one line."""
_PAGE = st.lists(_LINE, max_size=5)


def _mapped(*bindings: bytes) -> bytes:
    """Return the map from character codes to Unicode."""
    return stream(
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange"
        b" <00> <FF> endcodespacerange %d beginbfchar %s endbfchar endcmap end end"
        % (len(bindings), b" ".join(bindings))
    )


def _read_mapped(text: str, *bindings: bytes) -> tuple[str, Layout]:
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>"
    data = pdf_file(lines(text), font=font, more=[_mapped(*bindings)])
    found, _, layout = read_pdf(data)
    return found, layout


@pytest.mark.req("CR-8")
@settings(max_examples=60, deadline=None)
@given(pages=st.lists(_PAGE, min_size=1, max_size=4).filter(any))
def test_every_line_stands_at_its_offsets_on_its_page(pages: list[list[str]]) -> None:
    text, starts, layout = read_pdf(pdf_file(*(lines(*page) for page in pages)))

    assert len(starts) == len(layout.pages) == len(pages)
    for number, (page, placed) in enumerate(zip(pages, layout.pages, strict=True), start=1):
        assert [text[start:end] for start, end, *_ in placed.lines] == page
        for start, end, *_ in placed.lines:
            assert page_of(starts, start) == number
            assert [each.page for each in rectangles(layout, start, end)] == [number]


@settings(max_examples=30, deadline=None)
@given(pages=st.lists(_PAGE, min_size=1, max_size=4).filter(any))
def test_pages_are_parted_by_an_empty_line_and_make_a_sound_manifest(
    pages: list[list[str]],
) -> None:
    text, starts, _ = read_pdf(pdf_file(*(lines(*page) for page in pages)))

    manifest = build_manifest(
        "key", 1, content_sha256="0" * 64, extractor="pdf/1", text=text, pages=starts
    )
    assert text == PAGE_SEPARATOR.join("\n".join(page) for page in pages if page)
    assert manifest.pages == starts


def test_a_range_over_two_lines_has_two_rectangles_below_each_other() -> None:
    text, _, layout = read_pdf(pdf_file(lines("first line", "second line")))

    upper, lower = rectangles(layout, text.index("line"), text.index("second") + 3)

    assert upper.page == lower.page == 1
    assert upper.bottom > lower.top
    assert 70 < upper.left < upper.right < 200


def test_columns_are_read_one_after_the_other() -> None:
    left, right = lines("left one", "left two"), lines("right one", "right two", left=320)

    text, _, layout = read_pdf(pdf_file(left + b" " + right))

    assert text == "left one\nleft two\nright one\nright two"
    (place,) = rectangles(layout, text.index("right one"), text.index("right two") - 1)
    assert place.left > 300


def test_lines_further_apart_than_most_are_paragraphs() -> None:
    heading, body = lines("A heading"), lines("Its text begins", "and goes on", "to here.", top=690)
    following = lines("Another one", "follows it.", top=640)

    text, _, layout = read_pdf(pdf_file(heading + b" " + body + b" " + following))

    assert text == (
        "A heading\n\nIts text begins\nand goes on\nto here.\n\nAnother one\nfollows it."
    )
    found = [text[start:end] for start, end, *_ in layout.pages[0].lines]
    assert found == [line for line in text.split("\n") if line]


def test_lines_that_are_all_far_apart_are_no_paragraphs() -> None:
    shown = b" ".join(lines(f"line number {n}", top=720 - 30 * n) for n in range(4))

    assert read_pdf(pdf_file(shown))[0].count("\n\n") == 0


def test_a_word_broken_at_a_line_end_is_joined_by_a_soft_hyphen() -> None:
    text, _, layout = read_pdf(pdf_file(lines("an exam-", "ple of it")))

    assert text == "an exam\u00adple of it"
    assert len(rectangles(layout, 0, len(text))) == 2
    assert len(rectangles(layout, text.index("ple"), len(text))) == 1
    assert terms(text) == ("example",)


def test_ligatures_are_their_letters() -> None:
    text, _ = _read_mapped("Ane of A", b"<41> <FB01>")

    assert text == "fine of fi"


def test_characters_beyond_the_first_plane_do_not_shift_the_lines_after_them() -> None:
    text, layout = _read_mapped("x B y", b"<42> <D83DDE00>")

    assert text == "x \U0001f600 y"
    assert layout.pages[0].lines[0][:2] == (0, 5)


def test_a_character_without_a_meaning_shows_as_unknown() -> None:
    text, _ = _read_mapped("x C y", b"<43> <0000>")

    assert text == "x \ufffd y"


def test_pages_without_text_begin_where_the_next_one_does() -> None:
    text, starts, _ = read_pdf(pdf_file(b"", lines("two"), b"", lines("four"), b""))

    assert text == "two\n\nfour"
    assert [page_of(starts, text.index(word)) for word in ("two", "four")] == [2, 4]
    assert all(one <= other for one, other in pairwise(starts))


def test_the_same_bytes_give_the_same_text_and_layout() -> None:
    data = pdf_file(lines("one", "two"), lines("three"))

    assert read_pdf(data) == read_pdf(data)
