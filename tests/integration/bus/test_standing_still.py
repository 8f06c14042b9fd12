"""A process that stood still takes what was sent meanwhile; a consumer that is gone is noticed."""

from __future__ import annotations

import threading

import pytest

from chancery.bus import pull
from chancery.bus.connection import Connection, connect
from chancery.bus.publish import publish_message
from chancery.bus.pull import ConsumerLost, PullInbox
from chancery.events import topology
from chancery.testkit.servers import run_apart
from chancery.testkit.waiting import WITHIN_S
from tests.integration.bus.messages import outgoing

pytestmark = pytest.mark.integration

SILENCE_S = 0.6
STILL_S = 1.2
SUBJECT = "run.t1.r1.requested"


async def publish_from_elsewhere(url: str) -> None:
    async with connect(url, name="elsewhere") as connection:
        await publish_message(connection, outgoing(SUBJECT))


def stand_still(url: str) -> None:
    """Hold this process, as a stop signal would, while somebody else publishes."""
    run_apart(publish_from_elsewhere(url))
    threading.Event().wait(STILL_S)


async def opened(bus: Connection) -> PullInbox:
    consumer = topology.consumer(topology.RELEASE_REQUESTED)
    inbox = PullInbox(bus, consumer.stream, consumer.name)
    await inbox.open()
    await inbox.request(5)
    await inbox.wait(0.1)
    return inbox


async def wait_often(inbox: PullInbox) -> None:
    for _ in range(20):
        await inbox.wait(0.2)


@pytest.mark.req("EV-6")
async def test_what_was_sent_to_a_process_that_stood_still_is_taken(
    provisioned_nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "HEARTBEAT_S", SILENCE_S / 3)
    async with connect(provisioned_nats_url, name="test") as bus:
        inbox = await opened(bus)
        monkeypatch.setattr(pull, "SILENCE_S_MAX", SILENCE_S)

        stand_still(provisioned_nats_url)

        await inbox.wait(WITHIN_S)
        taken = inbox.take()
        assert [each.subject for each in taken] == [SUBJECT]
        await taken[0].ack_sync()
        await inbox.close()


async def test_a_consumer_that_stays_silent_is_lost_even_then(
    provisioned_nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "SILENCE_S_MAX", SILENCE_S)
    async with connect(provisioned_nats_url, name="test") as bus:
        inbox = await opened(bus)
        # Nothing is heard any more: the subscription ends without the inbox knowing.
        await inbox.drain()

        with pytest.raises(ConsumerLost, match="silent"):
            await wait_often(inbox)
