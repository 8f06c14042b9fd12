"""The answer that the server writes: fixed words around exact quotations and values.

Everything is put together by concatenation. A quotation may hold `{0}`, `%s`, `[1]` or the very
punctuation around it: nothing reads it again, so it stays inert. `statements` are what a program
reads; `text` is for people and is never parsed back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from chancery.events.authority import Language
from chancery.events.envelope import Id, Many
from chancery.evidence.citations import (
    Citation,
    DocumentKind,
    FileCitation,
    ItemCitation,
    QuoteCitation,
    SourceCitation,
    ValueCitation,
)
from chancery.evidence.quote import (
    QUOTE_CHARACTERS_MAX,
    UnsupportedSelection,
    is_blank_as_sealed,
)
from chancery.evidence.record import Record
from chancery.evidence.texts import TEMPLATE_VERSION, PlaceWords, introduction, place_words
from chancery.kernel.blank import is_blank
from chancery.kernel.canonical import exact_bytes, sha256_hex
from chancery.kernel.ids import derived_id

STATEMENTS_MAX: Final = 20

NO_TITLE: Final = "?"
"""How a title is shown of which nobody would see anything; none can be given any more."""

# Control characters, line and paragraph separators, directional controls.
_UNSHOWN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteFact:
    """A resolved quotation with its identity; `text` comes from `resolve_quote`.

    `document_id` is the id of a source, item or file; `revision` of an item is the number of its
    version, and only an item has a `version_id`.
    """

    tenant: str
    kind: DocumentKind
    key: str
    document_id: str
    title: str
    revision: int
    part_id: str
    ordinal: int
    start: int
    end: int
    text: str
    page: int | None = None
    version_id: str | None = None

    @property
    def id(self) -> str:
        """Return the id of the fact: the same selection always has the same one."""
        document = (self.tenant, self.key, self.revision)
        return quote_fact_id(document, self.part_id, self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueFact:
    """A cell of a recorded preview: `value` is its canonical text (None for NULL).

    `display` is the same value as people read it, `label` the native one, never an alias.
    """

    tenant: str
    key: str
    dataset_id: str
    title: str
    snapshot: int
    query_sha256: str
    row: int
    column: int
    label: str
    type: str
    value: str | None
    display: str

    @property
    def id(self) -> str:
        """Return the id of the fact: the same selection always has the same one."""
        snapshot = (self.tenant, self.key, self.snapshot)
        return value_fact_id(snapshot, self.query_sha256, self.row, self.column)


Fact: TypeAlias = QuoteFact | ValueFact


class Statement(Record):
    """One line of the answer: the quotation itself, or `LABEL = value`; `id` is the fact's."""

    id: Id
    kind: Literal["quote", "value"]
    text: str = Field(min_length=1, max_length=QUOTE_CHARACTERS_MAX)
    citation: Id


class QuoteCard(Record):
    """A quotation for display."""

    id: Id
    kind: Literal["quote"] = "quote"
    title: str = Field(min_length=1, max_length=300)
    label: str = Field(min_length=1, max_length=QUOTE_CHARACTERS_MAX)
    excerpt: str = Field(min_length=1, max_length=QUOTE_CHARACTERS_MAX)
    citation: Id


class ValueCard(Record):
    """A value for display; `value` is the text that people read."""

    id: Id
    kind: Literal["value"] = "value"
    title: str = Field(min_length=1, max_length=300)
    label: str = Field(min_length=1, max_length=QUOTE_CHARACTERS_MAX)
    value: str = Field(max_length=QUOTE_CHARACTERS_MAX)
    citation: Id


Card: TypeAlias = Annotated[QuoteCard | ValueCard, Field(discriminator="kind")]


