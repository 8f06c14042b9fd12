"""The steps that ask: what is quoted, what is calculated, what is refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from decimal import Decimal

from chancery.client.demo.scenario import Document, Scenario
from chancery.client.demo.stage import Kept, Stage
from chancery.client.demo.telling import expect
from chancery.client.handles import AnswerHandle
from chancery.client.http import Ask, Chancery
from chancery.client.replies import Citation, RefusedAnswer, SealedAnswer
from chancery.kernel.canonical import Json


async def ownership(stage: Stage) -> Mapping[str, Json]:
    """Ask who is responsible; one quotation is the whole answer."""
    handle, answer = await _sealed(stage, stage.scenario.ownership_question)
    expect(len(answer.statements) == 1, f"one quotation, not {len(answer.statements)} statements")
    _expect_quote(answer, 0, stage.scenario.ownership)
    return _told(handle, answer)


async def mixed(stage: Stage) -> Mapping[str, Json]:
    """Ask for two quotations and a value together, and save the bundle that proves them."""
    handle, answer = await _sealed(stage, stage.scenario.mixed_question)
    scenario = stage.scenario
    kinds = [statement.kind for statement in answer.statements]
    expect(kinds == ["quote", "quote", "value"], f"two quotations and a value, not {kinds}")
    _expect_quote(answer, 0, scenario.ownership)
    _expect_quote(answer, 1, scenario.terms)
    _expect_value(answer, scenario)
    _expect_identities(answer)
    bundle = await stage.cast.reader.bundle(handle.run_id)
    path = stage.folder / f"{scenario.workspace_id}.bundle.json"
    await asyncio.to_thread(path.write_bytes, bundle)
    stage.narrator.tell(f"{len(bundle):,} bytes of proof saved to {path.name}")
    stage.mixed = Kept(handle, path)
    return _told(handle, answer)


async def no_evidence(stage: Stage) -> Mapping[str, Json]:
    """Ask about something else; the refusal is a fixed text."""
    asked = stage.scenario.unanswerable_question
    handle, refused = await expect_refusal(stage, stage.cast.reader, asked)
    return {"run_id": handle.run_id, "outcome": refused.outcome, "text": refused.explanation}


async def expect_refusal(
    stage: Stage, client: Chancery, question: str
) -> tuple[AnswerHandle, RefusedAnswer]:
    """Ask and return the refusal for want of evidence."""
    stage.narrator.tell(f"asks: {question}")
    handle = await client.ask(stage.scenario.workspace_id, Ask(question=question))
    answer = await client.answer(handle)
    expect(isinstance(answer, RefusedAnswer), f"a refusal, not {answer.status}")
    assert isinstance(answer, RefusedAnswer)
    expect(
        answer.outcome == "insufficient_evidence",
        f"the outcome insufficient_evidence, not {answer.outcome}",
    )
    stage.narrator.show(answer.explanation)
    return handle, answer


async def _sealed(stage: Stage, question: str) -> tuple[AnswerHandle, SealedAnswer]:
    scenario, client, narrator = stage.scenario, stage.cast.reader, stage.narrator
    narrator.tell(f"{scenario.reader} asks: {question}")
    started = time.monotonic()
    handle = await client.ask(scenario.workspace_id, Ask(question=question))
    taken_ms = (time.monotonic() - started) * 1000
    answer = await client.answer(handle)
    expect(isinstance(answer, SealedAnswer), f"a sealed answer, not {answer.status}")
    assert isinstance(answer, SealedAnswer)
    narrator.show(answer.text)
    narrator.tell(f"sealed after {taken_ms:.0f} ms as run {handle.run_id}")
    return handle, answer


def _expect_quote(answer: SealedAnswer, place: int, document: Document) -> None:
    statement, citation = answer.statements[place], answer.citations[place]
    expect(statement.text == document.quote, f"statement {place + 1} is the expected quotation")
    expect(citation.id == statement.citation, f"statement {place + 1} has citation {place + 1}")
    expect(citation.source_id == document.source_id, f"it is cited from {document.source_id}")
    expect(citation.title == document.title, "its title is the document's")
    found = document.text[citation.start : citation.end]
    expect(found == document.quote, "its offsets lead to the same letters in the document")


def _expect_value(answer: SealedAnswer, scenario: Scenario) -> None:
    dataset, citation = scenario.dataset, answer.citations[2]
    expect(citation.dataset_id == dataset.dataset_id, f"the value is of {dataset.dataset_id}")
    expect(citation.label == dataset.label, f"its label is {dataset.label}")
    expect(citation.value is not None, "it is not NULL")
    assert citation.value is not None
    expect(Decimal(citation.value) == dataset.total, f"its value is {dataset.total}")
    shown = f"{dataset.label} = {dataset.total_shown}"
    expect(answer.statements[2].text == shown, f"it is shown as {shown}")


def _expect_identities(answer: SealedAnswer) -> None:
    names = [_identity(citation) for citation in answer.citations]
    expect(len(set(names)) == len(names), "each statement has an identity of its own")


def _identity(citation: Citation) -> str:
    return citation.source_id or citation.dataset_id or ""


def _told(handle: AnswerHandle, answer: SealedAnswer) -> Mapping[str, Json]:
    return {
        "run_id": handle.run_id,
        "text": answer.text,
        "statements": [
            {"kind": statement.kind, "text": statement.text, "from": _identity(citation)}
            for statement, citation in zip(answer.statements, answer.citations, strict=True)
        ],
    }
