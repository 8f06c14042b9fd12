"""Sends attempts as one principal and keeps what came back, comparable between any two."""

from __future__ import annotations

import asyncio
import os
import re
import string
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import httpx

from chancery.kernel.ids import random_id
from tests.e2e.leaks.attempts import TABLE, Attempt, Ids, Sent
from tests.e2e.leaks.people import Person, Scene

AT_ONCE = 8
EVERY_PAIR = os.environ.get("CHANCERY_LEAKS") == "every-pair"
"""Whether every principal tries every route with the ids of each of the nine others."""

_EVER_NEW = frozenset({"date", "idempotency-key"})
_NUMBERS = {"number", "revision"}
_PATH_FIELDS = {
    route: frozenset(name for _, name, _, _ in string.Formatter().parse(route) if name)
    for route in TABLE
}


@dataclass(frozen=True, slots=True)
class Told:
    """What one request brought back: status, headers, body, and the ids that were sent in it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    sent: tuple[str, ...]
    trace_id: str

    def plain(self) -> str:
        """Return it without the trace id and without what the caller itself has sent."""
        text = f"{self.status} {self.headers} {self.body}".replace(self.trace_id, "~")
        for each in sorted(self.sent, key=len, reverse=True):
            text = text.replace(each, "~")
        return text


@dataclass(frozen=True, slots=True)
class Case:
    """One request: an attempt at a route with certain ids, as the table has it."""

    route: str
    attempt: Attempt
    ids: Mapping[str, str]

    def key(self) -> str:
        """Return what is the same for the same request."""
        return (
            f"{self.route} {TABLE[self.route].index(self.attempt)} {sorted(self.named().items())}"
        )

    def named(self) -> dict[str, str]:
        """Return the ids that this request names."""
        wanted = _PATH_FIELDS[self.route] | set(self.attempt.body)
        return {kind: self.ids[kind] for kind in wanted if kind in self.ids}


@dataclass(frozen=True, slots=True)
class Pair:
    """A foreign thing and one that is not there, asked for in the same way."""

    foreign: Case
    unknown: Case


def owners_for(scene: Scene, attacker: Person, route: str, turn: int) -> list[Person]:
    """Return whose things to try on a route: one owner of each sort, in turn another one.

    So every principal tries every route on every sort of owner, and meets every owner on some.
    """
    if EVERY_PAIR:
        return list(scene.others(attacker))
    sorts: dict[object, list[Person]] = {}
    for each in scene.others(attacker):
        together = each.part.place == attacker.part.place
        sort = each.part.visibility if together else each.part.place == "hall"
        sorts.setdefault((together, sort), []).append(each)
    found: list[Person] = []
    for several in sorts.values():
        first = turn % len(several)
        ordered = [*several[first:], *several[:first]]
        found += [one for one in ordered if pairs_for(scene, attacker, one, (route,))][:1]
    return found


def pairs_for(
    scene: Scene, attacker: Person, owner: Person, routes: Iterable[str] = TABLE
) -> list[Pair]:
    """Return every attempt at what `owner` has that may tell `attacker` something."""
    tried = [(route, attempt) for route in routes for attempt in TABLE[route]]
    pairs = [
        _pair(scene, attacker, owner, route, attempt, inside=inside)
        for route, attempt in tried
        for inside in (False, True)
    ]
    return list({pair.foreign.key(): pair for pair in reversed(pairs) if pair}.values())


def _pair(
    scene: Scene, attacker: Person, owner: Person, route: str, attempt: Attempt, *, inside: bool
) -> Pair | None:
    """Return an attempt inside the attacker's workspace or at the owner's, unless it is void."""
    same = attacker.ids["ws"] == owner.ids["ws"]
    together = same and attacker.part.place == owner.part.place
    own = {*attempt.own, *(("ws",) if inside or same else ())}
    role = attacker.part.role if attacker.part.place != "nowhere" else None
    if role in attempt.allowed and "ws" in own and "ws" in _PATH_FIELDS[route]:
        return None
    wanted = _PATH_FIELDS[route] | set(attempt.body)
    foreign = {kind for kind in wanted if kind in owner.ids and kind not in own}
    if together:
        # Everybody in a workspace knows its corpora: a declaration shows nobody anything.
        foreign.discard("corpus")
    if not foreign or not own & wanted <= set(attacker.ids):
        return None
    base = {**scene.unknown, **{kind: attacker.ids[kind] for kind in own & wanted}}
    if together and "corpus" in wanted:
        base["corpus"] = owner.ids["corpus"]
    return Pair(
        Case(route, attempt, {**base, **{kind: owner.ids[kind] for kind in foreign}}),
        Case(route, attempt, base),
    )


async def send_case(http: httpx.AsyncClient, token: str, case: Case) -> Told:
    """Send one request and return what came back."""
    method, template = case.route.split(" ", 1)
    numbers = dict.fromkeys(_NUMBERS, str(case.attempt.number))
    ids: Ids = {"grantee": "somebody", **case.ids, **numbers}
    path = template.format_map(ids) + case.attempt.query
    sent = case.attempt.sent(ids)
    return await send(http, token, method, path, sent=sent, ids=tuple(case.named().values()))


async def send(
    http: httpx.AsyncClient,
    token: str,
    method: str,
    path: str,
    *,
    sent: Sent | None = None,
    ids: tuple[str, ...] = (),
) -> Told:
    """Send one request in a trace of its own."""
    trace_id = random_id().replace("-", "")
    sent = sent or Sent()
    headers = {
        "Authorization": f"Bearer {token}",
        "traceparent": f"00-{trace_id}-{trace_id[:16]}-01",
        **sent.headers,
    }
    if sent.json is not None:
        response = await http.request(method, path, headers=headers, json=sent.json)
    else:
        response = await http.request(method, path, headers=headers, content=sent.content)
    kept = sorted((name, text) for name, text in response.headers.items() if name not in _EVER_NEW)
    return Told(response.status_code, tuple(kept), response.text, ids, trace_id)


async def send_all(
    http: httpx.AsyncClient, person: Person, cases: Iterable[Case]
) -> dict[str, Told]:
    """Send requests, a few at a time and each once; return what came back by the case's key."""
    turns = asyncio.Semaphore(AT_ONCE)
    wanted = {case.key(): case for case in cases}

    async def one(case: Case) -> Told:
        async with turns:
            return await send_case(http, person.token, case)

    told = await asyncio.gather(*(one(case) for case in wanted.values()))
    return dict(zip(wanted, told, strict=True))


