"""The check that the server's own words stand around the facts, and none else."""

from __future__ import annotations

from collections.abc import Iterator

from chancery.evidence.answer import (
    Card,
    Statement,
    citation_id,
    quote_card,
    quote_fact_id,
    render,
    value_card,
    value_fact_id,
)
from chancery.evidence.bundle import Bundle
from chancery.evidence.citations import Citation, QuoteCitation
from chancery.evidence.texts import PlaceWords, UnknownTemplate, explanation, place_words
from chancery.verify.report import Check, compared, uncheckable


def composition_check(bundle: Bundle) -> Check:
    """Return the check of text, cards and ids, all made again from statements and citations."""
    core = bundle.receipt.core
    try:
        if core.outcome is not None:
            expected = explanation(core.outcome, core.language, core.template_version)
            problems = [] if bundle.text == expected else ["the explanation is not the fixed one"]
        else:
            problems = list(_problems(bundle))
    except UnknownTemplate as error:
        return uncheckable("composition", error.detail)
    return compared("composition", problems, "text, cards and ids made again from the facts")


def _problems(bundle: Bundle) -> Iterator[str]:
    if not len(bundle.statements) == len(bundle.citations) == len(bundle.cards):
        yield "each statement needs one citation and one card"
        return
    core = bundle.receipt.core
    words = place_words(core.language, core.template_version)
    rows = zip(bundle.statements, bundle.citations, bundle.cards, strict=True)
    for statement, citation, card in rows:
        yield from _fact_problems(statement, citation, card, words)
        if statement.id not in _fact_ids(bundle, citation):
            yield "a fact has another id than its place gives"
    text = render(bundle.statements, bundle.citations, core.language, core.template_version)
    if text != bundle.text:
        yield "the text is not composed from the statements"


def _fact_problems(
    statement: Statement, citation: Citation, card: Card, words: PlaceWords
) -> Iterator[str]:
    if not statement.citation == citation.id == citation_id(statement.id):
        yield "a statement cites something else"
    if statement.kind != citation.kind:
        yield "a statement is of another kind than its citation"
    if isinstance(citation, QuoteCitation):
        expected: Card = quote_card(citation, statement.text, words)
    else:
        expected = value_card(citation, statement.text)
    if card != expected:
        yield "a card does not show its citation"


def _fact_ids(bundle: Bundle, citation: Citation) -> set[str]:
    """Return the ids that a fact of this citation may have; one, unless it states a value."""
    core = bundle.receipt.core
    if isinstance(citation, QuoteCitation):
        return {
            quote_fact_id(
                (core.tenant, used.key, used.revision),
                citation.part,
                citation.start,
                citation.end,
            )
            for used in core.references
            if used.name == citation.document
        }
    return {
        value_fact_id(
            (core.tenant, core.results[value.result].key, citation.snapshot),
            bundle.results[value.result].query_sha256,
            value.row,
            value.column,
        )
        for value in core.values
        if value.result < min(len(core.results), len(bundle.results))
    }
