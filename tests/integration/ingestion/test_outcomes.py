"""What became of submissions, on the real stream: read by few requests, by its sender alone."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest
from nats.aio.client import Client

from chancery.bus.connection import Connection, connect
from chancery.bus.load import last_sequence, read_subject
from chancery.embedded.producers import Invitation
from chancery.events.codec import decode
from chancery.events.commands import Outcome
from chancery.events.envelope import Event
from chancery.events.intake import IntakeAccepted, IntakeRejected, SourceSubmitted
from chancery.events.topology import (
    AUTHORITY,
    OUTCOMES,
    OUTCOMES_OF_ID_MAX,
    intake_subject,
    outcome_subject,
)
from chancery.ingestion.adapters.outcomes import StreamedOutcomes
from chancery.ingestion.domain.submissions import Letter, letter_of, read_submission
from chancery.ingestion.domain.verdicts import accepted, rejected_for
from chancery.kernel.clock import SystemClock
from chancery.testkit.nats import NatsAccess
from chancery.testkit.producers import producer
from chancery.testkit.waiting import eventually
from tests.integration.ingestion.submitting import TENANT, event_of, outcome, submit

pytestmark = pytest.mark.integration

BROKEN = 300
SOURCE = {"workspace_id": "ws", "source_id": "s1", "title": "Handbook"}


@pytest.fixture
async def bus(provisioned_nats_url: str) -> AsyncGenerator[Connection]:
    async with connect(provisioned_nats_url, name="tests") as connection:
        yield connection


def rejection(sequence: int, event_id: str = "e1", principal: str = "desk") -> Event:
    letter = Letter(TENANT, principal, SourceSubmitted.TYPE, event_id, sequence)
    at = SystemClock().now()
    return rejected_for(letter, "invalid_submission", "no title", field="data.title", at=at)


def acceptance(sequence: int) -> Event:
    payload = json.dumps(event_of("e1", SourceSubmitted.TYPE, SOURCE)).encode()
    subject = intake_subject(TENANT, "desk", SourceSubmitted.TYPE)
    letter = letter_of(subject, payload, {}, sequence)
    assert letter is not None
    submission = read_submission(letter, payload, {})
    return accepted(submission, Outcome(sequence=7, changed=True), SystemClock().now())


async def kept(bus: Connection, event_id: str = "e1") -> list[Event]:
    subject = outcome_subject(TENANT, "desk", event_id)
    return [decode(each.payload) async for each in read_subject(bus, OUTCOMES, subject)]


async def requests_for(bus: Connection, outcomes: list[Event]) -> int:
    """Tell the outcomes and return how many messages that took."""
    before, told = bus.client.stats["out_msgs"], StreamedOutcomes(bus)
    for each in outcomes:
        await told.tell(each)
    return bus.client.stats["out_msgs"] - before


@pytest.mark.req("EV-9")
async def test_broken_messages_under_one_id_cost_what_those_under_many_cost(
    bus: Connection,
) -> None:
    numbers = range(1, BROKEN + 1)

    many = await requests_for(bus, [rejection(n, f"m{n}") for n in numbers])
    one = await requests_for(bus, [rejection(n + BROKEN) for n in numbers])
    before = bus.client.stats["out_msgs"]
    await StreamedOutcomes(bus).accepted(TENANT, "desk", "e1")

    assert one == many == 2 * BROKEN
    assert bus.client.stats["out_msgs"] - before <= OUTCOMES_OF_ID_MAX + 1
    assert len(await kept(bus)) == OUTCOMES_OF_ID_MAX


@pytest.mark.req("EV-9")
async def test_an_outcome_is_told_once_to_a_delivery_and_anew_to_a_repetition(
    bus: Connection,
) -> None:
    outcomes = StreamedOutcomes(bus)

    for _ in range(2):
        await outcomes.tell(acceptance(1))
    known = await outcomes.accepted(TENANT, "desk", "e1")
    foreign = await outcomes.accepted(TENANT, "clerk", "e1")
    for n in range(OUTCOMES_OF_ID_MAX):
        for _ in range(2):
            await outcomes.tell(rejection(2 + n))
    forgotten = await outcomes.accepted(TENANT, "desk", "e1")
    await outcomes.tell(acceptance(90))

    assert (len(known), foreign, forgotten) == (1, (), ())
    told = await kept(bus)
    assert len(told) == OUTCOMES_OF_ID_MAX
    assert isinstance(told[-1].data, IntakeAccepted)
    assert told[-1].data.intake_sequence == 90
    assert told[-1].id == known[0].id


@pytest.mark.req("EV-9")
async def test_a_repetition_whose_acceptance_was_pushed_out_is_known_by_the_log(
    desk: Invitation, nats_access: NatsAccess
) -> None:
    broken = event_of("e1", SourceSubmitted.TYPE, {**SOURCE, "title": 7})
    async with producer(desk) as client, connect(nats_access.url, name="tests") as admin:
        await submit(client, event_of("e1", SourceSubmitted.TYPE, SOURCE))
        first = await outcome(client, "e1")
        position = (await last_sequence(admin, AUTHORITY)).last
        sent = [await submit(client, broken) for _ in range(OUTCOMES_OF_ID_MAX + 2)]
        await outcome(client, "e1", of=sent[-1])
        pushed_out = [type(each.data) for each in await kept(admin)]
        again = await submit(client, event_of("e1", SourceSubmitted.TYPE, SOURCE))
        repeated = await outcome(client, "e1", of=again)
        other = await submit(client, event_of("e1", SourceSubmitted.TYPE, {**SOURCE, "title": "X"}))
        reused = await outcome(client, "e1", of=other)

        assert pushed_out == [IntakeRejected] * OUTCOMES_OF_ID_MAX
        assert (await last_sequence(admin, AUTHORITY)).last == position
    assert repeated["id"] == first["id"]
    assert repeated["data"] == {**first["data"], "intake_sequence": again}
    assert (reused["data"]["code"], reused["data"]["field"]) == ("idempotency_key_reused", "id")


@pytest.mark.req("EV-9", "CR-27")
async def test_two_producers_use_the_same_id_and_neither_touches_the_other_s_outcome(
    desk: Invitation, clerk: Invitation
) -> None:
    async with producer(desk) as client, producer(clerk) as other:
        mine = await submit(client, event_of("e1", SourceSubmitted.TYPE, SOURCE))
        first = await outcome(client, "e1", of=mine)
        theirs = await submit(
            other, event_of("e1", SourceSubmitted.TYPE, {**SOURCE, "source_id": "s2"}), "clerk"
        )
        second = await outcome(other, "e1", "clerk", of=theirs)
        broken = await submit(other, event_of("e1", SourceSubmitted.TYPE, {}), "clerk")
        third = await outcome(other, "e1", "clerk", of=broken)

        assert await outcome(client, "e1") == first
    assert [each["type"] for each in (first, second)] == [IntakeAccepted.TYPE] * 2
    assert third["type"] == IntakeRejected.TYPE


@pytest.mark.req("EV-9")
async def test_a_message_without_a_readable_id_is_told_under_its_sequence_to_its_sender(
    desk: Invitation,
) -> None:
    async with producer(desk) as client:
        reply = await client.request(intake_subject(TENANT, "desk", "x"), b"no JSON", timeout=20)
        sequence = json.loads(reply.data)["seq"]
        told = await outcome(client, f"sequence-{sequence}")

    assert (told["type"], told["data"]["code"]) == (IntakeRejected.TYPE, "malformed_event")


@pytest.mark.req("EV-9")
async def test_two_producers_under_one_message_id_are_both_told(
    desk: Invitation, clerk: Invitation
) -> None:
    async with producer(desk) as client, producer(clerk) as other:
        assert not await swallowed(client, "desk", "s1")
        # Within the window, which is the least that the server has, the second one is not stored.
        assert await eventually(lambda: stored(other, "clerk", "s2"))
        mine, theirs = await outcome(client, "e1"), await outcome(other, "e1", "clerk")

    assert [each["type"] for each in (mine, theirs)] == [IntakeAccepted.TYPE] * 2


async def swallowed(client: Client, principal: str, source_id: str) -> bool:
    """Submit under the message id of everybody and tell whether the server took it for another."""
    event = event_of("e1", SourceSubmitted.TYPE, {**SOURCE, "source_id": source_id})
    reply = await client.request(
        intake_subject(TENANT, principal, event["type"]),
        json.dumps(event).encode(),
        headers={"Nats-Msg-Id": "invoice-1"},
        timeout=20,
    )
    return bool(json.loads(reply.data).get("duplicate"))


async def stored(client: Client, principal: str, source_id: str) -> bool:
    return not await swallowed(client, principal, source_id)
