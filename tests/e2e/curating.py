"""What tests about curated items, private files and corpora do again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from chancery.client.http import Ask, Chancery
from chancery.client.knowledge import Draft, Evidence, PublishedVersion, SavedDraft
from chancery.client.replies import Answer, Citation, RefusedAnswer, SealedAnswer
from chancery.events.authority import Visibility
from tests.e2e.world import World, send

LAW = "# Hours\n\nThe town hall opens at nine in the morning.\n"
GUIDE = "The reading room opens at ten in the morning on weekdays.\n"
ABOUT_GUIDE = "When does the reading room open?"
ABOUT_LAW = "When does the town hall open?"


@dataclass(frozen=True, slots=True)
class Curated:
    """An item that serves, the draft that it was published from, and its version."""

    id: str
    saved: SavedDraft
    published: PublishedVersion


async def source(world: World, name: str, text: str = LAW) -> Evidence:
    """Publish a document and return it as evidence."""
    return Evidence("source", name, await world.document(name, text, title=f"Page {name}"))


async def item(
    world: World,
    name: str,
    text: str = GUIDE,
    *,
    evidence: Sequence[Evidence] = (),
    visibility: Visibility | None = None,
) -> Curated:
    """Publish a version of an item and wait for its view."""
    items = world.desk.items
    draft = Draft(title=f"Item {name}", text=text, evidence=evidence, visibility=visibility)
    saved = await items.save_draft(name, draft)
    published = await items.publish(name, saved, evidence)
    assert (await items.wait_until_ready(name)).state == "ready"
    return Curated(name, saved, published)


async def asking(client: Chancery, world: World, ask: Ask) -> Answer:
    """Ask in the workspace and return what the run ended with."""
    return await client.answer(await client.ask(world.id, ask))


async def sealed(client: Chancery, world: World, ask: Ask) -> SealedAnswer:
    """Ask and return the answer, which has to be sealed."""
    answer = await asking(client, world, ask)
    assert isinstance(answer, SealedAnswer), answer
    return answer


async def refused(client: Chancery, world: World, ask: Ask) -> str:
    """Ask and return the outcome of the refusal, which it has to be."""
    answer = await asking(client, world, ask)
    assert isinstance(answer, RefusedAnswer), answer
    return answer.outcome


def cited(answer: SealedAnswer) -> set[tuple[str, str]]:
    """Return the kind and id of everything that an answer cites."""
    return {_name(each) for each in answer.citations}


async def whole(client: Chancery, run_id: str) -> dict[str, JsonValue]:
    """Return the answer as JSON, whatever it has become."""
    return (await send(client, "GET", f"/v1/runs/{run_id}/answer")).json()


async def problem(
    client: Chancery, method: str, path: str, body: object = None
) -> tuple[int, str, str | None]:
    """Send JSON and return how it was refused: status, code and field."""
    response = await send(client, method, path, json=body)
    found = response.json()
    assert response.status_code >= 400, found
    return response.status_code, found["code"], found.get("field")


def _name(citation: Citation) -> tuple[str, str]:
    for kind, name in (
        ("source", citation.source_id),
        ("item", citation.item_id),
        ("file", citation.file_id),
        ("dataset", citation.dataset_id),
    ):
        if name is not None:
            return kind, name
    raise AssertionError(citation)
