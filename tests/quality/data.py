"""The questions that are measured with, and the documents that answer them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from chancery.evidence.sentences import Span

CORPORA = ("finance", "state_of_the_union", "wikitexts")
PARAGRAPH_BREAK = "\n\n"


class NoData(Exception):
    """The data sets are not on this machine."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the document that answers it, and where: every span is needed."""

    text: str
    document: str
    needed: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class DataSet:
    """Documents by name, and what is asked about them."""

    documents: dict[str, str]
    questions: tuple[Asked, ...]


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Reference(_Form):
    content: str
    start_index: int
    end_index: int


class _Answer(_Form):
    answer_start: int
    text: str


class _Question(_Form):
    question: str
    answers: tuple[_Answer, ...]


class _Paragraph(_Form):
    context: str
    qas: tuple[_Question, ...]


class _Article(_Form):
    title: str
    paragraphs: tuple[_Paragraph, ...]


class _Squad(_Form):
    data: tuple[_Article, ...]


_REFERENCES: TypeAdapter[list[_Reference]] = TypeAdapter(list[_Reference])


def read_span_questions(folder: Path) -> DataSet:
    """Return the three corpora with their questions.

    Raises:
        NoData: when they are not below `folder`.
    """
    home = folder / "span_questions"
    documents = {name: _read(home / f"{name}.md") for name in CORPORA}
    rows = csv.DictReader(_read(home / "questions.csv").splitlines(keepends=True))
    questions = tuple(_span_question(row, documents) for row in rows)
    return DataSet(documents, questions)


def read_xquad(folder: Path) -> DataSet:
    """Return the articles, each one document, with their questions.

    Raises:
        NoData: when they are not below `folder`.
    """
    squad = _Squad.model_validate_json(_read(folder / "xquad" / "xquad.en.first24.json"))
    documents: dict[str, str] = {}
    questions: list[Asked] = []
    for article in squad.data:
        contexts = [paragraph.context for paragraph in article.paragraphs]
        documents[article.title] = PARAGRAPH_BREAK.join(contexts)
        questions.extend(_article_questions(article))
    return DataSet(documents, tuple(questions))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError as error:
        message = f"{path} is not there"
        raise NoData(message) from error


def _span_question(row: dict[str, str], documents: dict[str, str]) -> Asked:
    document = row["corpus_id"]
    references = _REFERENCES.validate_json(row["references"])
    for reference in references:
        found = documents[document][reference.start_index : reference.end_index]
        assert found == reference.content, "the offsets are code points of the corpus"
    spans = tuple((one.start_index, one.end_index) for one in references)
    return Asked(row["question"], document, spans)


def _article_questions(article: _Article) -> list[Asked]:
    found: list[Asked] = []
    offset = 0
    for paragraph in article.paragraphs:
        for one in paragraph.qas:
            answer = one.answers[0]
            start = offset + answer.answer_start
            found.append(Asked(one.question, article.title, ((start, start + len(answer.text)),)))
        offset += len(paragraph.context) + len(PARAGRAPH_BREAK)
    return found
