"""What a demo is about: who, which documents and table, which questions, and what must come out.

A seed draws all of it, the expected answers included, so that nothing can be wired to one story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Final, TypeVar

from chancery.client.demo import english, german
from chancery.client.demo.wording import Table, Template, Wording
from chancery.events.authority import Language, Measure, Visibility

T = TypeVar("T")

_WORDINGS: Final[dict[Language, Wording]] = {"en": english.WORDING, "de": german.WORDING}
_AMOUNTS: Final = (Decimal(1250), Decimal(2750))
_CENT: Final = Decimal("0.01")

PEOPLE: Final = (
    "Mira Okafor", "Jonas Lindqvist", "Priya Raman", "Tomás Herrera", "Aiko Tanaka", "Lena Vogt",
    "Samuel Adeyemi", "Chiara Bellini", "Nadia Haddad", "Owen Clarke", "Zofia Nowak", "Elif Demir",
)  # fmt: skip
_ACCOUNTS: Final = ("amara", "bruno", "celia", "dario", "edith", "farid", "greta", "hugo")
_TEAMS: Final = ("support", "finance", "field-ops", "partners", "harbour", "workshop", "clinic")
_CATEGORIES: Final = ("north", "south", "east", "west", "online", "retail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document source; `quote` is the sentence of `text` that answers its question."""

    source_id: str
    title: str
    visibility: Visibility
    text: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A table with one declared measure; `total` is what it must come to."""

    dataset_id: str
    title: str
    csv: str
    amounts: tuple[Decimal, ...]
    measure: Measure
    label: str
    total: Decimal

    @property
    def total_shown(self) -> str:
        """Return the total as people read it."""
        return f"{self.total:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A whole demo; the ownership document is restricted, and only the reader has a grant.

    `colleague` is a member without that grant, `outsider` no member at all.
    """

    seed: int | None
    language: Language
    workspace_id: str
    workspace_title: str
    publisher: str
    reader: str
    colleague: str
    outsider: str
    ownership: Document
    terms: Document
    dataset: Dataset
    ownership_question: str
    mixed_question: str
    unanswerable_question: str

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what nobody without access may be shown, not even in part."""
        titles = (self.ownership.title, self.ownership.quote, self.ownership.source_id)
        return (*titles, self.dataset.total_shown, self.workspace_title)


def draw_scenario(seed: int | None = None) -> Scenario:
    """Return the scenario of `seed`; None is the one that the documentation tells."""
    if seed is None:
        return _compose(_Chosen(), None, "en")
    random = Random(seed)  # noqa: S311 - a story, not a secret
    language: Language = "de" if random.random() < 0.4 else "en"  # noqa: PLR2004 - some, not most
    return _compose(_Drawn(random), seed, language)


class _Chosen:
    """Takes the first of everything: the story of the documentation."""

    def one(self, items: Sequence[T]) -> T:
        """Return the first item."""
        return items[0]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return the first items."""
        return list(items[:count])

    def amounts(self) -> tuple[Decimal, ...]:
        """Return the two amounts of the documentation."""
        return _AMOUNTS

    def number(self) -> int:
        """Return a number for a period."""
        return 30


class _Drawn:
    """Draws everything from one generator."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def one(self, items: Sequence[T]) -> T:
        """Return one item."""
        return self._random.choice(items)

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return different items in some order."""
        return self._random.sample(items, count)

    def amounts(self) -> tuple[Decimal, ...]:
        """Return 2 to 7 amounts, all whole or all with cents."""
        count = self._random.randint(2, 7)
        cents = [self._random.randint(10_000, 999_999) for _ in range(count)]
        if self._random.random() < 0.5:  # noqa: PLR2004 - as often as not
            return tuple(Decimal(each) for each in cents)
        # An odd cent keeps the column from being read as whole numbers.
        return tuple(Decimal(each | 1) * _CENT for each in cents)

    def number(self) -> int:
        """Return a number for a period."""
        return self._random.randint(11, 97)


def _compose(draw: _Chosen | _Drawn, seed: int | None, language: Language) -> Scenario:
    wording = _WORDINGS[language]
    suffix = "" if seed is None else f"-{seed}"
    person, other = draw.some(PEOPLE, 2)
    subject = draw.one(wording.subjects)
    table = draw.one(wording.tables)
    duty, terms = draw.one(wording.duties), draw.one(wording.terms)
    words = {"person": person, "other": other, "topic": subject, "table": table.noun}
    words |= {"number": str(draw.number()), "currency": draw.one(wording.currencies)}
    words |= {"dataset": table.dataset_id}
    column = draw.one(table.columns)
    questions = [duty.question, terms.question, draw.one(table.questions)]
    accounts = draw.some(_ACCOUNTS, 4)
    team = draw.one(_TEAMS)
    return Scenario(
        seed=seed,
        language=language,
        workspace_id=f"{team}{suffix}",
        workspace_title=wording.workspace_title.format(team=team.capitalize()),
        publisher=accounts[0],
        reader=accounts[1],
        colleague=accounts[2],
        outsider=accounts[3],
        ownership=_document(draw, duty, words, "restricted"),
        terms=_document(draw, terms, words, "workspace"),
        dataset=_dataset(draw, table, column),
        ownership_question=wording.sentence(duty.question.format(**words)),
        mixed_question=draw.one(wording.joins)([each.format(**words) for each in questions]),
        unanswerable_question=draw.one(wording.unanswerable),
    )


def _document(
    draw: _Chosen | _Drawn, template: Template, words: dict[str, str], access: Visibility
) -> Document:
    quote = template.sentence.format(**words)
    quote = quote[:1].upper() + quote[1:]
    before, after = draw.some(template.around, 2)
    lines = [f"# {template.title.format(**words)}", before.format(**words), quote]
    return Document(
        source_id=template.source_id,
        title=template.title.format(**words),
        visibility=access,
        text="\n\n".join([*lines, after.format(**words)]) + "\n",
        quote=quote,
    )


def _dataset(draw: _Chosen | _Drawn, table: Table, column: str) -> Dataset:
    amounts = draw.amounts()
    rows = [
        f"{number},{draw.one(_CATEGORIES)},{amount}" for number, amount in enumerate(amounts, 1001)
    ]
    return Dataset(
        dataset_id=table.dataset_id,
        title=table.title,
        csv="\n".join([f"{table.key},region,{column}", *rows]) + "\n",
        amounts=amounts,
        measure=Measure(
            name=table.measure,
            description=table.description,
            synonyms=table.synonyms,
            aggregate="sum",
            column=column,
        ),
        label=f"SUM({table.dataset_id}.{column})",
        total=sum(amounts, Decimal(0)),
    )