class Answer(Record):
    """What a caller is shown; a refusal is its explanation as `text` and nothing else."""

    text: str = Field(min_length=1)
    statements: Many[Statement] = Field(default=(), max_length=STATEMENTS_MAX)
    citations: Many[Citation] = Field(default=(), max_length=STATEMENTS_MAX)
    cards: Many[Card] = Field(default=(), max_length=STATEMENTS_MAX)


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """The bytes of an answer as they are hashed and stored: UTF-8 and canonical JSON lists."""

    text: bytes
    statements: bytes
    citations: bytes
    cards: bytes


def encode_answer(answer: Answer) -> EncodedAnswer:
    """Return the bytes of an answer."""
    fields = answer.to_json()
    lists = (exact_bytes(fields[name]) for name in ("statements", "citations", "cards"))
    return EncodedAnswer(answer.text.encode(), *lists)


def compose(facts: Sequence[Fact], language: Language) -> Answer:
    """Return the answer that presents `facts` in their order, with no word between them.

    Raises:
        UnsupportedSelection: with code `empty_selection`, `too_many_statements`,
            `duplicate_selection`, `blank_statement` or `statement_too_long`; nothing of the valid
            rest is kept.
    """
    ids = [fact.id for fact in facts]
    _check_selection(ids)
    texts = [_text(fact) for fact in facts]
    for text in texts:
        _check_statement(text)
    citations = tuple(map(_citation, facts, texts, map(citation_id, ids)))
    statements = tuple(map(_statement, ids, texts, citations))
    return Answer(
        text=render(statements, citations, language),
        statements=statements,
        citations=citations,
        cards=tuple(map(partial(_card, place_words(language)), citations, texts)),
    )


def render(
    statements: Sequence[Statement],
    citations: Sequence[Citation],
    language: Language,
    template_version: str = TEMPLATE_VERSION,
) -> str:
    """Return the text for people: the introduction, then each statement with its place.

    Titles and labels are shown on one line (see `one_line`); quotations are never changed.
    """
    lines = [introduction(language, template_version)]
    words = place_words(language, template_version)
    for number, (statement, citation) in enumerate(zip(statements, citations, strict=True), 1):
        lines.append("\n\n[" + str(number) + "] " + _shown(statement, citation, words))
    return "".join(lines)


def one_line(title: str) -> str:
    """Return `title` as it is shown: on one line and in its own direction.

    Each run of control characters, line and paragraph separators and directional controls becomes
    one space, so that a title cannot forge a line of the answer. Everything else is kept. A title
    of which nothing visible is left shows as `?`. An answer is checked by making its text again, so
    this never changes; what it does not find blank, `compose` has replaced before.
    """
    shown = _UNSHOWN.sub(" ", title).strip()
    return NO_TITLE if is_blank_as_sealed(shown) else shown


def is_one_line(text: str) -> bool:
    """Tell whether a text is shown on one line and in its own direction as it is."""
    return _UNSHOWN.search(text) is None


def quote_fact_id(document: tuple[str, str, int], part_id: str, start: int, end: int) -> str:
    """Return the id of a quotation of `document` (tenant, key, revision)."""
    tenant, key, revision = document
    place = (key, str(revision), part_id, str(start), str(end))
    return derived_id("fact", "quote", tenant, *place)


def value_fact_id(snapshot: tuple[str, str, int], query_sha256: str, row: int, column: int) -> str:
    """Return the id of a value of `snapshot` (tenant, key, snapshot number)."""
    tenant, key, number = snapshot
    place = (key, str(number), query_sha256, str(row), str(column))
    return derived_id("fact", "value", tenant, *place)


def citation_id(fact_id: str) -> str:
    """Return the id of the citation of a fact; it is durable, never a place in a list."""
    return derived_id("citation", fact_id)


def card_id(citation: str) -> str:
    """Return the id of the card that shows what the citation `citation` is about."""
    return derived_id("card", citation)


def locator(citation: QuoteCitation, words: PlaceWords) -> str:
    """Return where a quotation stands, as it is shown: page, part number, code-point range."""
    begins_on = citation.begins_on
    page = "" if begins_on is None else words.page + " " + str(begins_on) + ", "
    place = str(citation.start) + "–" + str(citation.end)
    return page + words.part + " " + str(citation.ordinal) + ", " + place


