"""Text of a PDF that no reader of the page sees is no text; its twin, which is seen, is."""

from __future__ import annotations

import pytest

from chancery.evidence.layout import rectangles
from chancery.extract.pdf import read_pdf
from chancery.kernel.errors import Rejected
from tests.unit.extract.files import HELVETICA, numbered, pdf_file, stream

pytestmark = pytest.mark.req("CR-8")

PICTURE = (
    b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8"
    b" /ColorSpace /DeviceGray /Length 1 >>\nstream\n\x80\nendstream"
)
STATES = b"<< /clear << /ca 0 /CA 0 >> /pale << /ca 0.5 >> >>"


def page(content: bytes, *, boxes: bytes = b"", form: bytes = b"") -> bytes:
    """Return a PDF of one page that may paint the picture `/P`, the form `/F` and be clear."""
    resources = (
        b"<< /Font << /F1 3 0 R >> /XObject << /P 6 0 R /F 7 0 R >> /ExtGState %s >>" % STATES
    )
    head = b"<< /Type /XObject /Subtype /Form /BBox [0 0 2000 2000] /Resources %s" % resources
    return numbered(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [4 0 R] >>",
            HELVETICA,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] %s /Contents 5 0 R"
            b" /Resources %s >>" % (boxes, resources),
            stream(content),
            PICTURE,
            head + stream(form).removeprefix(b"<<"),
        ]
    )


def shown(
    text: str, before: str = "", *, left: int = 72, top: int = 650, size: float = 10
) -> bytes:
    """Return a text with the operators that stand before it."""
    return f"q BT /F1 {size} Tf {before} {left} {top} Td ({text}) Tj ET Q ".encode()


SEEN = shown("first", top=700) + shown("last", top=100)
SCAN = b"q 500 0 0 700 50 50 cm /P Do Q "
DARK = b"q 0 0 0.4 rg 60 640 300 30 re f Q "
PALE = b"q 1 1 1 rg 60 640 300 30 re f Q "


@pytest.mark.parametrize(
    "hidden",
    [
        shown("gone", "3 Tr"),
        shown("gone", "7 Tr"),
        shown("gone", size=0),
        shown("gone", size=0.2),
        shown("gone", "0.01 0 0 0.01 0 0 Tm"),
        shown("gone", left=700),
        shown("gone", left=-200),
        shown("gone", top=-40),
        shown("gone", "/clear gs"),
        shown("gone", "1 Tr /clear gs"),
        shown("gone", "2 Tr /clear gs"),
        shown("gone", "1 1 1 rg"),
        shown("gone", "1 g"),
        shown("gone", "0 0 0 0 k"),
        shown("gone", "1 Tr 1 G"),
        shown("gone", "2 Tr 1 g 1 G"),
        PALE + shown("gone", "1 g"),
        DARK + shown("gone", "1 g", top=600),
        SCAN.replace(b"700 50 50", b"80 50 600") + shown("gone", "3 Tr", top=300),
    ],
)
def test_what_is_not_seen_is_no_text(hidden: bytes) -> None:
    text, _, layout = read_pdf(page(SEEN + hidden))

    assert text.split() == ["first", "last"]
    assert [text[start:end] for start, end, *_ in layout.pages[0].lines] == ["first", "last"]


@pytest.mark.parametrize(
    "seen",
    [
        shown("kept"),
        shown("kept", "1 Tr"),
        shown("kept", "2 Tr 1 g"),
        shown("kept", "0.9 g"),
        shown("kept", "/pale gs"),
        shown("kept", size=1),
        shown("kept", "12 0 0 12 72 650 Tm", left=0, top=0, size=1),
        DARK + shown("kept", "1 g"),
        DARK.replace(b"q ", b"q /pale gs ", 1) + shown("kept", "1 g"),
        SCAN + shown("kept", "1 g"),
        SCAN + shown("kept", "3 Tr"),
        SCAN + shown("kept", "/clear gs"),
        shown("kept", "3 Tr") + SCAN,
        DARK + shown("kept", "7 Tr"),
    ],
)
def test_what_is_seen_is_text(seen: bytes) -> None:
    assert set(read_pdf(page(SEEN + seen))[0].split()) == {"first", "last", "kept"}


