"""What a principal finds, lists, counts and is answered holds nothing of the nine others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Final

import httpx
import pytest
from pydantic import BaseModel

from chancery.client.errors import ProblemError
from chancery.client.http import Chancery
from chancery.client.knowledge import Draft, Evidence
from chancery.client.workspace import Table
from chancery.events.authority import Measure
from chancery.kernel.canonical import Json
from tests.e2e.leaks.attempts import Sent
from tests.e2e.leaks.building import invite
from tests.e2e.leaks.people import Person, Scene
from tests.e2e.leaks.trying import Told, levelled, marks_in, send
from tests.e2e.world import World

LISTS: Final = ("sources", "items")
VIEWS: Final = ("", "/answer", "/audit", "/bundle", "/events")
SELECTED: Final = ("source", "item", "dataset", "file")
OPEN: Final = ("/openapi.json", "/metrics", "/healthz", "/readyz")
STATEMENTS: Final = (
    'SELECT * FROM "{shared}"',
    'FROM "{shared}"',
    'SELECT region, count(*), sum(amount), max(name) FROM "{shared}" GROUP BY ALL ORDER BY 1',
    "SELECT COLUMNS('.*') FROM \"{shared}\"",
    'SELECT nothing FROM "{shared}"',
    "SELECT 1 / (amount - 10) FROM \"{shared}\" WHERE region IN ('admin', 'reader')",
    "SHOW TABLES",
    "SELECT * FROM information_schema.tables",
)
QUESTION: Final = "Where does the pump stand?"


class Coverage(BaseModel):
    """How much of what a caller may read was searched."""

    eligible: int
    ready: int
    pending: int
    failed: int
    unavailable: int


class Covered(BaseModel):
    """A reply that says how much it covers."""

    coverage: Coverage


def housed(scene: Scene) -> tuple[Person, ...]:
    """Return those who have a workspace."""
    return tuple(each for each in scene.people if each.part.place != "nowhere")


def in_workspace(person: Person, path: str) -> str:
    """Return a path below the workspace of a principal."""
    return f"/v1/workspaces/{person.ids['ws']}/{path}"


async def post(http: httpx.AsyncClient, person: Person, path: str, **body: Json) -> Told:
    """Post JSON below the principal's workspace; what it says itself is levelled in the reply."""
    return await send(http, person.token, "POST", in_workspace(person, path), sent=Sent(json=body))


def assert_clean(scene: Scene, person: Person, *told: Told) -> None:
    """Check that nothing in what was received is a mark of others."""
    marks = scene.foreign_marks(person)
    assert [(person.part, marks_in(each.plain(), marks), each) for each in told
            if marks_in(each.plain(), marks)] == []  # fmt: skip


@pytest.mark.req("CL-12", "CR-7")
async def test_listings(scene: Scene, http: httpx.AsyncClient) -> None:
    for person in scene.people:
        workspaces, files, *others = [
            await send(http, person.token, "GET", path)
            for path in ("/v1/workspaces", "/v1/files", *OPEN)
        ]
        assert_clean(scene, person, workspaces, files, *others)
        assert [each["id"] for each in json.loads(files.body)["files"]] == [person.ids["file"]]
        held = [each["workspace_id"] for each in json.loads(workspaces.body)["workspaces"]]
        assert held == ([] if person.part.place == "nowhere" else [person.ids["ws"]])
    for person in housed(scene):
        for kind, name in zip(LISTS, ("resources", "items"), strict=True):
            listed = await send(http, person.token, "GET", in_workspace(person, kind))
            assert_clean(scene, person, listed)
            found = [each["id"] for each in json.loads(listed.body)[name]]
            assert found == [person.ids[kind.removesuffix("s")]]


@pytest.mark.req("CL-12", "CR-7")
async def test_searches(scene: Scene, http: httpx.AsyncClient) -> None:
    for person in housed(scene):
        found = await post(http, person, "search", query="pump stands hall item notes", k=50)
        assert_clean(scene, person, found)
        hits = json.loads(found.body)["hits"]
        named = {hit.get("source_id") or hit.get("item_id") for hit in hits}
        assert named == {person.ids["source"], person.ids["item"]}
        assert Covered.model_validate_json(found.body).coverage.eligible == len(named)

        words = [each.flavours["text"] for each in housed(scene) if each is not person]
        nothing = await post(http, person, "search", query=scene.unknown["source"])
        for word in words:
            told = await post(http, person, "search", query=word)
            assert levelled(told.plain()) == levelled(nothing.plain())
        own = await post(http, person, "search", query=person.flavours["text"])
        assert person.flavours["text"] in own.body