def value_text(label: str, display: str) -> str:
    """Return the text of a value statement."""
    return one_line(label) + " = " + display


def quote_card(citation: QuoteCitation, quote: str, words: PlaceWords) -> QuoteCard:
    """Return the card of a quotation, from its citation and its statement."""
    return QuoteCard(
        id=card_id(citation.id),
        title=citation.title,
        label=locator(citation, words),
        excerpt=quote,
        citation=citation.id,
    )


def value_card(citation: ValueCitation, statement: str) -> ValueCard:
    """Return the card of a value, from its citation and its statement."""
    return ValueCard(
        id=card_id(citation.id),
        title=citation.title,
        label=citation.label,
        value=statement.removeprefix(value_text(citation.label, "")),
        citation=citation.id,
    )


def _shown(statement: Statement, citation: Citation, words: PlaceWords) -> str:
    if isinstance(citation, ValueCitation):
        return statement.text
    place = one_line(citation.title) + ", " + locator(citation, words)
    return "“" + statement.text + "”\n— " + place


def _check_selection(fact_ids: Sequence[str]) -> None:
    if not fact_ids:
        raise _refused("the selection is empty", "empty_selection")
    if len(fact_ids) > STATEMENTS_MAX:
        raise _refused("an answer has at most 20 statements", "too_many_statements")
    if len(set(fact_ids)) != len(fact_ids):
        raise _refused("a fact is selected twice", "duplicate_selection")


def _check_statement(text: str) -> None:
    if len(text) > QUOTE_CHARACTERS_MAX:
        raise _refused("a statement has at most 2000 characters", "statement_too_long")
    if not text or is_blank(text):
        raise _refused("a statement shows nothing", "blank_statement")


def _statement(fact_id: str, text: str, citation: Citation) -> Statement:
    return Statement(id=fact_id, kind=citation.kind, text=text, citation=citation.id)


def _text(fact: Fact) -> str:
    if isinstance(fact, QuoteFact):
        return fact.text
    return value_text(fact.label, fact.display)


def _citation(fact: Fact, text: str, own_id: str) -> Citation:
    if isinstance(fact, ValueFact):
        return ValueCitation(
            id=own_id,
            dataset_id=fact.dataset_id,
            snapshot=fact.snapshot,
            sha256=sha256_hex(text.encode()),
            title=_title(fact),
            label=fact.label,
            value=fact.value,
            type=fact.type,
        )
    return _quote_citation(fact, own_id)


def _title(fact: Fact) -> str:
    return NO_TITLE if is_blank(fact.title) else fact.title


def _quote_citation(fact: QuoteFact, own_id: str) -> SourceCitation | ItemCitation | FileCitation:
    place: dict[str, object] = {
        "id": own_id,
        "part": fact.part_id,
        "ordinal": fact.ordinal,
        "start": fact.start,
        "end": fact.end,
        "sha256": sha256_hex(fact.text.encode()),
        "title": _title(fact),
    }
    match fact.kind:
        case "source":
            named = {"source_id": fact.document_id, "revision": fact.revision, "page": fact.page}
            return SourceCitation.model_validate(place | named)
        case "file":
            named = {"file_id": fact.document_id, "revision": fact.revision, "page": fact.page}
            return FileCitation.model_validate(place | named)
        case "item":
            version = {"version": fact.revision, "version_id": fact.version_id}
            return ItemCitation.model_validate(place | {"item_id": fact.document_id} | version)


def _card(words: PlaceWords, citation: Citation, text: str) -> QuoteCard | ValueCard:
    if isinstance(citation, QuoteCitation):
        return quote_card(citation, text, words)
    return value_card(citation, text)


def _refused(detail: str, code: str) -> UnsupportedSelection:
    return UnsupportedSelection(detail, field="selections", code=code)
