"""The border between the services on three servers: the tests of one server, on replicated streams.

A subject that is foreign on one server is foreign on each of three, whichever of them leads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import aclosing
from pathlib import Path

import pytest

from chancery.bus.connection import connect
from chancery.bus.provision import Plan, apply
from chancery.bus.publish import publish_message
from chancery.bus.reader import PullReader
from chancery.events import topology
from chancery.testkit.nats import NatsAccess
from chancery.testkit.servers import run_apart
from tests.chaos.cluster import running_cluster
from tests.integration.bus import test_accounts as on_one
from tests.integration.bus.messages import outgoing
from tests.integration.bus.test_accounts import admin, logins

__all__ = ("admin", "logins")

pytestmark = pytest.mark.chaos
REPLICAS = 3


async def provision(url: str) -> None:
    """Make the streams with a copy on each server."""
    async with connect(url, name="test") as connection:
        await apply(connection, Plan(replicas=REPLICAS))


@pytest.fixture
def nats_access(tmp_path: Path) -> Generator[NatsAccess]:
    """Yield the logins of three servers with the topology and the accounts."""
    with running_cluster(tmp_path / "cluster", has_accounts=True) as cluster:
        run_apart(provision(cluster.url))
        yield cluster.access()


test_a_foreign_subject_reaches_nobody_and_an_own_one_is_stored = (
    on_one.test_a_foreign_subject_reaches_nobody_and_an_own_one_is_stored
)
test_a_reply_subject_smuggles_nothing_in = on_one.test_a_reply_subject_smuggles_nothing_in
test_inside_one_account_the_same_trick_does_store = (
    on_one.test_inside_one_account_the_same_trick_does_store
)
test_batches_and_expectations_work_across_the_border = (
    on_one.test_batches_and_expectations_work_across_the_border
)


@pytest.mark.req("EV-6")
async def test_a_reader_starts_again_anywhere_across_the_border(logins: on_one.Logins) -> None:
    for number in range(30):
        await publish_message(logins["ingestion"], outgoing(f"authority.t1.source.r{number}"))
    consumer = topology.consumer(topology.RELEASE_AUTHORITY)
    reader = PullReader(logins["release"], consumer, batch_messages=7)

    for after in (0, 20, 5):
        async with asyncio.timeout(30):
            got = await on_one.read_up_to(reader, after, 30)

        assert got == list(range(after + 1, 31))


async def followed(reader: PullReader, after: int) -> int:
    """Return the next message behind a position."""
    async with aclosing(reader.read(after)) as batches:
        async for batch in batches:
            if batch:
                return batch[0].sequence
    return 0


@pytest.mark.req("EV-6", "EV-10")
async def test_a_reader_that_follows_a_gone_one_gets_the_next_message_in_time(
    nats_access: NatsAccess, logins: on_one.Logins
) -> None:
    consumer = topology.consumer(topology.RELEASE_AUTHORITY)
    url, prefix = nats_access.service_urls["release"], nats_access.api_prefix
    for number in range(5):
        await publish_message(logins["ingestion"], outgoing(f"authority.t1.source.r{number}"))
    async with connect(url, name="gone", api_prefix=prefix) as gone:
        assert await on_one.read_up_to(PullReader(gone, consumer), 0, 5) == [1, 2, 3, 4, 5]
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(followed(PullReader(logins["release"], consumer), 5))
        subject = "authority.t1.source.next"
        stored = await publish_message(logins["ingestion"], outgoing(subject))
        async with asyncio.timeout(10):
            await asyncio.wait([following])

    assert following.result() == stored.sequence
