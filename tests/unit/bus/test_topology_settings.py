"""The settings that the table gives to the server: what the rules of the log demand."""

from __future__ import annotations

import pytest

from chancery.bus.provision import consumer_settings, stream_settings, streams_of
from chancery.events import topology


@pytest.mark.parametrize("stream", topology.STREAMS, ids=lambda stream: stream.name)
def test_a_stream_keeps_what_it_acknowledged(stream: topology.Stream) -> None:
    settings = stream_settings(stream, 3)

    assert (settings["storage"], settings["discard"]) == ("file", "new")
    assert settings["deny_delete"] is stream.append_only
    assert settings["deny_purge"] is stream.append_only
    assert settings["allow_direct"] is (stream.name == topology.OUTCOMES)
    assert settings["num_replicas"] == 3


def test_the_log_of_authority_never_ages_and_takes_batches() -> None:
    settings = stream_settings(topology.stream(topology.AUTHORITY), 1)

    assert (settings["max_age"], settings["allow_atomic"]) == (0, True)
    assert settings["deny_delete"] is settings["deny_purge"] is settings["allow_msg_ttl"] is True


@pytest.mark.parametrize("consumer", topology.CONSUMERS, ids=lambda consumer: consumer.name)
def test_readers_acknowledge_nothing_and_workers_each_message(
    consumer: topology.Consumer,
) -> None:
    settings = consumer_settings(consumer)

    assert settings["ack_policy"] == ("none" if consumer.reader else "explicit")
    assert ("max_ack_pending" in settings) is not consumer.reader
    assert settings["max_deliver"] == -1


def test_a_consumer_of_everything_has_no_filter() -> None:
    everything = consumer_settings(topology.consumer(topology.RELEASE_AUTHORITY))
    one = consumer_settings(topology.consumer(topology.RETRIEVAL_RUNS))
    several = consumer_settings(topology.consumer(topology.INDEXING_PUBLICATIONS))

    assert not {"filter_subject", "filter_subjects"} & everything.keys()
    assert one["filter_subject"] == "run.*.*.admitted"
    assert several["filter_subjects"] == [
        "authority.*.source.*",
        "authority.*.dataset.*",
        "authority.*.item.*",
        "authority.*.file.*",
    ]


def test_a_service_needs_the_streams_it_reads_and_writes() -> None:
    assert streams_of("indexing") == {topology.AUTHORITY, topology.INDEX, topology.PARKED}
    assert streams_of("ingestion") == {topology.AUTHORITY, topology.INTAKE, topology.OUTCOMES}
    assert topology.INTAKE not in streams_of("release")
