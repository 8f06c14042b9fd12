"""Sentences and passages are places of the raw text; what a border cuts is left out."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.evidence.manifest import build_manifest
from chancery.evidence.parts import PART_CHARACTERS, split_parts
from chancery.evidence.passages import PASSAGE_CHARACTERS, passages
from chancery.evidence.quote import QUOTE_CHARACTERS_MAX, resolve_quote
from chancery.evidence.sentences import SentenceStarts, sentences, sentences_by_block
from chancery.kernel.blank import is_blank
from chancery.kernel.canonical import sha256_hex

PIECES = st.sampled_from(
    [
        *("The team owns it.", " ", "\n", "\n\n", "z. B. ", "Dr. ", "am 3. März ", "5.0 mg"),
        *(
            "# Head\n",
            "- item\n",
            "1. one\n",
            "| a | b |\n",
            "|---|---|\n",
            "```\n",
            "\r\n",
            "a\tb\n",
        ),
        *("e\u0301", "\u0301", "🚀", "👩\u200d🚀", "\u200b", "\t", "\u2028", "x" * 700),
        *("!", "?", "...", "。", "日本語", "”"),
    ]
)
DOCUMENTS = st.lists(PIECES, max_size=60).map("".join)

LONG_PIECES = st.one_of(
    PIECES,
    st.sampled_from(
        ["Words go on. " * 40, "and on " * 60, "日本語。" * 90, "x. Y " * 30, "\n" * 9]
    ),
)
LONG_DOCUMENTS = st.lists(LONG_PIECES, min_size=10, max_size=60).map("".join)

MARKS = st.lists(
    st.sampled_from(["Xyz", " ", ".", "!", "?", "…", "。", "！", "」", "”", ")", "\u3000"]),
    max_size=40,
).map("".join)
PLAIN_STOP = re.compile(r"(?<![.!?…])[.!?…]+[\"'”“’»)\]*_]*(?=\s)|[。！？]+[」』）”]*")


def found(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text, 0, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met Mr. Jones. They left.", ["Dr. Smith met Mr. Jones.", "They left."]),
        ("It costs e.g. 5.0 mg. Really.", ["It costs e.g. 5.0 mg.", "Really."]),
        ("See No. 5 first. The answer is no. Then go.",
         ["See No. 5 first.", "The answer is no.", "Then go."]),
        ("Das gilt z. B. am 3. März 2024. Danach nicht.",
         ["Das gilt z. B. am 3. März 2024.", "Danach nicht."]),
        ("Wir zahlen bzw. liefern. Es waren 20. Dann kam er.",
         ["Wir zahlen bzw. liefern.", "Es waren 20.", "Dann kam er."]),
        ("Er sagte „Nein.“ Dann ging er.", ["Er sagte „Nein.“", "Dann ging er."]),
        ('She said "No." Then left.', ['She said "No."', "Then left."]),
        ("J. R. Smith came. Yahoo! is big.", ["J. R. Smith came.", "Yahoo! is big."]),
        ("# Title\nText of\ntwo lines.\n", ["Title", "Text of\ntwo lines."]),
        ("- First one.\n- Second\n* Third", ["First one.", "Second", "Third"]),
        ("1. Step one\n2. Step two", ["Step one", "Step two"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("| Mr. A. | Yes. Twice. |\n| B | No |", ["| Mr. A. | Yes. Twice. |", "| B | No |"]),
        ("Owner\tBob of the north. Or Eva.\nBank\tnone at all in any of the towns\nlast",
         ["Owner\tBob of the north. Or Eva.", "Bank\tnone at all in any of the towns", "last"]),
        ("a | b\n--- | :--\n1 | 2", ["a | b", "1 | 2"]),
        ("One\ttab. Two.", ["One\ttab.", "Two."]),
        ("Currency: EUR\nOwner: Bob", ["Currency: EUR", "Owner: Bob"]),
        ("これは文です。次の文！", ["これは文です。", "次の文！"]),
        ("Wait... what now? Yes.", ["Wait... what now?", "Yes."]),
        ("\r\nOne line.\r\n\r\nAnother.\r\n", ["One line.", "Another."]),
        ("", []),
        (" \n\u200b\n ", []),
    ],
)  # fmt: skip
def test_sentences_end_where_a_reader_says(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_sentences_of_one_block_stand_together() -> None:
    prose = "# Head\nOne. Two\ngoes on.\n\nThree.\n"
    text = prose + "- Item one. More.\n- Item two\n| a | b |\n| c. D. |\n"

    blocks = sentences_by_block(text, 0, len(text))

    assert [[text[low:high] for low, high in block] for block in blocks] == [
        ["Head"],
        ["One.", "Two\ngoes on."],
        ["Three."],
        ["Item one.", "More."],
        ["Item two"],
        ["| a | b |"],
        ["| c. D. |"],
    ]


def test_without_capitals_a_full_stop_still_ends_a_sentence() -> None:
    lower = (
        "the notes of smith inc. were repaid in 2017. they bore 5.5 percent a year. none is left."
    )

    assert found(lower) == [
        "the notes of smith inc. were repaid in 2017.",
        "they bore 5.5 percent a year.",
        "none is left.",
    ]
    assert found("He said etc. and left. They stayed.") == [
        "He said etc. and left.",
        "They stayed.",
    ]


def test_a_sentence_that_the_border_of_a_part_cuts_is_left_out() -> None:
    text = "The drug is not approved for children. Ask a doctor."
    cut = text.index("approved")

    assert sentences(text, cut, len(text)) == ((39, 52),)
    assert sentences(text, 0, cut) == ()


@given(text=DOCUMENTS, data=st.data())
def test_every_sentence_is_a_sound_quotation(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    spans = sentences(text, start, end)

    assert all(start <= low < high <= end for low, high in spans)
    assert all(high - low <= QUOTE_CHARACTERS_MAX for low, high in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    blocks = sentences_by_block(text, start, end)
    assert all(blocks)
    assert tuple(span for block in blocks for span in block) == spans


@given(text=DOCUMENTS)
def test_the_sentences_of_a_part_resolve_as_quotations(text: str) -> None:
    manifest = build_manifest(
        "key", 1, content_sha256=sha256_hex(b"raw"), extractor="text/1", text=text
    )

    for part in manifest.parts:
        for start, end in sentences(text, part.start, part.end):
            quote = resolve_quote(text, manifest, part.part_id, start, end)
            assert quote == quote.strip()


@given(text=MARKS)
def test_every_mark_with_room_behind_it_ends_a_sentence(text: str) -> None:
    ends = [0, *(stop.end() for stop in PLAIN_STOP.finditer(text)), len(text)]
    expected = [text[low:high].strip() for low, high in pairwise(ends)]

    assert found(text) == [piece for piece in expected if not is_blank(piece)]


@given(text=LONG_DOCUMENTS, data=st.data())
def test_a_start_looked_for_is_the_last_of_all_sentences_before_the_bound(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    bounds = sorted(data.draw(st.lists(st.integers(start, end), max_size=8)))

    looked_for = SentenceStarts(text, start, end)

    every = [low for low, _ in sentences(text, start, end)]
    for after, bound in pairwise([start, *bounds]):
        fitting = [low for low in every if after < low <= bound]
        assert looked_for.last(after, bound) == (fitting[-1] if fitting else None)


@given(text=LONG_DOCUMENTS)
def test_passages_begin_at_the_last_sentence_within_the_bound(text: str) -> None:
    for part in split_parts("key", 1, sha256_hex(text.encode()), text):
        spans = passages(text, part)
        starts = [low for low, _ in sentences(text, part.start, part.end)]
        for (low, high), _ in pairwise(spans):
            fitting = [start for start in starts if low < start <= low + PASSAGE_CHARACTERS]
            assert not fitting or high == fitting[-1]


@given(text=DOCUMENTS)
def test_the_passages_of_a_part_cover_it_exactly(text: str) -> None:
    manifest = build_manifest(
        "key", 1, content_sha256=sha256_hex(b"raw"), extractor="text/1", text=text
    )

    for part in manifest.parts:
        spans = passages(text, part)
        assert "".join(text[low:high] for low, high in spans) == part.slice(text)
        assert all(low < high <= low + PASSAGE_CHARACTERS * 5 // 4 for low, high in spans)


def test_a_passage_begins_with_a_sentence() -> None:
    text = "This is one sentence of the text. " * 200
    manifest = build_manifest(
        "key", 1, content_sha256=sha256_hex(b"raw"), extractor="text/1", text=text
    )

    spans = passages(text, manifest.parts[0])

    assert all(text[low:].startswith("This is one") for low, _ in spans)
    assert len(spans) == 5


def test_text_without_any_border_is_still_cut_and_covered() -> None:
    text = "x" * (PART_CHARACTERS + 300)
    manifest = build_manifest(
        "key", 1, content_sha256=sha256_hex(b"raw"), extractor="text/1", text=text
    )

    assert [len(passages(text, part)) for part in manifest.parts] == [5, 1]
    assert found(text) == []


@given(
    st.lists(
        st.sampled_from(
            ["x", "Ab", "A sentence.", "7 of 9", "", "- item", "# Head", "| a | b |", "word " * 12]
        ),
        min_size=1,
        max_size=12,
    )
)
def test_a_blank_before_its_first_letter_does_not_change_what_a_line_belongs_to(
    lines: list[str],
) -> None:
    """A line that begins with a letter is told apart by less; the other way finds the same."""
    plain = "\n".join(lines)
    moved = "\n".join(f" {line}" if line[:1].isalpha() else line for line in lines)

    def found(text: str) -> list[list[list[str]]]:
        blocks = sentences_by_block(text, 0, len(text))
        return [[text[low:high].split() for low, high in block] for block in blocks]

    assert found(plain) == found(moved)
