"""A quotation is the source, byte for byte, or it is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.evidence.manifest import AlteredText, Manifest, build_manifest
from chancery.evidence.parts import PART_CHARACTERS
from chancery.evidence.quote import (
    QUOTE_CHARACTERS_MAX,
    UnsupportedSelection,
    is_blank_as_sealed,
    quote_of_part,
    resolve_quote,
    splits_character,
)
from chancery.kernel.blank import is_blank
from chancery.kernel.canonical import sha256_hex

HOSTILE = (
    "{0} {name} %s %(x)s ${x} [1] [CITATION_REFS] \n\n[2] “forged”\n— title, part 1, 0–9",
    "emoji 👩‍🚀 and 🏳️‍🌈, astral \U0001d518, flags 🇩🇪",
    "שלום \u202eevil\u202c \u200b\u2066x\u2069",
    "cafe\u0301 ﬁne naïve e\u0300\u0323",
    "tab\there\x0bvertical\x0cform\rreturn\r\nboth\u2028line\u2029paragraph",
    '154T\u2009>\u00a0C, 5.0\u202fmg, price\u2011determining, “straight" \u2018x\u2019',
)


def manifest_of(text: str) -> Manifest:
    return build_manifest(
        "key", 1, content_sha256=sha256_hex(b"raw"), extractor="text/1", text=text
    )


def refusal(text: str, part: str, start: int, end: int) -> str:
    with pytest.raises(UnsupportedSelection) as caught:
        resolve_quote(text, manifest_of(text), part, start, end)
    return caught.value.code


@pytest.mark.req("CL-3")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_quoted_byte_for_byte(text: str) -> None:
    source = "🚀 before. " + text + " after."
    manifest = manifest_of(source)
    start = source.index(text)

    quote = resolve_quote(source, manifest, manifest.parts[0].part_id, start, start + len(text))

    assert quote.encode() == text.encode()


@pytest.mark.req("CL-15")
@given(text=st.text(min_size=1, max_size=200), data=st.data())
def test_a_quotation_is_always_the_slice_of_code_points(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    manifest = manifest_of(text)
    part = manifest.parts[0]

    cut = splits_character(text, start) or splits_character(text, end)
    if cut or is_blank(text[start:end]):
        expected = "quote_splits_character" if cut else "blank_quote"
        assert refusal(text, part.part_id, start, end) == expected
        return

    quote = resolve_quote(text, manifest, part.part_id, start, end)

    assert quote == text[start:end]
    assert quote == quote_of_part(part, text, start, end)


@pytest.mark.parametrize(
    ("start", "end"), [(-1, 3), (3, 3), (4, 3), (0, 99), (98, 99), (-26524, -26520)]
)
def test_a_place_outside_the_part_is_refused(start: int, end: int) -> None:
    text = "A short text."

    assert refusal(text, manifest_of(text).parts[0].part_id, start, end) == "quote_outside_part"


def test_a_quotation_never_crosses_parts() -> None:
    text = "word " * 2000
    manifest = manifest_of(text)

    code = refusal(text, manifest.parts[0].part_id, PART_CHARACTERS - 4, PART_CHARACTERS + 4)

    assert code == "quote_outside_part"


def test_the_place_must_be_in_the_named_part() -> None:
    text = "word " * 2000
    manifest = manifest_of(text)

    assert refusal(text, manifest.parts[1].part_id, 0, 4) == "quote_outside_part"
    assert refusal(text, "no-such-part", 0, 4) == "unknown_part"


def test_2000_characters_are_quoted_and_2001_are_not() -> None:
    text = "x" * 3000
    manifest = manifest_of(text)
    part = manifest.parts[0].part_id

    assert len(resolve_quote(text, manifest, part, 0, QUOTE_CHARACTERS_MAX)) == 2000
    assert refusal(text, part, 0, QUOTE_CHARACTERS_MAX + 1) == "quote_too_long"


@pytest.mark.parametrize("blank", [" ", "\n\t ", "\u200b\u200c", "\u00a0\u2009", "\u00ad\ufeff"])
def test_a_quotation_that_shows_nothing_is_refused(blank: str) -> None:
    text = "a" + blank + "b"

    assert refusal(text, manifest_of(text).parts[0].part_id, 1, 1 + len(blank)) == "blank_quote"
    assert is_blank(blank)
    assert not is_blank("a" + blank)


NEVER_SEEN = ["\u3164", "\u2800", "\uffa0\u3164", "\u115f\u1160"]


@pytest.mark.parametrize("blank", NEVER_SEEN)
def test_a_quotation_of_signs_that_nobody_sees_is_refused(blank: str) -> None:
    text = "a" + blank + "b"

    assert refusal(text, manifest_of(text).parts[0].part_id, 1, 1 + len(blank)) == "blank_quote"


@pytest.mark.parametrize("blank", NEVER_SEEN)
def test_a_quotation_that_was_sealed_before_stays_one(blank: str) -> None:
    """Else an answer that verified for years would seem to have been altered."""
    text = "a" + blank + "b"
    part = manifest_of(text).parts[0]

    assert quote_of_part(part, text, 1, 1 + len(blank)) == blank


@given(text=st.text(max_size=20))
def test_what_was_blank_to_the_first_answers_is_blank_today(text: str) -> None:
    assert is_blank(text) or not is_blank_as_sealed(text)


def test_every_character_that_was_blank_to_the_first_answers_is_blank_today() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]

    assert [each for each in characters if is_blank_as_sealed(each) and not is_blank(each)] == []


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("a =\u0338 b", 0, 3),
        ("a =\u0338 b", 3, 6),
        ("see 👩\u200d🚀 go", 0, 5),
        ("see 👩\u200d🚀 go", 6, 10),
        ("\u0301a", 0, 2),
    ],
)
def test_a_character_is_never_cut_in_two(text: str, start: int, end: int) -> None:
    code = refusal(text, manifest_of(text).parts[0].part_id, start, end)

    assert code == "quote_splits_character"


def test_a_whole_composed_character_is_quoted() -> None:
    text = "a =\u0338 b"
    manifest = manifest_of(text)

    assert resolve_quote(text, manifest, manifest.parts[0].part_id, 0, 4) == "a =\u0338"
    assert not splits_character("", 0)


def test_a_part_whose_text_is_another_is_corrupt() -> None:
    text = "The limit is 50 mg."
    manifest = manifest_of(text)

    with pytest.raises(AlteredText):
        resolve_quote(text.replace("50", "90"), manifest, manifest.parts[0].part_id, 0, 5)
