"""Bad input gets a clear answer and leaves nothing behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chancery.authority.tokens import parse_token
from chancery.client.errors import ProblemError
from chancery.client.http import Ask
from chancery.client.replies import SealedAnswer
from chancery.client.workspace import Table
from chancery.kernel.ids import random_id
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.e2e.running import System
from tests.e2e.world import World, send

MEGABYTE = 1024 * 1024
PAGE = "# Pumps\n\nThe spare pump stands in hall seven.\n"


@dataclass(frozen=True, slots=True)
class Bad:
    """A request that is refused; `{ws}` stands for a workspace that has the source `page`."""

    name: str
    method: str
    path: str
    status: int
    code: str
    at: str | None = None
    sent: Mapping[str, Any] = field(default_factory=dict[str, Any])


def upload(
    name: str, content: bytes, status: int, code: str, media_type: str = "text/plain"
) -> Bad:
    sent = {"content": content, "headers": {"Content-Type": media_type}}
    return Bad(name, "POST", "/v1/workspaces/{ws}/sources/page/revisions", status, code, None, sent)


def table(name: str, content: bytes, code: str) -> Bad:
    sent = {"content": content, "headers": {"Content-Type": "text/csv"}}
    path = "/v1/workspaces/{ws}/datasets/orders/snapshots"
    return Bad(name, "POST", path, 422, code, None, sent)


def bound(name: str, value: object) -> Bad:
    sent = {"json": {"question": "Where?", "bounds": {name: value}}}
    path = "/v1/conversations/{conversation}/messages"
    return Bad(f"{name}={value}", "POST", path, 422, "invalid_request", f"bounds.{name}", sent)


def message(name: str, body: object, at: str) -> Bad:
    path = "/v1/conversations/{conversation}/messages"
    return Bad(name, "POST", path, 422, "invalid_request", at, {"json": body})


SOURCE = {"title": "A page"}
REQUESTS = (
    Bad("workspace", "PUT", "/v1/workspaces/none/sources/a", 404, "not_found", None,
        {"json": SOURCE}),
    Bad("source", "GET", "/v1/workspaces/{ws}/sources/none", 404, "source_not_found"),
    Bad("run", "GET", "/v1/runs/none", 404, "run_not_found"),
    Bad("answer", "GET", "/v1/runs/none/answer", 404, "run_not_found"),
    Bad("conversation", "GET", "/v1/conversations/none", 404, "conversation_not_found"),
    Bad("dot", "PUT", "/v1/workspaces/{ws}/sources/a.b", 422, "invalid_request", "source",
        {"json": SOURCE}),
    Bad("space", "PUT", "/v1/workspaces/{ws}/sources/a%20b", 422, "invalid_request", "source",
        {"json": SOURCE}),
    Bad("wildcard", "PUT", "/v1/workspaces/{ws}/sources/%3E", 422, "invalid_request", "source",
        {"json": SOURCE}),
    Bad("broken json", "PUT", "/v1/workspaces/{ws}/sources/a", 422, "malformed_json", "body",
        {"content": b"{", "headers": {"Content-Type": "application/json"}}),
    Bad("wrong type", "PUT", "/v1/workspaces/{ws}/sources/a", 422, "invalid_request", "title",
        {"json": {"title": 7}}),
    Bad("unknown field", "PUT", "/v1/workspaces/{ws}/sources/a", 422, "invalid_request", "colour",
        {"json": {"title": "A", "colour": "red"}}),
    Bad("unknown visibility", "PUT", "/v1/workspaces/{ws}/sources/a", 422, "invalid_request",
        "visibility", {"json": {"title": "A", "visibility": "public"}}),
    upload("20 MB", b"a" * 20 * MEGABYTE, 413, "too_large"),
    upload("not UTF-8", b"caf\xe9", 422, "invalid_utf8"),
    upload("NUL", b"a\x00b", 422, "nul_byte"),
    upload("empty", b"", 422, "empty_content"),
    upload("a film", b"film", 415, "unsupported_media_type", "video/x-none"),
    table("ragged", b"id,amount\n1,2\n3\n", "csv_ragged_row"),
    table("no bytes", b"", "csv_empty"),
    table("twice the same column", b"id,id\n1,2\n", "csv_duplicate_column"),
    message("a question of spaces", {"question": "   \n "}, "question"),
    message("no question", {}, "question"),
    message("a long question", {"question": "a" * 4001}, "question"),
    message("a mode of its own", {"question": "Where?", "mode": "guess"}, "mode"),
    message("too many sources", {"question": "Where?", "sources": ["a"] * 501}, "sources"),
    bound("max_input_tokens", 0),
    bound("max_input_tokens", 32_769),
    bound("max_output_tokens", 4097),
    bound("max_duration_s", 601),
    bound("min_sources", 0),
    bound("max_sources", 13),
    bound("profile", ""),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Left:
    """What is stored of a workspace, and how far the log and the blobs have come."""

    sources: tuple[str, ...]
    revisions: tuple[int, ...]
    position: int
    blobs: int


async def position(world: World) -> int:
    """Return how far the log has come, by appending one harmless event to it."""
    done = await world.desk.declare_source("probe", f"A probe {random_id()}")
    assert done.changed
    return done.sequence


async def left(system: System, world: World) -> Left:
    """Return what there is now."""
    reached = await position(world)
    sources = await world.desk.sources()
    return Left(
        sources=tuple(each.id for each in sources),
        revisions=tuple(each.revision for each in sources),
        position=reached,
        blobs=sum(path.is_file() for path in (system.folder / "blobs").rglob("*")),
    )


async def prepare(world: World) -> str:
    """Declare a source and a dataset, and open a conversation of the publisher."""
    await world.document("page", PAGE)
    await world.desk.declare_dataset("orders", Table(title="Orders"))
    return await world.desk.open_conversation()


@pytest.mark.req("CL-8")
async def test_each_bad_request_is_refused_by_name_and_leaves_nothing(
    system: System, world: World
) -> None:
    conversation = await prepare(world)
    first, before = await left(system, world), await left(system, world)
    wrong: list[str] = []

    for bad in REQUESTS:
        path = bad.path.format(ws=world.id, conversation=conversation)
        answer = await send(world.publisher, bad.method, path, **bad.sent)
        told = answer.json()
        seen = (answer.status_code, told["code"])
        if seen != (bad.status, bad.code) or (bad.at and told.get("field") != bad.at):
            wrong.append(f"{bad.name}: {seen} {told.get('field')}: {told['detail']}")
        if answer.headers["content-type"] != "application/problem+json" or not told["trace_id"]:
            wrong.append(f"{bad.name}: no problem document")

    assert not wrong, "\n".join(wrong)
    step = before.position - first.position
    assert await left(system, world) == replace(before, position=before.position + step)


async def test_a_good_request_moves_everything_that_the_bad_ones_left(
    system: System, world: World
) -> None:
    await prepare(world)
    before = await left(system, world)

    await world.document("other", "# Valves\n\nValve nine is open.\n")
    after = await left(system, world)

    assert set(after.sources) - set(before.sources) == {"other"}
    assert after.position > before.position + 1
    assert after.blobs > before.blobs


async def test_a_revoked_or_forged_credential_opens_nothing(world: World) -> None:
    operator = world.operator
    revoked = await operator.issue_credential(world.reader_name)
    await operator.revoke_credential(revoked.credential_id)
    good = await operator.issue_credential(world.reader_name)
    secret = parse_token(good.token).secret
    forged = good.token.removesuffix(secret) + ("A" * len(secret))

    tokens = (revoked.token, forged, "chy1.no", good.token)
    statuses = [await status_with(world, token) for token in tokens]

    assert statuses == [401, 401, 401, 200]


async def test_a_credential_opens_nothing_once_it_has_expired(world: World) -> None:
    began = time.monotonic()
    lasting = await world.operator.issue_credential(world.reader_name)
    assert await status_with(world, lasting.token) == 200
    # Ten times what it takes to be used once, however busy the machine is.
    lifetime_s = max(1.5, 10 * (time.monotonic() - began))
    soon = datetime.now(UTC) + timedelta(seconds=lifetime_s)
    credential = await world.operator.issue_credential(world.reader_name, expires_at=soon)
    before = await status_with(world, credential.token)

    async def has_expired() -> bool:
        return await status_with(world, credential.token) == 401

    await eventually(has_expired, lifetime_s + WITHIN_S)

    assert before == 200
    assert datetime.now(UTC) >= soon


async def status_with(world: World, token: str) -> int:
    """Return the status of a harmless request with this token."""
    client = world.operator.acting_with(token)
    return (await send(client, "GET", f"/v1/workspaces/{world.id}/sources")).status_code


@pytest.mark.req("EV-14", "EV-6")
async def test_the_same_key_gives_the_same_result_and_another_body_a_conflict(
    world: World,
) -> None:
    await world.document("page", PAGE)
    key = random_id()
    first = await world.desk.publish("page", b"New text.", "text/plain", idempotency_key=key)

    second = await world.desk.publish("page", b"New text.", "text/plain", idempotency_key=key)
    with pytest.raises(ProblemError) as refused:
        await world.desk.publish("page", b"Other text.", "text/plain", idempotency_key=key)

    assert (second.revision, second.event_id) == (first.revision, first.event_id)
    assert refused.value.status == 409
    third = await world.desk.publish("page", b"Third text.", "text/plain")
    assert third.sequence == first.sequence + 1


@pytest.mark.req("EV-14")
async def test_the_same_question_under_one_key_is_one_run(world: World) -> None:
    await world.document("page", PAGE)
    conversation = await world.reader.workspace(world.id).open_conversation()
    asked = Ask(question="Where does the spare pump stand?", idempotency_key=random_id())

    posted = [await world.reader.post_message(conversation, asked) for _ in range(3)]
    handle = await world.reader.wait(posted[0].run_id)
    answer = await world.reader.answer(handle)

    assert len({each.run_id for each in posted}) == 1
    assert isinstance(answer, SealedAnswer)


async def test_concurrent_publications_get_one_revision_each_without_a_gap(world: World) -> None:
    await world.desk.declare_source("page", "A page")
    texts = [f"Version {number} of the page." for number in range(6)]

    published = await asyncio.gather(
        *(world.desk.publish_text("page", text, "text/plain") for text in texts)
    )

    assert sorted(each.revision for each in published) == [1, 2, 3, 4, 5, 6]
    assert len({each.event_id for each in published}) == 6


async def test_a_reader_cannot_publish(world: World) -> None:
    await world.document("page", PAGE)

    with pytest.raises(ProblemError) as refused:
        await world.reader.workspace(world.id).publish_text("page", "Mine now.")

    assert refused.value.status in {403, 404, 422}
    assert (await world.desk.source("page")).revision == 1
