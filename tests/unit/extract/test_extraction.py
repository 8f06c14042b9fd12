"""Markdown and plain text are their own canonical text; what cannot be read is refused by code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.extract import plain
from chancery.extract.extraction import EXTRACTOR, extract, extractor_of
from chancery.extract.media import PARSED_TYPES, RAW_TYPES, XLSX
from chancery.kernel.blank import is_blank
from chancery.kernel.errors import Rejected

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00")).filter(
    lambda text: not is_blank(text)
)


@given(text=_TEXT, media_type=st.sampled_from(sorted(RAW_TYPES)))
def test_extracting_encoded_text_gives_the_text_back(text: str, media_type: str) -> None:
    found = extract(media_type, text.encode())

    assert (found.text, found.extractor) == (text, EXTRACTOR)


@pytest.mark.parametrize(
    "text", ["a\r\nb\n\rc", "\ufeffmark first", "e\u0301 and \u00e9", "a\u2028"]
)
def test_newlines_marks_and_forms_stay_as_they_are(text: str) -> None:
    assert extract("text/markdown", text.encode()).text == text


@pytest.mark.parametrize(
    ("media_type", "data", "code"),
    [
        ("text/plain", b"", "empty_document"),
        ("text/plain", b" \n", "no_text"),
        ("text/markdown", "\ufeff\u200b".encode(), "no_text"),
        ("text/plain", b"a\xff", "invalid_utf8"),
        ("text/markdown", b"\xed\xa0\x80", "invalid_utf8"),
        ("text/markdown", b"\xc0\x80", "invalid_utf8"),
        ("text/plain", b"a\x00b", "nul_character"),
        ("application/pdf", b"%PDF-1.7", "unsupported_media_type"),
        ("", b"text", "unsupported_media_type"),
        ("text/plain; charset=iso-8859-1", b"text", "unsupported_charset"),
        ("text/plain; charset=utf-8; Charset=UTF-16", b"text", "unsupported_charset"),
    ],
)
def test_what_cannot_be_quoted_is_refused_by_code(media_type: str, data: bytes, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        extract(media_type, data)

    assert refused.value.code == code


@pytest.mark.parametrize(
    "media_type", ["text/plain;charset=UTF-8", 'TEXT/Markdown; charset="utf-8"', "text/plain; q=1"]
)
def test_parameters_of_the_media_type_do_not_change_the_text(media_type: str) -> None:
    assert extract(media_type, b"text").text == "text"


def test_a_refusal_never_repeats_the_document() -> None:
    with pytest.raises(Rejected) as refused:
        extract("text/plain", b"secret words\xff")

    assert "secret" not in refused.value.detail


def test_the_identity_of_a_parser_names_the_library_that_it_stands_on() -> None:
    identities = {each: extractor_of(each) for each in PARSED_TYPES}

    assert identities["application/pdf"].startswith("pdf/2+pypdfium2-")
    assert identities["text/html"].startswith("html/2+selectolax-")
    assert identities[XLSX].startswith("xlsx/4+python-calamine-")
    assert len(set(identities.values())) == len(PARSED_TYPES)


@pytest.mark.parametrize("media_type", ["image/png", "image/jpeg", "application/zip"])
def test_what_has_no_text_has_no_extractor(media_type: str) -> None:
    with pytest.raises(Rejected) as refused:
        extractor_of(media_type)

    assert refused.value.code == "unsupported_media_type"


def test_a_text_of_more_than_may_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "TEXT_CHARACTERS_MAX", 4)
    assert extract("text/plain", "äöüß".encode()).text == "äöüß"

    with pytest.raises(Rejected) as refused:
        extract("text/plain", b"five!")

    assert refused.value.code == "text_too_long"
