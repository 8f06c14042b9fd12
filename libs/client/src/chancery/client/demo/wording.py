"""The words of a language from which a scenario is put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A document around one sentence, and the question that the sentence answers.

    Fields in braces: `person`, `other`, `topic`, `table`, `dataset`, `number`, `currency`.
    """

    source_id: str
    title: str
    sentence: str
    question: str
    around: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: how people call it, its columns, and how they ask for its sum."""

    dataset_id: str
    noun: str
    title: str
    key: str
    columns: tuple[str, ...]
    measure: str
    description: str
    synonyms: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Everything that a language brings; `joins` make one question of several clauses."""

    workspace_title: str
    subjects: tuple[str, ...]
    currencies: tuple[str, ...]
    duties: tuple[Template, ...]
    terms: tuple[Template, ...]
    tables: tuple[Table, ...]
    joins: tuple[Callable[[Sequence[str]], str], ...]
    unanswerable: tuple[str, ...]

    @staticmethod
    def sentence(clause: str) -> str:
        """Return a clause as a question of its own."""
        return f"{clause[:1].upper()}{clause[1:]}?"


def listed(word: str, *, comma: bool) -> Callable[[Sequence[str]], str]:
    """Return a join into one sentence whose last clause follows `word`."""

    def join(clauses: Sequence[str]) -> str:
        *most, last = clauses
        stop = "," if comma else ""
        return Wording.sentence(f"{', '.join(most)}{stop} {word} {last}")

    return join


def separate(clauses: Sequence[str]) -> str:
    """Join clauses as questions one after the other."""
    return " ".join(Wording.sentence(clause) for clause in clauses)