@pytest.mark.req("CR-27", "CR-7")
async def test_rows_and_columns_of_a_shared_table(scene: Scene, http: httpx.AsyncClient) -> None:
    for person in housed(scene):
        if person.part.place != "hall":
            continue
        start = in_workspace(person, f"datasets/{scene.shared}")
        told = [
            await send(http, person.token, "GET", f"{start}{rest}")
            for rest in ("", "/schema", "/snapshots/1")
        ]
        told += [
            await post(http, person, "query", sql=sql.format(shared=scene.shared))
            for sql in STATEMENTS
        ]
        assert_clean(scene, person, *told)
        own = "".join(each.body for each in told)
        assert all(mark in own for mark in scene.by_role[person.part.role]), person.part


@pytest.mark.req("KO-9", "CL-12", "CR-7")
async def test_selections(scene: Scene, http: httpx.AsyncClient) -> None:
    people = housed(scene)
    turns = asyncio.Semaphore(3)

    async def both(number: int, person: Person, kind: str) -> None:
        others = [each for each in scene.others(person) if kind in each.ids]
        owner = others[number % len(others)]
        async with turns:
            foreign = await select(http, person, kind, owner.ids[kind])
            unknown = await select(http, person, kind, scene.unknown[kind])
        assert_clean(scene, person, *foreign)
        assert [levelled(each.plain()) for each in foreign] == [
            levelled(each.plain()) for each in unknown
        ], (person.part, kind, owner.part)
        assert '"outcome":"source_access"' in foreign[1].body

    async with asyncio.TaskGroup() as group:
        for number, person in enumerate(people):
            for turn, kind in enumerate(SELECTED):
                group.create_task(both(number + 2 * turn, person, kind))


@pytest.mark.req("KO-9", "CL-12")
async def test_answers(scene: Scene, http: httpx.AsyncClient) -> None:
    turns = asyncio.Semaphore(3)

    async def asked(person: Person) -> None:
        async with turns:
            kinds = ("source", "item", "file")
            own = [await select(http, person, kind, person.ids[kind]) for kind in kinds]
            free = await ask(http, person, question=QUESTION)
            data = await ask(http, person, question="What is the total amount?", mode="data")
        assert_clean(scene, person, *free, *data, *(each for told in own for each in told))
        marks = (person.flavours[where] for where in ("text", "body", "letter"))
        for told, mark in zip(own, marks, strict=True):
            assert mark in told[1].body, (person.part, mark)

    async with asyncio.TaskGroup() as group:
        for person in housed(scene):
            group.create_task(asked(person))


@pytest.mark.req("CL-13", "CL-12")
async def test_an_answer_whose_evidence_is_lost_shows_nothing_of_it(
    operator: Chancery, scene: Scene, http: httpx.AsyncClient
) -> None:
    owner, guest = scene.named(11), await invite(operator, scene, 22)
    desk = operator.acting_with(owner.token).workspace(owner.ids["ws"])
    source, marks = owner.ids["source"], {*owner.marks, *owner.flavours.values()}
    await desk.grant("sources", source, guest.name)
    await desk.grant("items", owner.ids["item"], guest.name)

    answered = [await select(http, guest, kind, owner.ids[kind]) for kind in ("source", "item")]
    # The item's own grant stands: what it rests on is lost.
    await desk.revoke_grant("sources", source, guest.name)
    withheld = [await views(http, guest, run_of(told)) for told in answered]

    for told, where in zip(answered, ("text", "body"), strict=True):
        assert owner.flavours[where] in told[1].body
        assert '"status":"sealed"' in told[1].body
    for told in withheld:
        assert '"status":"withheld"' in told[1].body
        assert [marks_in(each.body, marks) for each in told] == [[]] * len(VIEWS)


def run_of(told: Sequence[Told]) -> str:
    """Return the run that these views show."""
    return str(json.loads(told[0].body)["run_id"])


async def select(http: httpx.AsyncClient, person: Person, kind: str, name: str) -> list[Told]:
    """Ask of one selected thing and return all views of the run."""
    told = await ask(
        http, person, question=QUESTION if kind != "dataset" else "What is the total amount?",
        mode="auto", **{f"{kind}s": [name]},
    )  # fmt: skip
    return [Told(each.status, each.headers, each.body, (name,), each.trace_id) for each in told]


