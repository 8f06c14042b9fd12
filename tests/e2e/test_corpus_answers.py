"""Corpora over HTTP: asked by request pairs, and who may see what their answers are, until when."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from chancery.client.errors import ProblemError
from chancery.client.handles import AnswerHandle
from chancery.client.http import Ask
from chancery.client.replies import RefusedAnswer, SealedAnswer
from chancery.verify.verify import verify_bundle
from tests.e2e.curating import (
    ABOUT_GUIDE,
    ABOUT_LAW,
    LAW,
    cited,
    item,
    problem,
    refused,
    sealed,
    whole,
)
from tests.e2e.handbook import LINE, PAIR, REQUEST, asked, corpora, declared, ended, place
from tests.e2e.running import System
from tests.e2e.world import World, send


@pytest.mark.req("CL-6", "CL-7", "CL-11")
async def test_one_request_pair_starts_one_run_and_other_content_is_refused(
    world: World,
) -> None:
    corpus = await declared(world)
    started = [await corpus.answer("Handbook", asked()) for _ in range(2)]
    at_once = await asyncio.gather(*(corpus.answer("Handbook", asked(revision=4)) for _ in "abc"))
    answer = await world.reader.answer(await ended(world, started[0]))
    run = await corpus.reconcile("Handbook", str(PAIR["source"]), 3)
    shown = await send(world.reader, "POST", place(world, "/reconcile"), json=PAIR)
    others = [
        await problem(world.reader, "POST", place(world, "/answer"), REQUEST | changed)
        for changed in ({"question": "Else?"}, {"max_sources": 7}, {"profile": "other"})
    ]
    theirs = await corpora(world.publisher, world).answer("Handbook", asked())

    assert started[0].run_id == started[1].run_id
    assert len({each.run_id for each in at_once}) == 1
    assert at_once[0].run_id != started[0].run_id
    assert theirs.run_id != started[0].run_id
    assert isinstance(answer, SealedAnswer)
    assert cited(answer) == {("source", "law")}
    assert [each[:2] for each in others] == [(409, "other_question")] * 3
    assert (run.source, run.revision, run.state) == (PAIR["source"], 3, "sealed")
    assert run.answer == {"run_id": run.run_id, "generation": 1}
    assert run.coverage is not None
    assert run.coverage["state"] == "complete"
    assert run.usage is None
    assert run.sequence > started[0].sequence
    for secret in ("town hall", "nine", "law", "Page"):
        assert secret not in shown.text


@pytest.mark.req("CL-10", "CL-14")
async def test_inadequate_evidence_is_a_run_with_a_null_answer(world: World) -> None:
    corpus = await declared(world)
    run = await corpus.answer("Handbook", asked("Who won the chess match?"))
    answer = await world.reader.answer(await ended(world, run))
    after = await corpus.reconcile("Handbook", str(PAIR["source"]), 3)
    handle = AnswerHandle(run.run_id, 1)

    assert isinstance(answer, RefusedAnswer)
    assert answer.outcome == "insufficient_evidence"
    assert (after.state, after.answer) == ("refused", None)
    assert not await corpus.is_available("Handbook", handle)


@pytest.mark.req("CL-5", "CL-6", "CR-10")
async def test_a_corpus_narrows_to_its_model_content_and_predicate(world: World) -> None:
    await item(world, "guide")
    await world.desk.declare_source("rule", "Rule", authority="normative", date="2024-01-01")
    rule = await world.desk.publish_text("rule", "The chess club opens at seven.\n")
    await world.desk.wait_until_ready("rule", rule.revision)
    await declared(world)
    reader = corpora(world.reader, world)
    found: dict[str, set[tuple[str, str]]] = {}
    questions = f"{ABOUT_GUIDE} {ABOUT_LAW} When does the chess club open?"
    lines = {
        "all": LINE,
        "versions": LINE.replace("Revision", "Version").replace(",attachments", ""),
        "normative": LINE.replace("live(", "normative("),
        "dated": LINE.replace("live(", "dated("),
        "documents": LINE.replace("body,attachments", "document"),
    }
    for number, (name, line) in enumerate(lines.items(), start=10):
        await world.desk.corpora.declare("Handbook", line)
        run = await reader.answer("Handbook", asked(questions, revision=number))
        answer = await world.reader.answer(await ended(world, run))
        found[name] = cited(answer) if isinstance(answer, SealedAnswer) else set()

    assert found == {
        "all": {("source", "law"), ("source", "rule")},
        "versions": {("item", "guide")},
        "normative": {("source", "rule")},
        "dated": {("source", "rule")},
        "documents": set(),
    }


@pytest.mark.req("CL-6", "CL-9")
async def test_status_and_refresh_know_only_exact_eligible_revisions(world: World) -> None:
    reader = await declared(world)
    await world.document("hidden", LAW, access="restricted")
    await item(world, "guide")
    known = await reader.status("Handbook", "law", 1)
    again = await world.desk.corpora.refresh("Handbook", "law", 1)
    missing = [
        await problem(world.reader, "GET", place(world, f"/status/{name}/{number}"))
        for name, number in (("law", 2), ("nothing", 1), ("hidden", 1), ("guide", 1))
    ]
    unrefreshed = await problem(
        world.reader, "POST", place(world, "/refresh"), {"source": "hidden", "revision": 1}
    )
    await world.desk.corpora.declare("Handbook", LINE.replace("live(", "normative("))
    narrowed = await problem(world.reader, "GET", place(world, "/status/law/1"))

    assert (known.source, known.revision, known.state) == ("law", 1, "ready")
    assert again.state in {"ready", "pending"}
    assert {each[:2] for each in missing} == {(404, "source_not_found")}
    assert unrefreshed == missing[0] == narrowed


@pytest.mark.req("CL-6")
async def test_status_and_available_append_nothing_to_the_log(world: World) -> None:
    corpus = await declared(world)
    run = await corpus.answer("Handbook", asked())
    handle = await ended(world, run)
    before = await world.desk.declare_source("one", "One")
    for _ in range(3):
        assert (await corpus.status("Handbook", "law", 1)).state == "ready"
        assert await corpus.is_available("Handbook", handle)
        assert not await corpus.is_available("Handbook", None)
    after = await world.desk.declare_source("two", "Two")
    shown = await corpus.reconcile("Handbook", str(PAIR["source"]), 3)

    assert after.sequence == before.sequence + 1
    assert shown.sequence == (await corpus.answer("Handbook", asked())).sequence


@pytest.mark.req("CL-12", "CL-13", "CL-14", "CR-6")
async def test_available_follows_what_the_answer_rests_on(world: World) -> None:
    corpus = await declared(world)
    run = await corpus.answer("Handbook", asked())
    handle = await ended(world, run)
    null = await corpus.is_available("Handbook", None)
    before = await corpus.is_available("Handbook", handle)
    foreign = [
        await problem(
            client,
            "POST",
            place(world, "/available"),
            {"answer": {"run_id": run.run_id, "generation": 1}},
        )
        for client in (world.publisher, world.operator, world.stranger)
    ]
    unknown = await problem(
        world.reader,
        "POST",
        place(world, "/available"),
        {"answer": {"run_id": "no-run", "generation": 1}},
    )
    elsewhere = await sealed(world.reader, world, Ask(question=ABOUT_LAW))
    other = await problem(
        world.reader,
        "POST",
        place(world, "/available"),
        {"answer": {"run_id": elsewhere.run_id, "generation": 1}},
    )
    await world.desk.withdraw("sources", "law")
    after = await corpus.is_available("Handbook", handle)
    await world.desk.restore_source("law")
    restored = await corpus.is_available("Handbook", handle)

    assert (null, before, after, restored) == (False, True, False, True)
    assert [each[:2] for each in foreign[:2]] == [(404, "run_not_found")] * 2
    assert foreign[2][0] == 404
    assert unknown[:2] == other[:2] == (404, "run_not_found")


@pytest.mark.req("CL-6", "CL-7", "CL-14")
async def test_a_retried_request_keeps_its_pair_its_corpus_and_its_newest_answer(
    world: World,
) -> None:
    await item(world, "guide")
    corpus = await declared(world)
    run = await corpus.answer("Handbook", asked())
    await ended(world, run)
    await world.reader.retry(run.run_id)
    await ended(world, run)

    after = await corpus.answer("Handbook", asked())
    bundle = await world.reader.bundle(run.run_id)
    available = [
        await corpus.is_available("Handbook", AnswerHandle(run.run_id, number))
        for number in (1, 2, None)
    ]

    assert (after.run_id, after.generation, after.state) == (run.run_id, 2, "sealed")
    assert after.coverage is not None
    assert after.coverage["eligible"] == 1
    assert available == [False, True, True]
    assert verify_bundle(bundle).exit_code == 0


@pytest.mark.req("CL-12", "CL-13")
async def test_a_corpus_answer_is_its_askers_alone_and_a_later_declaration_keeps_it(
    world: World,
) -> None:
    corpus = await declared(world)
    run = await corpus.answer("Handbook", asked())
    await ended(world, run)

    await world.desk.corpora.declare("Handbook", LINE.replace("live(", "normative("))
    shown = await whole(world.reader, run.run_id)
    audit = json.loads(json.dumps(await world.reader.audit(run.run_id)))
    others = [
        await problem(client, "GET", f"/v1/runs/{run.run_id}/{view}")
        for client in (world.publisher, world.operator, world.stranger)
        for view in ("answer", "audit", "bundle", "events")
    ]
    await world.operator.workspace(world.id).remove_member(world.reader_name)

    assert shown["status"] == "sealed"
    core = audit["output_release"]["receipt"]["core"]
    assert core["corpus"]["id"] == "Handbook"
    assert {each[:2] for each in others} == {(404, "run_not_found")}
    assert (await whole(world.reader, run.run_id))["status"] == "withheld"


@pytest.mark.req("CR-9", "CL-6")
async def test_a_cancelled_request_ends_without_an_answer_and_stays_so(
    world: World, system: System
) -> None:
    corpus = await declared(world)
    name = str(PAIR["source"])
    states: dict[int, str] = {}
    with system.paused("execution"):
        early = await corpus.answer("Handbook", asked(revision=19))
        await corpus.cancel("Handbook", name, 19)
        await ended(world, early)
    # Of the later ones the answer or the cancellation comes first, as it happens.
    for number in range(19, 25):
        run = await corpus.answer("Handbook", asked(revision=number))
        await corpus.cancel("Handbook", name, number)
        await ended(world, run)
        first = await corpus.reconcile("Handbook", name, number)
        repeat = await corpus.answer("Handbook", asked(revision=number))
        assert (repeat.run_id, repeat.state) == (run.run_id, first.state)
        assert (first.answer is None) == (first.state != "sealed")
        states[number] = first.state
    done = await corpus.answer("Handbook", asked())
    await ended(world, done)
    late = await corpus.cancel("Handbook", name, 3)

    assert states[19] == "refused"
    assert late.state == "sealed"
    assert await refused(world.reader, world, Ask(question="Nothing at all?"))
    assert (await problem(world.reader, "POST", place(world, "/cancel"), {**PAIR, "revision": 99}))[
        :2
    ] == (404, "run_not_found")


@pytest.mark.req("CL-17")
async def test_a_policy_revision_that_is_not_current_is_refused(world: World) -> None:
    corpus = await declared(world)
    stale = await problem(
        world.reader, "POST", place(world, "/answer"), {**REQUEST, "policy_revision": "test-0"}
    )
    run = await corpus.answer("Handbook", asked())
    await ended(world, run)
    await world.operator.workspace(world.id).revise_policy("test-2")
    repeat = await corpus.answer("Handbook", asked())
    moved = await problem(world.reader, "POST", place(world, "/answer"), {**REQUEST, "revision": 4})

    assert stale == (422, "policy_not_current", "policy_revision")
    assert moved == stale
    assert repeat.run_id == run.run_id
    assert (await whole(world.reader, run.run_id))["status"] == "sealed"


@pytest.mark.req("CL-11", "CL-16")
async def test_a_handle_is_refused_as_text_and_answers_become_no_knowledge(world: World) -> None:
    corpus = await declared(world)
    run = await corpus.answer("Handbook", asked())
    handle = await ended(world, run)
    sources = await world.publisher.workspace(world.id).sources()

    uses: tuple[Callable[[AnswerHandle], object], ...] = (
        str,
        lambda each: f"{each}",
        lambda each: "a" + each,
        lambda each: each + "a",
    )
    for use in uses:
        with pytest.raises(TypeError):
            use(handle)
    assert isinstance(await world.reader.answer(handle), SealedAnswer)
    assert {each.id for each in sources} == {"law"}
    assert await world.desk.items.all() == ()
    with pytest.raises(ProblemError):
        await world.stranger.answer(handle)
