"""Nobody learns from a reply, a log or a folder what they may not know, not even that it exists."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from pydantic import BaseModel

from chancery.authority.tokens import parse_token, proof_of
from chancery.client.http import Ask, Chancery
from chancery.client.replies import SealedAnswer
from chancery.client.workspace import Table
from chancery.events.authority import Measure
from chancery.kernel.ids import random_id
from tests.e2e.running import System
from tests.e2e.world import World, send

WORD = "quagmire"
MARK = f"{WORD}-7741"
PAGE = f"# {MARK} rota\n\nThe {MARK} group owns the vault inspections.\n"
ROWS = f"id,amount,{WORD}\n1,1250,{MARK}\n".encode()
UPLOAD = {"content": b"a,b\n1,2\n", "headers": {"Content-Type": "text/csv"}}
BODIES: Mapping[str, Mapping[str, object]] = {
    "PUT /v1/workspaces/{ws}/members/{principal}": {"json": {"role": "reader"}},
    "PUT /v1/workspaces/{ws}/policy": {"json": {"policy_revision": "p"}},
    "PUT /v1/workspaces/{ws}/sources/{source}": {"json": {"title": "T"}},
    "PUT /v1/workspaces/{ws}/datasets/{dataset}": {"json": {"title": "T"}},
    "POST /v1/workspaces/{ws}/sources/{source}/revisions": UPLOAD,
    "POST /v1/workspaces/{ws}/datasets/{dataset}/snapshots": UPLOAD,
    "POST /v1/workspaces/{ws}/sources/{source}/revisions/{number}/check": {"json": {"text": WORD}},
    "POST /v1/workspaces/{ws}/query": {"json": {"sql": "select * from secret"}},
    "POST /v1/conversations/{conversation}/messages": {"json": {"question": "Who?"}},
}
NAMES = ("ws", "source", "dataset", "run", "conversation", "credential")
UNKNOWN = dict.fromkeys(NAMES, "nothing-here")
MORE = ("item", "draft", "corpus", "file", "part", "group", "revision")
"""What stays unknown here; tests/e2e/leaks tries these too, from all sides."""
ELSE = {"number": "1", "principal": "somebody", "grantee": "somebody"} | dict.fromkeys(
    MORE, "nothing-here"
)


class Surface(BaseModel):
    """The part of the OpenAPI document that lists the routes."""

    paths: dict[str, dict[str, object]]


@dataclass(frozen=True, slots=True)
class Secret:
    """What one principal has and nobody else may know of."""

    owner: Chancery
    real: Mapping[str, str]


async def routes(system: System, *named: str) -> list[tuple[str, str]]:
    """Return method and path of every route that names one of these things."""
    async with httpx.AsyncClient(base_url=system.url) as client:
        surface = Surface.model_validate_json((await client.get("/openapi.json")).content)
    found = [(verb.upper(), path) for path, verbs in surface.paths.items() for verb in verbs]
    return [each for each in found if any(f"{{{name}}}" in each[1] for name in named)]


async def keep_secret(world: World) -> Secret:
    """Publish, declare, ask and be answered as a publisher whose things are private."""
    name = f"owner-{world.id}"
    credential = await world.operator.issue_credential(name)
    owner = world.operator.acting_with(credential.token)
    await world.operator.workspace(world.id).add_member(name, "publisher")
    desk = owner.workspace(world.id)
    await desk.declare_source("secret", f"The {MARK} papers", visibility="private")
    published = await desk.publish_text("secret", PAGE)
    await desk.wait_until_ready("secret", published.revision)
    measure = Measure(name=f"total {WORD}", aggregate="sum", column="amount")
    table = Table(title=f"The {MARK} rows", visibility="private", measures=(measure,))
    await desk.declare_dataset("secret", table)
    await desk.publish_snapshot("secret", ROWS)
    conversation = await desk.open_conversation()
    posted = await owner.post_message(conversation, Ask(question="Who owns vault inspections?"))
    answer = await owner.answer(await owner.wait(posted.run_id))
    assert isinstance(answer, SealedAnswer)
    assert MARK in answer.text
    things = (world.id, "secret", "secret", posted.run_id, conversation, credential.credential_id)
    return Secret(owner, dict(zip(NAMES, things, strict=True)))


async def reply(
    client: Chancery, route: tuple[str, str], things: Mapping[str, str]
) -> tuple[int, str, str]:
    """Return status, headers and body of one request, without what differs between any two."""
    method, path = route
    sent = BODIES.get(f"{method} {path}", {})
    response = await send(client, method, path.format(**things, **ELSE), **sent)
    own = {"idempotency-key", "date"}
    headers = sorted((name, text) for name, text in response.headers.items() if name not in own)
    return response.status_code, str(headers), re.sub(r'"trace_id":"\w+"', "", response.text)


async def compare(
    client: Chancery, found: list[tuple[str, str]], secret: Secret, **open_: str
) -> list[str]:
    """Return the routes on which `client` can tell what is there from what is not."""
    told: list[str] = []
    for route in found:
        there = await reply(client, route, {**secret.real, **open_})
        absent = await reply(client, route, {**UNKNOWN, **open_})
        if there != absent or there[0] < 400 or WORD in "".join(map(str, there)):
            told.append(f"{route}: {there} {absent}")
    return told


@pytest.mark.req("KO-2", "CL-3")
async def test_no_route_tells_a_stranger_what_exists(system: System, world: World) -> None:
    secret = await keep_secret(world)
    other = f"other-{random_id()[:8]}"
    credential = await world.operator.issue_credential("root", tenant=other)
    foreign_admin = world.operator.acting_with(credential.token)
    found = await routes(system, *NAMES)

    assert len(found) > 30
    assert await compare(world.stranger, found, secret) == []
    assert await compare(foreign_admin, found, secret) == []
    # What was there is there still, and is told to whom it belongs.
    assert (await secret.owner.run(secret.real["run"]))["state"] == "sealed"
    kept = [each for each in found if not any(f"{{{name}}}" in each[1] for name in MORE)]
    reads = [each for each in kept if each[0] == "GET"]
    assert len(await compare(secret.owner, reads, secret)) == len(reads)


@pytest.mark.req("KO-2", "CL-3")
async def test_no_route_tells_a_member_what_is_private(system: System, world: World) -> None:
    secret = await keep_secret(world)
    found = await routes(system, "source", "dataset", "run", "conversation", "credential")
    asked: list[str] = []

    for words in (f"Who owns the {WORD} vault inspections?", f"What is the total {WORD}?"):
        conversation = await world.reader.workspace(world.id).open_conversation()
        posted = await world.reader.post_message(conversation, Ask(question=words))
        await world.reader.wait(posted.run_id)
        for view in ("", "/answer", "/audit", "/bundle", "/events"):
            response = await send(world.reader, "GET", f"/v1/runs/{posted.run_id}{view}")
            asked.append(response.text + str(response.headers))
    listed = await send(world.reader, "GET", f"/v1/workspaces/{world.id}/sources")

    assert await compare(world.reader, found, secret, ws=world.id) == []
    assert WORD not in listed.text
    assert not [each for each in asked if MARK in each or "secret" in each]


@pytest.mark.req("CR-27")
async def test_an_admin_ends_what_others_read_without_reading_it(world: World) -> None:
    admin, desk = world.operator.workspace(world.id), world.desk
    await world.document("secret", PAGE, access="restricted")
    await desk.grant("sources", "secret", world.reader_name)
    path = f"/v1/workspaces/{world.id}/sources/secret"
    before = await send(world.reader, "GET", path)

    revoked = await admin.revoke_grant("sources", "secret", world.reader_name)
    after = await send(world.reader, "GET", path)
    withdrawn = await admin.withdraw("sources", "secret")
    read = await send(world.operator, "GET", path)
    absent = await send(world.operator, "DELETE", f"{path}-not/grants/{world.reader_name}")

    assert (before.status_code, after.status_code) == (200, 404)
    assert (revoked.changed, withdrawn.changed) == (True, True)
    assert (read.status_code, absent.status_code) == (404, 404)


@pytest.mark.req("CL-8")
@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 400\r\n\r\nhalf of it", b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
)
async def test_half_an_upload_is_never_published(system: System, world: World, head: bytes) -> None:
    await world.document("page", "The whole page.\n")
    token = world.publisher.transport.token
    address = urlsplit(system.url)
    assert address.hostname is not None
    assert address.port is not None
    start = (
        f"POST /v1/workspaces/{world.id}/sources/page/revisions HTTP/1.1\r\nHost: a\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: text/plain\r\n"
    )

    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(start.encode() + head)
    # What is sent after it is decided after it: the route takes one source's commands in turn.
    published = await world.desk.publish_text("page", "The second page.\n")

    assert published.revision == 2


async def test_neither_logs_nor_streams_repeat_words_or_secrets(
    system: System, world: World
) -> None:
    secret = await keep_secret(world)
    await compare(world.stranger, await routes(system, *NAMES), secret)
    token = parse_token(str(secret.owner.transport.token))
    hidden = (token.secret, proof_of(token.secret), "vault inspections", f"{MARK} group")

    searched = [*(system.folder / "logs").iterdir(), *files_in(system.folder / "nats")]
    found = [
        f"{path.name}: {word}"
        for path in searched
        for word in hidden
        if word.encode() in await asyncio.to_thread(bytes_of, path)
    ]

    assert found == []
    # The title is an event's own, so the search finds what is there.
    assert any(f"The {MARK} papers".encode() in bytes_of(path) for path in searched)


def test_no_file_of_the_data_folder_is_anybody_elses_to_read(system: System) -> None:
    cluster = system.folder / "postgres" / "cluster"
    open_ = [
        str(path)
        for path in files_in(system.folder)
        if cluster not in path.parents and mode_of(path) & 0o077
    ]

    assert open_ == []
    assert cluster.stat().st_mode & 0o077 == 0


def bytes_of(path: Path) -> bytes:
    """Return what a file holds, nothing when the system has replaced it meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def mode_of(path: Path) -> int:
    """Return the mode of a file, 0 when the system has replaced it meanwhile."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return 0


def files_in(folder: Path) -> list[Path]:
    """Return every file below `folder`."""
    return [path for path in folder.rglob("*") if path.is_file()]
