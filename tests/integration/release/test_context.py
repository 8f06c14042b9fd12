"""A question to a corpus that was given more context than a request may supply ends refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chancery.authority.names import corpus_ref
from chancery.events.authority_knowledge import CorpusDeclared
from chancery.events.corpora import AskCorpus, RunBegun
from chancery.events.run import (
    Bounds,
    GatheredPassage,
    ProposedQuote,
    RunAdmitted,
    RunGathered,
    RunRequested,
)
from chancery.events.topology import command_subject
from chancery.evidence.context import CONTEXT_PARTS_MAX, CONTEXT_SOURCES_MAX
from chancery.evidence.corpora import CorpusDeclaration
from chancery.evidence.parts import PART_CHARACTERS
from chancery.kernel.canonical import sha256_hex
from tests.integration.release.published import Published
from tests.integration.release.world import TENANT, WORKSPACE, World, parse

pytestmark = pytest.mark.integration

QUESTION = "Who owns reviews?"
SENTENCE = "Reviews are owned by Mara Lindt. "
LONG = SENTENCE * (PART_CHARACTERS * (CONTEXT_PARTS_MAX + 1) // len(SENTENCE) + 1)


async def asked(world: World, revision: int) -> RunAdmitted:
    """Ask the corpus as the gateway does, and return what release admitted."""
    question_sha256 = sha256_hex(QUESTION.encode())
    body = AskCorpus(
        workspace_id=WORKSPACE,
        corpus_id="Handbook",
        source="ticket 7",
        revision=revision,
        question_sha256=question_sha256,
        question_characters=len(QUESTION),
        bounds=Bounds(profile="default", policy_revision="0", max_sources=CONTEXT_SOURCES_MAX),
    )
    begun = await world.request(command_subject("release", "ask-corpus"), body, RunBegun)
    run_id = begun.asked.run_id
    await world.blobs.put_run(TENANT, run_id, QUESTION.encode())
    requested = RunRequested(
        run_id=run_id,
        workspace_id=begun.workspace_id,
        conversation_id=begun.asked.conversation_id,
        message=begun.message,
        credential_id=begun.credential_id,
        question_sha256=question_sha256,
        mode=begun.asked.mode,
        bounds=begun.asked.bounds,
        corpus=begun.asked.corpus,
    )
    await world.tell(run_id, "requested", requested)
    return await world.admitted(run_id)


async def declared(world: World) -> None:
    """Declare the corpus of everything that is text."""
    corpus = CorpusDeclaration(
        corpus="Handbook",
        model="Revision",
        scope="parent.parent",
        title="title",
        content=("body",),
        where="live(row)",
        binding="deployment.knowledge",
    )
    data = CorpusDeclared(
        workspace_id=WORKSPACE,
        corpus_id=corpus.corpus,
        **corpus.model_dump(exclude={"corpus"}),
        declarer="anna",
        declaration_sha256=corpus.sha256,
    )
    await world.append(corpus_ref(WORKSPACE, corpus.corpus), data)


async def ended(
    world: World, revision: int, passages: Sequence[GatheredPassage], quote: ProposedQuote
) -> tuple[str, object, bool]:
    """Play a run over these passages; return how it ended, its outcome, and whether it states."""
    admitted = await asked(world, revision)
    data = RunGathered(
        run_id=admitted.run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        passages=tuple(passages),
        index_position=admitted.index_sequence,
    )
    await world.tell(admitted.run_id, "gathered", data)
    await world.propose(admitted, quote)
    document = await world.ended(admitted.run_id)
    told = parse(document.json_text)
    return document.status, told.get("outcome"), bool({"statements", "citations"} & set(told))


def parts_of(source: Published, count: int) -> list[GatheredPassage]:
    """Return so many parts of a source as gathered passages."""
    whole = source.passage()
    return [
        whole.model_copy(update={"part_id": part.part_id, "start": part.start, "end": part.end})
        for part in source.manifest.parts[:count]
    ]


@pytest.mark.req("CL-9")
async def test_one_source_more_than_a_request_may_supply_is_refused_as_a_whole(
    world: World,
) -> None:
    await declared(world)
    sources = [
        await world.publish_source(f"s{number:02}", f"{SENTENCE}{number}")
        for number in range(CONTEXT_SOURCES_MAX + 1)
    ]
    passages = [source.passage() for source in sources]
    quote = sources[0].quote(SENTENCE.strip())

    greatest = await ended(world, 1, passages[:-1], quote)
    beyond = await ended(world, 2, passages, quote)

    assert greatest == ("sealed", None, True)
    assert beyond == ("refused", "scope_too_wide", False)


@pytest.mark.req("CL-9")
async def test_more_text_than_a_request_may_supply_is_refused_as_a_whole(world: World) -> None:
    await declared(world)
    source = await world.publish_source("long", LONG)
    quote = source.quote(SENTENCE.strip())

    greatest = await ended(world, 1, parts_of(source, CONTEXT_PARTS_MAX), quote)
    beyond = await ended(world, 2, parts_of(source, CONTEXT_PARTS_MAX + 1), quote)

    assert greatest == ("sealed", None, True)
    assert beyond == ("refused", "scope_too_wide", False)
