"""Ten principals with disjoint scopes over one system: nothing of another's shows anywhere."""

from __future__ import annotations

from collections import Counter

import httpx
import pytest

from chancery.client.http import Chancery
from chancery.testkit.waiting import eventually
from tests.e2e.leaks.attempts import TABLE, WITHOUT_IDS
from tests.e2e.leaks.people import Person, Scene
from tests.e2e.leaks.trying import (
    Case,
    Seen,
    Told,
    attack,
    findings,
    marks_in,
    send,
    send_all,
    send_case,
)
from tests.e2e.running import System
from tests.e2e.test_attacks import Surface
from tests.e2e.tracing import spans_of

METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})
REQUEST_SPAN = ("gateway", "http.request")
TAKEN = (
    "PUT /v1/workspaces/{ws}/sources/{source}",
    "POST /v1/workspaces/{ws}/sources",
    "PUT /v1/workspaces/{ws}/datasets/{dataset}",
    "POST /v1/workspaces/{ws}/items/{item}/drafts",
    "PUT /v1/workspaces/{ws}/items/{item}/drafts/{draft}",
)
"""Routes on which who may publish finds out that an id of the workspace is taken."""


async def test_every_route_of_the_surface_is_tried(http: httpx.AsyncClient) -> None:
    surface = Surface.model_validate_json((await http.get("/openapi.json")).content)

    routes = {
        f"{verb.upper()} {path}"
        for path, verbs in surface.paths.items()
        for verb in verbs
        if verb in METHODS
    }

    assert routes - set(TABLE) - set(WITHOUT_IDS) == set(), "write down how these are tried"
    assert (set(TABLE) | set(WITHOUT_IDS)) - routes == set()
    assert [each for each in WITHOUT_IDS if "{" in each] == []


@pytest.mark.req("KO-9", "CL-12", "CR-7", "CR-27")
async def test_what_is_foreign_is_answered_as_what_is_not_there(
    scene: Scene, assault: list[Seen]
) -> None:
    assert findings(scene, assault) == []
    tried = {(each.attacker.name, each.pair.foreign.route) for each in assault}
    for person in scene.people:
        inside = {route for name, route in tried if name == person.name}
        allowed = {
            route for route, attempts in TABLE.items() if all(one.allowed for one in attempts)
        }
        assert set(TABLE) - inside <= allowed, person.part
    met = {(each.attacker.name, each.owner.name) for each in assault}
    assert len(met) == len(scene.people) * (len(scene.people) - 1)


@pytest.mark.req("KO-9")
async def test_what_is_foreign_takes_the_same_steps_as_what_is_not_there(
    system: System, assault: list[Seen]
) -> None:
    wanted = {told.trace_id for each in assault for told in (each.foreign, each.unknown)}
    steps: dict[str, Counter[tuple[str, str]]] = {}

    def differing() -> list[tuple[object, ...]]:
        return [
            (each.attacker.part, each.pair.foreign.route, foreign, unknown)
            for each in assault
            if (foreign := steps[each.foreign.trace_id])
            != (unknown := steps[each.unknown.trace_id])
        ]

    def complete() -> bool:
        """Read what was written: a span may be written a moment after its answer was sent."""
        found: dict[str, Counter[tuple[str, str]]] = {trace: Counter() for trace in wanted}
        for span in spans_of(system):
            if span.trace_id in found:
                found[span.trace_id][span.service, span.name] += 1
        steps.update(found)
        every = all(counted[REQUEST_SPAN] == 1 for counted in found.values())
        return every and not differing()

    await eventually(complete, within_s=120)
    assert differing() == []
    assert {counted[REQUEST_SPAN] for counted in steps.values()} == {1}
    # An owner was asked about nearly all of it, so that there are steps to compare.
    asked = [each for each in assault if steps[each.foreign.trace_id].total() > 1]
    assert len(asked) > len(assault) * 0.8


@pytest.mark.req("KO-9", "CR-27")
async def test_whoever_may_publish_learns_of_a_taken_id_and_nothing_more(
    scene: Scene, http: httpx.AsyncClient
) -> None:
    for number in (11, 12):
        publisher = scene.named(number)
        for owner in scene.others(publisher):
            if owner.part.place != publisher.part.place:
                continue
            cases = [Case(route, TABLE[route][0], owner.ids) for route in TAKEN]
            for told in (await send_all(http, publisher, cases)).values():
                assert marks_in(told.plain(), scene.foreign_marks(publisher)) == []
                assert told.status in {202, 404, 409}, told.plain()
    # Nothing of it was overwritten.
    for owner in scene.people:
        if owner.part.place == "hall":
            assert owner.flavours["title"] in (await read(http, owner, "source")).body
            assert owner.flavours["rows"] in (await read(http, owner, "dataset")).body
            assert owner.flavours["item"] in (await read(http, owner, "item")).body


async def test_its_owner_sees_each_mark(scene: Scene, http: httpx.AsyncClient) -> None:
    for person in scene.people:
        cases = [
            Case(route, attempt, person.ids)
            for route, attempts in TABLE.items()
            for attempt in attempts
            if reads(route, person) and attempt.shows and attempt.number == 1
        ]
        told = await send_all(http, person, cases)
        for case in cases:
            received = told[case.key()]
            assert received.status == 200, (case, received)
            assert marks_in(received.body, person.marks), (case, received)
        files = await send(http, person.token, "GET", "/v1/files")
        everything = "".join([files.body, *(each.body for each in told.values())])
        hidden = {"letter", "draft"} if person.part.role == "reader" else {"letter"}
        unseen = {where for where, mark in person.flavours.items() if mark not in everything}
        assert unseen <= hidden, person.part


def reads(route: str, person: Person) -> bool:
    """Tell whether a route shows somebody what they have, and leaves it as it is."""
    if route.endswith(("/search", "/query")):
        return person.part.place != "nowhere"
    named = route.startswith("GET ") and "{" in route
    return named and (person.part.place != "nowhere")


async def read(http: httpx.AsyncClient, person: Person, kind: str) -> Told:
    """Return one thing of a principal as that principal reads it."""
    route = f"GET /v1/workspaces/{{ws}}/{kind}s/{{{kind}}}"
    return await send_case(http, person.token, Case(route, TABLE[route][0], person.ids))


@pytest.mark.req("KO-9", "CL-12")
async def test_a_grant_too_many_is_found(
    operator: Chancery, scene: Scene, http: httpx.AsyncClient
) -> None:
    owner, attacker = scene.named(11), scene.named(15)
    desk = operator.acting_with(owner.token).workspace(owner.ids["ws"])

    await desk.grant("sources", owner.ids["source"], attacker.name)
    wrong = findings(scene, await attack(http, scene, attacker, owner))
    await desk.revoke_grant("sources", owner.ids["source"], attacker.name)
    mended = findings(scene, await attack(http, scene, attacker, owner))

    assert any(line.startswith("marks") and owner.flavours["text"] in line for line in wrong)
    assert any(line.startswith("differs") and "/status" in line for line in wrong)
    assert mended == []