async def ask(http: httpx.AsyncClient, person: Person, **body: Json) -> list[Told]:
    """Ask in a new conversation, and return all views of the run."""
    opened = await post(http, person, "conversations")
    path = f"/v1/conversations/{json.loads(opened.body)['conversation_id']}/messages"
    posted = await send(http, person.token, "POST", path, sent=Sent(json=body))
    assert posted.status == 202, posted
    return await views(http, person, json.loads(posted.body)["run_id"])


async def views(http: httpx.AsyncClient, person: Person, run_id: str) -> list[Told]:
    """Return all views of a run, once it has ended."""
    start = f"/v1/runs/{run_id}"
    # The stream ends with the run.
    events = await send(http, person.token, "GET", f"{start}/events")
    told = [await send(http, person.token, "GET", f"{start}{view}") for view in VIEWS[:-1]]
    frames = sorted(levelled(events.body).split("\n\n"))
    return [*told, Told(events.status, events.headers, "\n\n".join(frames), (), events.trace_id)]


@pytest.mark.req("CL-12", "CL-13", "KO-9")
async def test_what_is_added_out_of_sight_changes_no_count(
    operator: Chancery, scene: Scene, http: httpx.AsyncClient
) -> None:
    owner, watching = await invite(operator, scene, 20), housed(scene)
    before = [await counted(http, person) for person in watching]
    own = await counted(http, owner)

    await add(operator.acting_with(owner.token), owner)

    assert [await counted(http, person) for person in watching] == before
    after = await counted(http, owner)
    # A source and an item more: the owner's own counts show that there was something to see.
    assert [each.eligible for each in after] == [each.eligible + 2 for each in own]


@pytest.mark.req("CR-27", "CR-7")
async def test_a_draft_on_unseen_evidence_is_not_there_for_other_curators(
    http: httpx.AsyncClient, world: World
) -> None:
    await world.operator.workspace(world.id).add_member(world.reader_name, "curator")
    await world.document("hidden", "The hidden text.\n", title="Hidden", access="restricted")
    items, evidence = world.desk.items, (Evidence("source", "hidden", 1),)
    saved = await items.save_draft("open", Draft(title="Open", text="Open.\n"))
    await items.publish("open", saved)
    for item in ("open", "other"):
        draft = Draft(title="Secret", text="Secret.\n", evidence=evidence)
        await items.save_draft(item, draft)

    async def told(client: Chancery) -> list[Told]:
        start, token = f"/v1/workspaces/{world.id}/items", str(client.transport.token)
        paths = ("", "/open", "/other", "/nothing")
        return [await send(http, token, "GET", f"{start}{path}") for path in paths]

    curator, publisher = await told(world.reader), await told(world.publisher)

    marks = ("hidden", "other", "secret")
    assert [marks_in(each.body, marks) for each in curator] == [[]] * len(curator)
    assert curator[2].plain() == curator[3].plain()
    assert [marks_in(each.body, ("hidden", "secret")) for each in publisher[1:3]] == [
        ["hidden", "secret"]
    ] * 2
    assert [each.status for each in publisher] == [200, 200, 200, 404]
    with pytest.raises(ProblemError) as refused:
        await world.reader.workspace(world.id).items.save_draft("other", Draft(title="T", text="x"))
    assert refused.value.status == 404


async def counted(http: httpx.AsyncClient, person: Person) -> Sequence[Coverage]:
    """Return how much a search and an answer of a principal cover."""
    found = await post(http, person, "search", query="pump")
    answered = await ask(http, person, question=QUESTION, mode="rag")
    return [Covered.model_validate_json(each.body).coverage for each in (found, answered[1])]


async def add(client: Chancery, owner: Person) -> None:
    """Publish and upload what only `owner` may see, and wait until it can be found."""
    desk, word = client.workspace(owner.ids["ws"]), owner.name
    text = f"The {word} pump stands in the hall.\n"
    await desk.declare_source(f"more{word}", f"More {word}", visibility="private")
    await desk.publish_text(f"more{word}", text)
    saved = await desk.items.save_draft(
        f"more{word}", Draft(title=f"More {word}", text=text, visibility="private")
    )
    await desk.items.publish(f"more{word}", saved)
    measure = Measure(name=f"more {word}", aggregate="sum", column="amount")
    table = Table(title=f"More {word}", visibility="private", measures=(measure,))
    await desk.declare_dataset(f"more{word}", table)
    await desk.publish_snapshot(f"more{word}", f"amount,{word}\n7,8\n".encode())
    uploaded = await client.files.upload(text.encode(), "text/markdown", title=f"More {word}")
    await desk.wait_until_ready(f"more{word}", 1)
    await desk.items.wait_until_ready(f"more{word}")
    await client.files.wait_until_ready(uploaded.file_id)
