"""Searching the running system: exact places, today's access, and excerpts in one call."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Generator
from contextlib import closing, contextmanager

import pypdfium2 as pdfium
import pytest

from chancery.client.errors import ProblemError
from chancery.client.found import Found, Rectangle
from chancery.client.http import Chancery
from chancery.events.authority import Visibility
from chancery.extract.media import PDF, XLSX
from chancery.testkit.waiting import eventually
from tests.e2e.running import System, command
from tests.e2e.test_documents import DOCUMENTS, FACT, publish
from tests.e2e.world import World, make_world, send

QUERY = "spare pump hall"
PAGE = f"# Pumps\n\nAn introduction. {FACT} 𝄞 The end.\n"


async def search(world: World, client: Chancery, *sources: str) -> Found:
    return await client.workspace(world.id).search(QUERY, sources=sources)


@contextmanager
def paused(system: System, service: str) -> Generator[None]:
    """Stop a service where it stands, and let it go on at the end."""
    process = system.child(service)
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@pytest.mark.req("KO-3", "CL-2")
@pytest.mark.parametrize("media_type", DOCUMENTS)
async def test_a_hit_opened_at_its_offsets_is_its_excerpt_in_each_type(
    world: World, media_type: str
) -> None:
    await publish(world, media_type, DOCUMENTS[media_type])

    found = await search(world, world.reader)

    text = await world.reader.workspace(world.id).text("pumps", 1)
    (hit,) = [hit for hit in found.hits if FACT in hit.excerpt]
    assert text[hit.start : hit.end] == hit.excerpt
    check = await send(
        world.reader,
        "POST",
        f"/v1/workspaces/{world.id}/sources/pumps/revisions/1/check",
        json={"text": FACT},
    )
    assert check.json()["verdict"] == "match"
    if media_type == PDF:
        assert check.json()["page"] == 3
    if media_type == XLSX:
        assert [(each.sheet, each.cell, each.value) for each in hit.cells or ()] == [
            ("Halls", "B2", FACT)
        ]
    assert (hit.page is not None, bool(hit.rectangles)) == (media_type == PDF, media_type == PDF)
    assert (found.coverage.state, found.coverage.ready) == ("complete", 1)


@pytest.mark.req("KO-3")
async def test_the_rectangles_of_a_hit_cover_its_words_on_the_page_and_nothing_else(
    world: World,
) -> None:
    await publish(world, PDF, DOCUMENTS[PDF])

    found = await search(world, world.reader)
    checked = await send(
        world.reader,
        "POST",
        f"/v1/workspaces/{world.id}/sources/pumps/revisions/1/check",
        json={"text": FACT},
    )

    (hit,) = [hit for hit in found.hits if FACT in hit.excerpt]
    assert hit.rectangles is not None
    fact = [Rectangle.model_validate(each) for each in checked.json()["rectangles"]]
    for told in (hit.rectangles, fact):
        of_page = [each for each in told if each.page == 3]
        boxes = character_boxes(DOCUMENTS[PDF], 3, FACT)
        assert len(boxes) == len(FACT.replace(" ", ""))
        assert all(any(covers(each, box) for each in of_page) for box in boxes)
    # The controls: other words are not covered by the lines of the fact, nor any by other pages.
    heading = character_boxes(DOCUMENTS[PDF], 3, "Halls")
    opening = character_boxes(DOCUMENTS[PDF], 1, "An empty introduction")
    assert not [box for box in heading if any(covers(each, box) for each in fact)]
    assert not [each for each in fact if each.page != 3]
    assert all(
        any(covers(each, box) for each in hit.rectangles if each.page == 1) for box in opening
    )
    assert all(
        each.top - each.bottom < 20 and each.right - each.left < 400 for each in hit.rectangles
    )


Box = tuple[float, float, float, float]


def character_boxes(data: bytes, page: int, words: str) -> list[Box]:
    """Return where PDFium itself draws the letters of `words`: left, bottom, right, top."""
    with closing(pdfium.PdfDocument(data)) as document:
        text = document[page - 1].get_textpage()
        found = text.search(words).get_next()  # pyright: ignore[reportUnknownMemberType]
        assert found is not None
        first, count = found
        letters = range(first, first + count)
        drawn = (each for each in letters if text.get_text_range(each, 1).strip())
        return [text.get_charbox(one) for one in drawn]  # pyright: ignore[reportUnknownMemberType]


def covers(rectangle: Rectangle, box: Box) -> bool:
    """Tell whether the letter stands in the rectangle, to a twentieth of a point."""
    left, bottom, right, top = box
    slack = 0.05
    return (
        rectangle.left - slack <= left
        and right <= rectangle.right + slack
        and rectangle.bottom - slack <= bottom
        and top <= rectangle.top + slack
    )


@pytest.mark.req("CL-12")
async def test_ten_readers_of_one_workspace_find_their_own_sources_only(
    operator: Chancery, world: World
) -> None:
    clients: list[Chancery] = []
    for number in range(10):
        name = f"reader{number}-{world.id}"
        clients.append(operator.acting_with((await operator.issue_credential(name)).token))
        await operator.workspace(world.id).add_member(name, "reader")
        await world.document(f"own{number}", PAGE, title=f"Of {number}", access="restricted")
        await world.desk.grant("sources", f"own{number}", name)

    found = await asyncio.gather(*(search(world, client) for client in clients))
    publisher = await search(world, world.publisher)
    refused: set[str] = set()
    for number, client in enumerate(clients):
        for source in (f"own{(number + 1) % 10}", "unknown"):
            with pytest.raises(ProblemError) as error:
                await search(world, client, source)
            problem = error.value
            detail = problem.detail.removesuffix(f": {source}")
            refused.add(f"{problem.status} {problem.code} {detail} {problem.field}")
            with pytest.raises(ProblemError):
                await search(world, client, f"own{number}", source)

    for number, each in enumerate(found):
        assert {hit.source_id for hit in each.hits} == {f"own{number}"}
        assert each.coverage.eligible == each.coverage.ready == 1
        assert f"Of {(number + 1) % 10}" not in each.model_dump_json()
    assert {hit.source_id for hit in publisher.hits} == {f"own{n}" for n in range(10)}
    assert refused == {"404 source_not_found there is no such source sources"}


@pytest.mark.req("CL-12")
@pytest.mark.parametrize("access", ["workspace", "restricted"])
async def test_a_stale_index_discloses_nothing_of_what_was_revoked(
    system: System, world: World, access: Visibility
) -> None:
    await world.document("pumps", PAGE, access=access)
    await world.document("open", "The spare pump hall is open.")
    await world.desk.grant("sources", "pumps", world.reader_name)
    before = await search(world, world.reader)

    with paused(system, "indexing"):
        if access == "workspace":
            await world.desk.withdraw("sources", "pumps")
        else:
            await world.desk.revoke_grant("sources", "pumps", world.reader_name)
        after = await search(world, world.reader)

    assert {hit.source_id for hit in before.hits} == {"pumps", "open"}
    assert {hit.source_id for hit in after.hits} == {"open"}
    assert after.coverage.eligible == 1
    assert FACT not in after.model_dump_json()


async def test_a_stranger_and_another_tenant_find_no_workspace(
    operator: Chancery, world: World
) -> None:
    await world.document("pumps", PAGE)
    other = await operator.issue_credential("eve", tenant=f"t-{world.id}")
    clients = (world.stranger, operator.acting_with(other.token))

    told: set[tuple[int, str, str]] = set()
    for client in clients:
        with pytest.raises(ProblemError) as refused:
            await search(world, client)
        told.add((refused.value.status, refused.value.code, refused.value.detail))

    assert len((await search(world, world.reader)).hits) == 1
    assert told == {(404, "workspace_not_found", "there is no such workspace")}


@pytest.mark.req("CL-2")
async def test_what_cannot_be_searched_is_counted(world: World) -> None:
    await world.document("pumps", PAGE)
    await world.desk.declare_source("broken", "Broken")
    published = await world.desk.publish("broken", b"%PDF-1.7 nothing %%EOF", PDF)
    status = await world.desk.wait_until_ready("broken", published.revision)
    assert status.state == "failed"

    found = await search(world, world.reader)

    assert found.coverage.model_dump() == {
        "state": "incomplete",
        "eligible": 2,
        "ready": 1,
        "pending": 0,
        "failed": 1,
        "unavailable": 0,
        "reasons": {status.reason: 1},
    }


async def test_the_command_prints_places_and_excerpts(system: System, world: World) -> None:
    await world.document("pumps", PAGE, title="All about pumps")
    environment = {**system.environment, "CHANCERY_TOKEN": str(world.reader.transport.token)}
    arguments = ["search", *QUERY.split(), "-w", world.id]

    shown = await asyncio.to_thread(command, arguments, environment)
    asked = await asyncio.to_thread(command, [*arguments, "--json"], environment)

    assert (shown.returncode, asked.returncode) == (0, 0)
    assert f"[1] All about pumps (pumps, revision 1, 0–{len(PAGE)})" in shown.stdout
    assert FACT in shown.stdout
    assert json.loads(asked.stdout)["hits"][0]["excerpt"] == PAGE


@pytest.mark.req("CR-18")
async def test_excerpts_are_literal_and_rlm_has_none(world: World) -> None:
    await world.document("pumps", PAGE)
    reader = world.reader.workspace(world.id)

    told = await reader.excerpts("Where does the spare pump stand?")
    off_topic = await reader.excerpts("Who wrote Moby Dick?")
    rlm = await reader.excerpts("Where does the spare pump stand?", mode="rlm")

    (citation,) = told.citations
    assert told.answer is not None
    assert citation.start is not None
    assert f"“{PAGE[citation.start : citation.end]}”" in told.answer
    assert FACT in PAGE[citation.start : citation.end]
    assert (told.no_answer, told.explanation) == (False, None)
    for each in (off_topic, rlm):
        assert (each.answer, each.citations, each.no_answer) == (None, (), True)
        assert each.explanation
    assert off_topic.explanation != rlm.explanation


async def test_searching_another_workspace_finds_nothing_of_this_one(
    operator: Chancery, world: World
) -> None:
    await world.document("pumps", PAGE)
    other = await make_world(operator, f"{world.id}-b")
    await other.document("none", "Nothing of the kind.")

    found = await search(other, other.reader)

    assert found.hits == ()
    assert found.coverage.eligible == 1


@pytest.mark.req("CL-6")
async def test_a_refresh_is_confirmed_and_granted_once_a_minute(
    system: System, world: World
) -> None:
    revision = await world.document("pumps", PAGE)
    reader = world.reader.workspace(world.id)
    assert (await search(world, world.reader)).coverage.state == "complete"

    first = await reader.refresh("pumps", revision, idempotency_key="k1")
    again = await reader.refresh("pumps", revision, idempotency_key="k1")
    with pytest.raises(ProblemError) as hasty:
        await reader.refresh("pumps", revision)
    with pytest.raises(ProblemError) as foreign:
        await world.stranger.workspace(world.id).refresh("pumps", revision)
    await world.desk.withdraw("sources", "pumps")
    with pytest.raises(ProblemError) as withdrawn:
        await reader.refresh("pumps", revision)

    assert (first.state, again.state) == ("ready", "ready")
    assert (hasty.value.status, hasty.value.code) == (429, "refreshed_recently")
    assert foreign.value.status == 404
    assert (withdrawn.value.status, withdrawn.value.code) == (409, "not_eligible")


@pytest.mark.req("KO-3")
async def test_a_query_of_more_words_than_are_searched_is_refused_and_a_question_is_not(
    world: World,
) -> None:
    await world.document("pumps", PAGE)
    reader, words = world.reader.workspace(world.id), [f"w{number}" for number in range(150)]

    found = await reader.search(" ".join([*words[1:], "pump"]))
    with pytest.raises(ProblemError) as refused:
        await reader.search(" ".join([*words, "pump"]))

    assert len(found.hits) == 1
    assert (refused.value.status, refused.value.code) == (422, "too_many_words")
    assert (refused.value.field, "150" in refused.value.detail) == ("query", True)
    assert (await world.ask(" ".join([*words, "pump"]))).status in {"sealed", "refused"}


@pytest.mark.req("CL-4", "CL-6")
async def test_lost_bytes_come_back_by_a_refresh(system: System, world: World) -> None:
    await publish(world, PDF, DOCUMENTS[PDF])
    reader = world.reader.workspace(world.id)
    pinned = await reader.revision("pumps", 1)
    (lost,) = (system.folder / "blobs").rglob(str(pinned.extraction_sha256))
    lost.unlink()
    with pytest.raises(ProblemError):
        await reader.text("pumps", 1)

    await reader.refresh("pumps", 1)

    await eventually(lost.exists)
    assert FACT in await reader.text("pumps", 1)
    reconciled = await reader.reconcile("pumps")
    assert reconciled.state in {"ready", "pending"}


async def test_the_search_index_is_rebuilt_beside_the_one_in_use(
    system: System, world: World
) -> None:
    await world.document("pumps", PAGE)
    tenant = system.folder / "index" / "default"
    assert (await search(world, world.reader)).coverage.state == "complete"
    before = {path.name for path in tenant.glob("*.fast")}
    arguments = ["projections", "rebuild", "search", "--data-dir", str(system.folder), "--json"]

    async with asyncio.TaskGroup() as group:
        rebuilding = group.create_task(asyncio.to_thread(command, arguments))
        found = [await search(world, world.reader)]
        while not rebuilding.done():
            found.append(await search(world, world.reader))
    after = await search(world, world.reader)

    assert rebuilding.result().returncode == 0, rebuilding.result().stderr
    assert json.loads(rebuilding.result().stdout) == {"event": "switched", "projection": "search"}
    assert all(len(each.hits) == 1 for each in [*found, after])
    assert before.isdisjoint(path.name for path in tenant.glob("*.fast"))


@pytest.mark.req("EV-6", "CR-18")
async def test_the_same_question_with_the_same_key_is_answered_once(world: World) -> None:
    await world.document("pumps", PAGE)
    path = f"/v1/workspaces/{world.id}/rag"
    key = {"Idempotency-Key": "one"}
    body = {"question": "Where does the spare pump stand?"}

    first = await send(world.reader, "POST", path, json=body, headers=key)
    again = await send(world.reader, "POST", path, json=body, headers=key)
    other = await send(world.reader, "POST", path, json={"question": "What?"}, headers=key)
    await world.desk.withdraw("sources", "pumps")
    withheld = await send(world.reader, "POST", path, json=body, headers=key)

    assert first.status_code == 200
    assert first.content == again.content
    assert other.status_code == 409
    assert withheld.json()["run_id"] == first.json()["run_id"]
    assert (withheld.json()["answer"], withheld.json()["citations"]) == (None, [])
    assert FACT not in withheld.text
