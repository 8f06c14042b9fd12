"""The server writes the answer: fixed words, exact quotations, values under native labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.authority import Language
from chancery.evidence.answer import (
    Answer,
    QuoteFact,
    ValueFact,
    compose,
    one_line,
    render,
)
from chancery.evidence.citations import SourceCitation, ValueCitation
from chancery.evidence.quote import UnsupportedSelection
from chancery.evidence.texts import LANGUAGES, introduction
from chancery.kernel.blank import is_blank
from chancery.kernel.canonical import sha256_hex

QUOTE = QuoteFact(
    tenant="default",
    kind="source",
    key="key",
    document_id="handbook",
    title="Handbook",
    revision=3,
    part_id="part-1",
    ordinal=2,
    start=120,
    end=142,
    text="The team owns reviews.",
)
VALUE = ValueFact(
    tenant="default",
    key="orders-key",
    dataset_id="orders",
    title="Orders",
    snapshot=2,
    query_sha256=sha256_hex(b"select"),
    row=0,
    column=0,
    label="SUM(orders.amount)",
    type="DECIMAL(38,2)",
    value="4000.00",
    display="4,000.00",
)


def refusal(*facts: QuoteFact | ValueFact) -> str:
    with pytest.raises(UnsupportedSelection) as caught:
        compose(facts, "en")
    return caught.value.code


@pytest.mark.req("KO-1", "KO-4")
def test_a_mixed_answer_is_introduction_quotation_and_value_and_nothing_else() -> None:
    answer = compose((QUOTE, VALUE), "en")

    assert answer.text == (
        "The following is quoted or calculated from evidence that you may read."
        "\n\n[1] “The team owns reviews.”\n— Handbook, part 2, 120–142"
        "\n\n[2] SUM(orders.amount) = 4,000.00"
    )


@pytest.mark.req("KO-4")
def test_document_and_snapshot_keep_their_own_identity() -> None:
    quote, value = compose((QUOTE, VALUE), "en").citations

    assert isinstance(quote, SourceCitation)
    assert isinstance(value, ValueCitation)
    assert (quote.source_id, quote.revision, quote.part) == ("handbook", 3, "part-1")
    assert (value.dataset_id, value.snapshot) == ("orders", 2)
    assert (value.value, value.type) == ("4000.00", "DECIMAL(38,2)")
    assert quote.sha256 == sha256_hex(QUOTE.text.encode())


@pytest.mark.req("KO-24")
def test_a_card_shows_one_fact_and_names_its_citation() -> None:
    answer = compose((QUOTE, VALUE), "de")

    quote, value = (card.to_json() for card in answer.cards)

    assert quote == {
        "id": quote["id"],
        "kind": "quote",
        "title": "Handbook",
        "label": "Teil 2, 120–142",
        "excerpt": QUOTE.text,
        "citation": answer.citations[0].id,
    }
    assert (value["label"], value["value"]) == ("SUM(orders.amount)", "4,000.00")
    assert value["citation"] == answer.citations[1].id


@pytest.mark.req("KO-24")
@pytest.mark.parametrize(
    ("language", "place"),
    [
        ("en", "page 4, part 2, 120–142"),
        ("de", "Seite 4, Teil 2, 120–142"),
        ("fr", "page 4, partie 2, 120–142"),
        ("es", "página 4, parte 2, 120–142"),
        ("ja", "ページ 4, パート 2, 120–142"),
    ],
)
def test_the_page_is_told_where_the_document_has_pages(language: Language, place: str) -> None:
    paged = compose((replace(QUOTE, page=4),), language)
    plain = compose((QUOTE,), language)

    assert paged.text.endswith("\n— Handbook, " + place)
    assert paged.cards[0].to_json()["label"] == place
    unpaged = place.split(", ", 1)[1]
    assert plain.text.endswith("\n— Handbook, " + unpaged)
    assert plain.cards[0].to_json()["label"] == unpaged


def test_ids_are_durable_and_not_places_in_a_list() -> None:
    first = compose((QUOTE, VALUE), "en")
    turned = compose((VALUE, QUOTE), "en")

    assert first.citations[0].id == turned.citations[1].id
    assert first.statements[0].id == turned.statements[1].id
    every = [
        *(each.id for each in first.statements),
        *(each.id for each in first.citations),
        *(each.id for each in first.cards),
    ]
    assert len(set(every)) == 6


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "other"},
        {"key": "other"},
        {"revision": 4},
        {"part_id": "other"},
        {"start": 119},
        {"end": 143},
    ],
)
def test_another_place_is_another_fact(change: dict[str, str | int]) -> None:
    assert replace(QUOTE, **change).id != QUOTE.id


@pytest.mark.req("KO-2", "CL-15")
def test_an_unsound_selection_refuses_the_whole() -> None:
    assert refusal() == "empty_selection"
    assert refusal(QUOTE, VALUE, QUOTE) == "duplicate_selection"
    assert refusal(QUOTE, replace(QUOTE, start=1, text=" \u200b")) == "blank_statement"
    assert refusal(QUOTE, replace(QUOTE, start=1, text="")) == "blank_statement"
    assert refusal(QUOTE, replace(QUOTE, start=1, text="\u3164")) == "blank_statement"
    assert refusal(QUOTE, replace(QUOTE, start=1, text="x" * 2001)) == "statement_too_long"
    assert refusal(VALUE, replace(VALUE, row=1, display="x" * 2000)) == "statement_too_long"


@pytest.mark.parametrize("fact", [QUOTE, VALUE])
@pytest.mark.parametrize("title", ["\u3164", "\u2800", "\u115f \u034f", "\u17b4\ufe0f"])
def test_a_title_from_before_of_which_nobody_sees_anything_is_shown_as_one_that_is_missing(
    title: str, fact: QuoteFact | ValueFact
) -> None:
    """No title can be declared like that any more, but an older one still stands on the log."""
    answer = compose((replace(fact, title=title),), "en")

    assert title not in answer.text
    assert (answer.citations[0].title, answer.cards[0].title) == ("?", "?")
    seen = compose((replace(fact, title=f"{title}A"),), "en")
    assert seen.cards[0].title == f"{title}A"


def test_the_text_of_an_answer_that_was_sealed_with_such_a_title_is_made_again_as_it_was() -> None:
    answer = compose((QUOTE,), "en")
    before = answer.citations[0].model_copy(update={"title": "\u3164"})

    text = render(answer.statements, (before,), "en")

    assert text == answer.text.replace("Handbook", "\u3164")


@pytest.mark.req("CL-15")
def test_20_statements_are_composed_and_21_are_not() -> None:
    facts = [replace(QUOTE, start=place) for place in range(21)]

    assert len(compose(facts[:20], "en").statements) == 20
    assert refusal(*facts) == "too_many_statements"


@pytest.mark.req("CL-3")
@pytest.mark.parametrize(
    "text",
    [
        "{0} {text!r} %s %(a)s ${x}",
        "[1] [2] [RELEVANT_SENTENCES] [CITATION_REFS]",
        "x”\n— Forged, part 1, 0–1\n\n[2] “y",
        "<script>alert(1)</script> ![x](http://x) `code`",
        "\\n \\1 \\g<0>",
        "\u202eevil\u202c \u200b 👩\u200d🚀 e\u0301",
        "“ ” \u2018 \u2019 \" '",
    ],
)
def test_tokens_in_a_quotation_are_inert(text: str) -> None:
    answer = compose((replace(QUOTE, text=text), VALUE), "en")

    assert answer.statements[0].text == text
    plain = compose((QUOTE, VALUE), "en").text
    head, tail = plain.split(QUOTE.text)
    assert answer.text == head + text + tail


@pytest.mark.req("CL-3")
@given(text=st.text(min_size=1, max_size=300).filter(lambda value: not is_blank(value)))
def test_any_quotation_stands_in_the_text_unchanged(text: str) -> None:
    answer = compose((replace(QUOTE, text=text), VALUE), "en")

    assert answer.statements[0].text.encode() == text.encode()
    assert "“" + text + "”\n— Handbook" in answer.text


@pytest.mark.req("CL-3")
@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Handbook", "Handbook"),
        ("A\n\n[2] “forged”\n— B", "A [2] “forged” — B"),
        ("A\r\nB\x85C\u2028D\u2029E\x0bF", "A B C D E F"),
        ("A\u202eB\u2066C\u200fD", "A B C D"),
        ("  A  B  ", "A  B"),
        ("👩\u200d🚀 e\u0301 {0} %s", "👩\u200d🚀 e\u0301 {0} %s"),
        ("\n", "?"),
        ("\u200b", "?"),
    ],
)
def test_a_title_is_shown_on_one_line(title: str, shown: str) -> None:
    answer = compose((replace(QUOTE, title=title),), "en")

    assert one_line(title) == shown
    assert answer.text.endswith("\n— " + shown + ", part 2, 120–142")
    assert answer.citations[0].title == (title if shown != "?" else "?")


@given(title=st.text(max_size=60))
def test_no_title_makes_a_line_of_its_own(title: str) -> None:
    shown = one_line(title)

    assert len(shown.splitlines()) == 1
    assert one_line(shown) == shown


def test_a_label_is_shown_on_one_line_and_a_null_is_told() -> None:
    fact = replace(VALUE, label="MIN(t.a\n\n[3] b)", value=None, display="NULL")

    answer = compose((fact,), "en")

    assert answer.statements[0].text == "MIN(t.a [3] b) = NULL"
    assert answer.citations[0].to_json()["value"] is None
    assert answer.cards[0].to_json()["value"] == "NULL"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_text_is_made_again_from_statements_and_citations(language: Language) -> None:
    answer = compose((QUOTE, VALUE), language)

    assert answer.text.startswith(introduction(language))
    assert render(answer.statements, answer.citations, language) == answer.text
    assert Answer.from_bytes(answer.to_bytes()) == answer
