"""The topology on a real server: applied once, then equal; conflicts are named and refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from pydantic import BaseModel

from chancery.bus import provision
from chancery.bus.connection import ApiRefused, Connection
from chancery.bus.consumers import consumer_state
from chancery.bus.load import last_message, message_at, read_subject
from chancery.bus.provision import Plan, TopologyMismatch
from chancery.bus.publish import publish_message
from chancery.bus.pull import ConsumerLost
from chancery.events import topology
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Unavailable
from tests.integration.bus.messages import outgoing

pytestmark = pytest.mark.integration


class Empty(BaseModel):
    """An answer whose fields do not matter."""


async def api(connection: Connection, verb: str, body: Mapping[str, Json] | None = None) -> None:
    await connection.api(verb, body, Empty)


async def test_a_second_apply_changes_nothing(bare: Connection) -> None:
    first = await provision.apply(bare)

    assert [change.action for change in first] == ["create"] * len(first)
    assert len(first) == len(topology.STREAMS) + len(topology.CONSUMERS)
    assert await provision.diff(bare) == []
    assert await provision.apply(bare) == []


async def test_a_changed_setting_is_one_update(bare: Connection) -> None:
    await provision.apply(bare)
    plan = Plan(
        streams=tuple(
            replace(item, max_age_s=7 * topology.DAY_S) if item.name == topology.RUNS else item
            for item in topology.STREAMS
        )
    )

    changes = await provision.apply(bare, plan)

    assert [change.name for change in changes] == [topology.RUNS]
    assert "max_age" in changes[0].sentence
    assert await provision.diff(bare, plan) == []


async def test_outcomes_of_an_earlier_table_stay_where_no_producer_reads(bare: Connection) -> None:
    now = topology.stream(topology.OUTCOMES)
    earlier = replace(
        now, subjects=("intake-outcome.>", "own-outcome.>"), subject_messages_max=None
    )
    intake = replace(topology.stream(topology.INTAKE), duplicate_window_s=120)
    await provision.apply(bare, Plan(streams=(earlier, intake), consumers=()))
    shared, own = "intake-outcome.t1.e1", "own-outcome.t1.desk.f1"
    stored = [await publish_message(bare, outgoing(each)) for each in (shared, own, shared)]

    plan = Plan(streams=(now, topology.stream(topology.INTAKE)), consumers=())
    changes = await provision.apply(bare, plan)

    settings = {item.setting for change in changes for item in change.differences}
    assert settings == {"subjects", "max_msgs_per_subject", "duplicate_window"}
    assert await provision.diff(bare, plan) == []
    for each in stored:
        assert await message_at(bare, topology.OUTCOMES, each.sequence) is not None
    told = topology.outcome_subject("t1", "desk", "e1")
    assert await last_message(bare, topology.OUTCOMES, told) is None
    await publish_message(bare, outgoing(told))
    assert await last_message(bare, topology.OUTCOMES, told) is not None


async def test_a_subject_keeps_its_newest_outcomes(bare: Connection) -> None:
    await provision.apply(bare)
    told, most = topology.outcome_subject("t1", "desk", "e1"), topology.OUTCOMES_OF_ID_MAX

    sent = [await publish_message(bare, outgoing(told)) for _ in range(most + 3)]

    kept = [each.sequence async for each in read_subject(bare, topology.OUTCOMES, told)]
    assert kept == [each.sequence for each in sent[3:]]


async def test_the_window_of_intake_is_the_smallest_that_the_server_takes(bare: Connection) -> None:
    intake = topology.stream(topology.INTAKE)
    smaller = replace(intake, duplicate_window_s=intake.duplicate_window_s - 0.001)

    with pytest.raises(TopologyMismatch, match="duplicate"):
        await provision.apply(bare, Plan(streams=(smaller,), consumers=()))

    assert await provision.apply(bare, Plan(streams=(intake,), consumers=()))


async def test_another_ack_wait_is_applied_to_workers_only(bare: Connection) -> None:
    await provision.apply(bare)

    changes = await provision.apply(bare, Plan(ack_wait_s=2))
    state = await consumer_state(bare, topology.consumer(topology.RETRIEVAL_RUNS))

    workers = {item.name for item in topology.CONSUMERS if not item.reader}
    assert {change.name for change in changes} == workers
    assert state.ack_wait_s == 2


async def test_the_logs_cannot_be_purged_and_their_messages_not_deleted(
    connection: Connection,
) -> None:
    for stream in topology.STREAMS:
        if stream.append_only:
            with pytest.raises(ApiRefused):
                await api(connection, f"STREAM.PURGE.{stream.name}")
            with pytest.raises(ApiRefused):
                await api(connection, f"STREAM.MSG.DELETE.{stream.name}", {"seq": 1})
    await api(connection, f"STREAM.PURGE.{topology.RUNS}")


async def test_an_unchangeable_difference_is_one_sentence_and_changes_nothing(
    bare: Connection,
) -> None:
    settings = provision.stream_settings(topology.stream(topology.RUNS), 1)
    memory = {**settings, "storage": "memory"}
    await bare.api(f"STREAM.CREATE.{topology.RUNS}", memory, Empty)

    with pytest.raises(TopologyMismatch) as caught:
        await provision.apply(bare)

    assert "RUNS has storage 'memory'" in caught.value.detail
    others = Plan(
        streams=tuple(item for item in topology.STREAMS if item.name != topology.RUNS),
        consumers=(),
    )
    changes = await provision.diff(bare, others)
    assert [change.action for change in changes] == ["create"] * len(others.streams)


async def test_a_service_does_not_start_without_what_it_needs(bare: Connection) -> None:
    with pytest.raises(Unavailable) as caught:
        await provision.check(bare, "retrieval")

    assert topology.RETRIEVAL_RUNS in caught.value.detail
    await provision.apply(bare, Plan(ack_wait_s=2))
    for service in topology.SERVICES:
        await provision.check(bare, service)


async def test_a_service_does_not_start_on_other_settings(bare: Connection) -> None:
    plan = Plan(
        consumers=tuple(
            replace(item, max_ack_pending=3) if item.name == topology.EXECUTION_RUNS else item
            for item in topology.CONSUMERS
        )
    )
    await provision.apply(bare, plan)

    with pytest.raises(TopologyMismatch) as caught:
        await provision.check(bare, "execution")

    assert "max_ack_pending from 3 to" in caught.value.detail
    await provision.check(bare, "retrieval")


async def test_a_missing_consumer_is_lost(bare: Connection) -> None:
    with pytest.raises(ConsumerLost):
        await consumer_state(bare, topology.consumer(topology.RETRIEVAL_RUNS))
