"""An incomplete corpus says so, how much is missing and why, and becomes complete by itself."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from pydantic import JsonValue

from chancery.client.knowledge import CorpusRun
from chancery.client.replies import Answer, RefusedAnswer, SealedAnswer
from chancery.extract.media import PDF
from chancery.kernel.canonical import sha256_hex
from chancery.testkit.waiting import eventually
from chancery.verify.verify import verify_bundle
from tests.e2e.handbook import LINE, PAIR, asked, declared, ended
from tests.e2e.running import System, command
from tests.e2e.world import World, send

CHESS = "The chess club opens at seven in the evening.\n"
ABOUT_BOTH = "When does the town hall open? When does the chess club open?"
ABOUT_CHESS = "When does the chess club open?"
INCOMPLETE: dict[str, JsonValue] = {
    "state": "incomplete",
    "eligible": 3,
    "ready": 1,
    "pending": 1,
    "failed": 1,
    "unavailable": 0,
}


async def broken(world: World) -> str:
    """Publish a document that cannot be read, and return the reason that is told of it."""
    await world.desk.declare_source("broken", "Broken")
    published = await world.desk.publish("broken", b"%PDF-1.7 nothing %%EOF", PDF)
    status = await world.desk.wait_until_ready("broken", published.revision)
    assert status.state == "failed"
    assert status.reason is not None
    return status.reason


async def answered(world: World, run: CorpusRun) -> Answer:
    """Return what a run of the reader ended with."""
    return await world.reader.answer(await ended(world, run))


def covered(answer: Answer) -> JsonValue:
    """Return the coverage that an answer or a refusal states."""
    assert isinstance(answer, SealedAnswer | RefusedAnswer)
    return answer.coverage


@pytest.mark.req("CL-2", "CL-1", "CL-4")
async def test_an_incomplete_corpus_names_what_is_missing_and_becomes_complete_by_itself(
    system: System, world: World
) -> None:
    corpus = await declared(world, LINE.replace("attachments", "attachments,document"))
    why = await broken(world)
    with system.paused("indexing"):
        await world.desk.declare_source("club", "Club")
        club = await world.desk.publish_text("club", CHESS)
        partial = await answered(world, await corpus.answer("Handbook", asked(ABOUT_BOTH)))
        nothing = await answered(world, await corpus.answer("Handbook", asked(ABOUT_CHESS, 4)))
        run = await corpus.reconcile("Handbook", str(PAIR["source"]), 3)
        found = await world.reader.workspace(world.id).search(ABOUT_CHESS)
    await world.desk.wait_until_ready("club", club.revision)
    later = await answered(world, await corpus.answer("Handbook", asked(ABOUT_CHESS, 5)))
    repaired = await world.desk.publish_text("broken", "Nothing of interest.\n")
    await world.desk.wait_until_ready("broken", repaired.revision)
    whole = await answered(world, await corpus.answer("Handbook", asked(ABOUT_BOTH, 6)))
    kept = await world.reader.answer(await world.reader.wait(run.run_id))

    incomplete = {**INCOMPLETE, "reasons": {why: 1, "not_indexed_yet": 1}}
    assert isinstance(partial, SealedAnswer)
    assert covered(partial) == run.coverage == incomplete
    assert "chess" not in partial.text
    assert isinstance(nothing, RefusedAnswer)
    assert covered(nothing) == incomplete
    assert found.coverage.model_dump() == incomplete
    assert isinstance(later, SealedAnswer)
    assert CHESS.strip() in later.text
    assert covered(later) == {**INCOMPLETE, "ready": 2, "pending": 0, "reasons": {why: 1}}
    assert isinstance(whole, SealedAnswer)
    assert covered(whole) == {
        "state": "complete",
        "eligible": 3,
        "ready": 3,
        "pending": 0,
        "failed": 0,
        "unavailable": 0,
    }
    assert kept == partial


@pytest.mark.req("CL-2")
async def test_the_receipt_and_the_command_tell_the_same_coverage(
    system: System, world: World
) -> None:
    await world.document("law", "The town hall opens at nine in the morning.\n")
    environment = {**system.environment, "CHANCERY_TOKEN": str(world.reader.transport.token)}
    question = "When does the town hall open?"
    with system.paused("indexing"):
        await world.desk.declare_source("club", "Club")
        club = await world.desk.publish_text("club", CHESS)
        shown = await asyncio.to_thread(command, ["ask", question, "-w", world.id], environment)
        answer = await world.ask(question)
    await world.desk.wait_until_ready("club", club.revision)
    after = await asyncio.to_thread(command, ["ask", question, "-w", world.id], environment)

    assert isinstance(answer, SealedAnswer)
    bundle = await world.reader.bundle(answer.run_id)
    audit = (await send(world.reader, "GET", f"/v1/runs/{answer.run_id}/audit")).json()
    assert verify_bundle(bundle).exit_code == 0
    assert audit["output_release"]["receipt"]["core"]["coverage"] == answer.coverage
    line = "incomplete: 1 of 2 searched; 1 pending (1 not_indexed_yet)"
    assert (shown.returncode, after.returncode) == (0, 0)
    assert line in shown.stderr
    assert "searched" not in after.stdout + after.stderr


@pytest.mark.req("CL-2", "KO-9")
async def test_coverage_counts_nothing_that_the_asker_may_not_read(world: World) -> None:
    await world.document("law", "The town hall opens at nine in the morning.\n")
    await world.desk.declare_source("secret", "Secret", visibility="private")
    published = await world.desk.publish("secret", b"%PDF-1.7 nothing %%EOF", PDF)
    await world.desk.wait_until_ready("secret", published.revision)

    theirs = covered(await world.ask("When does the town hall open?"))
    own = covered(await world.ask("When does the town hall open?", world.publisher))

    assert isinstance(theirs, dict)
    assert isinstance(own, dict)
    assert (theirs["state"], theirs["eligible"], theirs.get("reasons")) == ("complete", 1, None)
    assert (own["state"], own["eligible"], own["failed"]) == ("incomplete", 2, 1)
    assert isinstance(own["reasons"], dict)
    assert list(own["reasons"].values()) == [1]


@pytest.mark.req("CL-1", "CL-2")
async def test_a_document_whose_text_is_gone_is_unavailable_until_it_is_back(
    system: System, world: World
) -> None:
    await world.document("law", "The town hall opens at nine in the morning.\n")
    text = f"The club of {world.id} opens at seven.\n"
    revision = await world.document("club", text)
    (lost,) = (system.folder / "blobs").rglob(sha256_hex(text.encode()))
    question = "When does the town hall open?"

    async def is_(state: str) -> bool:
        return (await world.desk.status("club", revision)).state == state

    aside = lost.rename(system.folder / "aside")
    await world.desk.reconcile("club")
    await eventually(partial(is_, "unavailable"))
    missing = await world.ask(question)
    found = await world.reader.workspace(world.id).search(question)
    aside.rename(lost)
    await world.desk.refresh("club", revision)
    await eventually(partial(is_, "ready"))
    whole = await world.ask(question)

    counts = {"eligible": 2, "ready": 1, "pending": 0, "failed": 0, "unavailable": 1}
    reasons = {"extraction_missing": 1}
    assert isinstance(missing, SealedAnswer)
    assert covered(missing) == {"state": "incomplete", **counts, "reasons": reasons}
    assert found.coverage.model_dump() == covered(missing)
    told = covered(whole)
    assert isinstance(told, dict)
    assert (told["state"], told["ready"]) == ("complete", 2)


@pytest.mark.req("CL-7")
async def test_a_run_tells_its_progress_and_why_it_ended_early(
    system: System, world: World
) -> None:
    corpus = await declared(world)
    source = str(PAIR["source"])
    with system.paused("execution"):
        started = await corpus.answer("Handbook", asked())
        waiting = await corpus.reconcile("Handbook", source, 3)
        await corpus.cancel("Handbook", source, 3)
        await ended(world, started)
        cancelled = await corpus.reconcile("Handbook", source, 3)
    await answered(world, await corpus.answer("Handbook", asked(revision=4)))
    done = await corpus.reconcile("Handbook", source, 4)
    await answered(world, await corpus.answer("Handbook", asked("Who won at chess?", 5)))
    beside = await corpus.reconcile("Handbook", source, 5)
    fields = (await send(world.reader, "GET", f"/v1/runs/{done.run_id}")).json()

    for number, run in ((3, waiting), (3, cancelled), (4, done), (5, beside)):
        assert (run.source, run.revision) == (source, number)
        # Without a model there is nothing to be accounted for.
        assert run.usage is None
    assert started.sequence <= waiting.sequence < cancelled.sequence
    assert waiting.state in {"requested", "admitted", "gathered"}
    assert (waiting.coverage, waiting.answer, waiting.detail) == (None, None, None)
    assert (cancelled.state, cancelled.answer, cancelled.detail) == ("refused", None, "cancelled")
    assert cancelled.coverage is None
    assert (done.state, done.detail) == ("sealed", None)
    assert done.answer == {"run_id": done.run_id, "generation": 1}
    assert done.coverage is not None
    assert (beside.state, beside.answer, beside.detail) == ("refused", None, None)
    assert beside.coverage == done.coverage
    assert {"source", "revision", "sequence", "state", "coverage", "answer", "usage", "detail"} <= (
        fields.keys()
    )