@dataclass(frozen=True, slots=True)
class Seen:
    """What an attacker got for a foreign thing, and for one that is not there."""

    attacker: Person
    owner: Person
    pair: Pair
    foreign: Told
    unknown: Told


async def attack(
    http: httpx.AsyncClient, scene: Scene, attacker: Person, owner: Person | None = None
) -> list[Seen]:
    """Try every route as `attacker`, with what `owner` has or each sort of owners in turn."""
    pairs: list[tuple[Person, Pair]] = []
    for turn, route in enumerate(TABLE):
        owners = owners_for(scene, attacker, route, turn) if owner is None else [owner]
        for each in owners:
            pairs += [(each, pair) for pair in pairs_for(scene, attacker, each, (route,))]
    cases = [case for _, pair in pairs for case in (pair.foreign, pair.unknown)]
    told = await send_all(http, attacker, cases)
    return [
        Seen(attacker, whose, pair, told[pair.foreign.key()], told[pair.unknown.key()])
        for whose, pair in pairs
    ]


def findings(scene: Scene, seen: Iterable[Seen]) -> list[str]:
    """Return what anybody was told that they may not know."""
    return [line for each in seen for line in _findings(scene, each)]


def _findings(scene: Scene, seen: Seen) -> list[str]:
    foreign, unknown = seen.foreign.plain(), seen.unknown.plain()
    told = f"{seen.attacker.part} {seen.pair.foreign.route} of {seen.owner.name}: {foreign[:700]}"
    found: list[str] = []
    if marks := marks_in(foreign, scene.foreign_marks(seen.attacker)):
        found.append(f"marks {marks}: {told}")
    if foreign != unknown:
        found.append(f"differs: {told} / {unknown[:700]}")
    elif seen.foreign.status < HTTPStatus.BAD_REQUEST:
        found.append(f"not refused: {told}")
    return found


def marks_in(text: str, marks: Collection[str]) -> list[str]:
    """Return the marks that stand anywhere in a text, in whatever case."""
    lowered = text.lower()
    return sorted(mark for mark in marks if mark in lowered)


_PLACES = re.compile(r'"\w*(?:sequence|checkpoint|barrier|index_position|duration_ms)":\d+')
_MOMENTS = re.compile(r'"(?:as_of|decided_at|deadline|cut_payload|signature)":"[^"]*"')
_NAMES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}")


def levelled(text: str) -> str:
    """Return a text without ids, hashes, moments and places in the log."""
    for pattern in (_MOMENTS, _PLACES, _NAMES):
        text = pattern.sub("~", text)
    return text
