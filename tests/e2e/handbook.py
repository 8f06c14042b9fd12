"""A corpus that tests declare and ask, and one request to it."""

from __future__ import annotations

from chancery.client.handles import AnswerHandle
from chancery.client.http import Chancery
from chancery.client.knowledge import Corpora, CorpusAsk, CorpusRun
from tests.e2e.curating import ABOUT_LAW, source
from tests.e2e.world import World

LINE = (
    "corpus Handbook model=Revision scope=parent.parent title=title content=body,attachments "
    "where=live(row) from=deployment.knowledge"
)
YAML = """\
corpus: Handbook
model: Revision
scope: parent.parent
title: title
content: [body, attachments]
where: live(row)
from: deployment.knowledge
"""
JSON: dict[str, str | list[str] | None] = {
    "model": "Revision",
    "scope": "parent.parent",
    "title": "title",
    "content": ["body", "attachments"],
    "where": "live(row)",
    "from": "deployment.knowledge",
}
PAIR = {"source": "ticket 1 · ä", "revision": 3}
REQUEST = {**PAIR, "question": ABOUT_LAW, "profile": "desk", "policy_revision": "test-1"}


def place(world: World, path: str = "") -> str:
    """Return a path below the corpus of the workspace."""
    return f"/v1/workspaces/{world.id}/corpora/Handbook{path}"


def corpora(client: Chancery, world: World) -> Corpora:
    """Return the corpora as a caller sees them."""
    return client.workspace(world.id).corpora


def asked(question: str = ABOUT_LAW, revision: int = 3) -> CorpusAsk:
    """Return a question of the pair."""
    return CorpusAsk(
        source=str(PAIR["source"]),
        revision=revision,
        question=question,
        policy_revision="test-1",
    )


async def declared(world: World, line: str = LINE) -> Corpora:
    """Publish a document, declare the corpus, and return it as the reader sees it."""
    await source(world, "law")
    await world.desk.corpora.declare("Handbook", line)
    return corpora(world.reader, world)


async def ended(world: World, run: CorpusRun) -> AnswerHandle:
    """Wait for the end of a run."""
    return await world.reader.wait(run.run_id)
