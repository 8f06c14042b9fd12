"""A document that shows nothing has no text, whatever invisible characters it holds."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.extract.extraction import extract
from chancery.extract.media import DOCX, HTML, MARKDOWN, PDF, PLAIN, XLSX
from chancery.extract.worker import parse
from chancery.kernel.blank import is_blank
from chancery.kernel.errors import Rejected
from tests.unit.extract.files import HELVETICA, docx_file, lines, paragraph, pdf_file, xlsx_file

UNSEEN = [
    "\ufeff",
    "\u200b",
    "\u00ad",
    "\u200d\u2060",
    "\u3164",
    "\u2800",
    "\ufe0f",
    "\u00a0\u2003",
]


def text_of(media_type: str, text: str) -> str:
    """Return what is extracted of a document with this text."""
    match media_type:
        case "text/plain" | "text/markdown":
            return extract(media_type, text.encode()).text
        case "text/html":
            return parse(media_type, f"<p>{text}</p>".encode()).text
        case _ if media_type == DOCX:
            return parse(media_type, docx_file(paragraph(text))).text
        case _:
            cell = f'<row><c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c></row>'
            return parse(media_type, xlsx_file({"Sheet": cell})).text


@pytest.mark.req("KO-3")
@pytest.mark.parametrize("text", UNSEEN)
@pytest.mark.parametrize("media_type", [PLAIN, MARKDOWN, HTML, DOCX, XLSX])
def test_a_text_of_nothing_that_is_seen_is_no_text(media_type: str, text: str) -> None:
    assert f"{text}a" in text_of(media_type, f"{text}a")

    with pytest.raises(Rejected) as refused:
        text_of(media_type, text)

    assert refused.value.code == "no_text"


@pytest.mark.parametrize("glyph", [b"/uni200B", b"/uniFEFF", b"/uni00AD"])
def test_a_pdf_of_glyphs_that_nobody_sees_has_no_text(glyph: bytes) -> None:
    named = b"/Encoding << /Type /Encoding /Differences [97 " + glyph + b"] >> >>"
    font = HELVETICA.removesuffix(b">>") + named
    assert parse(PDF, pdf_file(lines("ab"), font=font)).text.endswith("b")

    with pytest.raises(Rejected) as refused:
        parse(PDF, pdf_file(lines("aa"), font=font))

    assert refused.value.code == "no_text"


@given(st.characters(categories=("L", "N", "P", "S")))
def test_letters_numbers_and_signs_are_seen(character: str) -> None:
    filler = "HANGUL" in unicodedata.name(character, "") and "FILLER" in unicodedata.name(character)

    assert is_blank(character) == (filler or character == "\u2800")


@given(st.characters(categories=("Zs", "Zl", "Zp", "Cc")))
def test_separators_and_controls_are_not_seen(character: str) -> None:
    assert is_blank(character)


def test_an_accent_and_an_emoji_with_its_selector_are_seen() -> None:
    assert not is_blank("\u200b\u0301")
    assert not is_blank("\u2764\ufe0f")
    assert is_blank("")