def test_the_words_of_a_scanned_page_are_its_text() -> None:
    """They are rendered invisibly over its picture, which may be in a form with a place."""
    words = shown("scanned", "3 Tr", top=700) + shown("words", "3 Tr", top=600)

    assert read_pdf(page(SCAN + words))[0].split() == ["scanned", "words"]
    assert read_pdf(page(b"/F Do " + words, form=SCAN))[0].split() == ["scanned", "words"]
    assert read_pdf(page(b"/F Do", form=SCAN + words))[0].split() == ["scanned", "words"]
    moved = b"q 0.5 0 0 0.5 0 300 cm /F Do Q "
    assert read_pdf(page(moved + words, form=SCAN))[0].split() == ["words"]


def test_text_of_a_form_is_judged_where_it_stands() -> None:
    form = shown("inside", "3 Tr") + shown("white", "1 g", top=600) + shown("kept", top=500)

    assert set(read_pdf(page(SEEN + b"/F Do", form=form))[0].split()) == {"first", "last", "kept"}
    away = b"q 1 0 0 1 1000 0 cm /F Do Q"
    assert read_pdf(page(SEEN + away, form=form))[0].split() == ["first", "last"]


def test_what_is_cropped_away_is_no_text() -> None:
    boxes = b"/CropBox [0 0 612 680]"

    assert set(read_pdf(page(SEEN + shown("kept"), boxes=boxes))[0].split()) == {"kept", "last"}


def test_a_line_keeps_what_is_seen_of_it_at_its_place() -> None:
    line = b"BT /F1 10 Tf 72 650 Td (seen ) Tj 3 Tr (hidden ) Tj 0 Tr (again) Tj ET "
    text, _, layout = read_pdf(page(line))

    assert text == "seen again"
    whole, (left,) = rectangles(layout, 0, len(text)), rectangles(layout, 0, 4)
    assert len(whole) == 1
    assert whole[0].left == left.left
    assert whole[0].right > 150


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"(un) Tj 3 Tr (hidden) Tj 0 Tr (seen) Tj", "un seen"),
        (b"3 Tr (hidden ) Tj 0 Tr (seen) Tj", "seen"),
        (b"(seen) Tj 3 Tr ( hidden) Tj", "seen"),
        (b"(seen) Tj 3 Tr 90 0 Td (hidden) Tj 0 Tr 90 0 Td (again) Tj", "seen again"),
    ],
)
def test_words_around_what_is_not_seen_stand_apart(line: bytes, text: str) -> None:
    assert read_pdf(page(b"BT /F1 10 Tf 72 650 Td %s ET" % line))[0] == text


def test_a_word_whose_rest_is_not_seen_is_not_joined_with_the_next_line() -> None:
    lines = b"(an exam-) Tj 3 Tr T* (ple of it) Tj 0 Tr T* (that goes on) Tj"

    text, *_ = read_pdf(page(b"BT /F1 10 Tf 12 TL 72 650 Td %s ET" % lines))

    assert "ple of it" not in text
    assert text.endswith("\nthat goes on")


def test_a_page_of_very_many_shapes_keeps_its_white_text_and_is_read_in_time() -> None:
    """Maps and drawings: whether a label stands on one of them is not asked; what is tiny is."""
    shapes = b"0 0 0.4 rg " + b"9 9 3 3 re f " * 5_001
    labels = b"".join(shown("label", "1 g", top=700 - n) for n in range(0, 600, 2))

    text, *_ = read_pdf(page(shapes + labels + shown("gone", size=0.2)))

    assert set(text.split()) == {"label"}
    few = b"0 0 0.4 rg " + b"9 9 3 3 re f " * 4_000
    assert read_pdf(page(SEEN + few + shown("gone", "1 g")))[0].split() == ["first", "last"]


def test_text_that_runs_off_the_page_is_kept_as_far_as_it_is_seen() -> None:
    text, *_ = read_pdf(page(shown("abcdefghijklmnopqrstuvwxyz", left=580)))

    assert text
    assert "abcdefghijklmnopqrstuvwxyz".startswith(text)
    assert len(text) < 10


def test_pages_of_which_nothing_is_seen_have_no_text() -> None:
    with pytest.raises(Rejected) as refused:
        read_pdf(page(shown("gone", "3 Tr")))

    assert refused.value.code == "no_text"
    text, starts, layout = read_pdf(pdf_file(b"BT /F1 9 Tf 3 Tr 9 9 Td (a) Tj ET", shown("two")))
    assert (text, starts) == ("two", (0, 0))
    assert [len(each.lines) for each in layout.pages] == [0, 1]
