"""The rendered accounts: what the table says crosses a border, and nothing else."""

from __future__ import annotations

import re

import pytest

from chancery.bus.accounts import (
    ADMIN,
    EDGE,
    LOG,
    SERVICE_API_PREFIX,
    Access,
    accesses,
    account_of,
    create_producer,
    from_environment,
    quoted,
    render_accounts,
)
from chancery.events import topology
from chancery.kernel.errors import Rejected

CROSSING = accesses()
READ_ONLY = re.compile(
    r"\$JS\.(API\.(STREAM\.(INFO|MSG\.GET)|CONSUMER\.(INFO|MSG\.NEXT|RESET)|DIRECT\.GET)|ACK)\."
)


def reach(first: str) -> set[str]:
    """Return the accounts that reach a subject of LOG that begins with `first`."""
    return {
        client
        for access in CROSSING
        if access.owner == LOG and access.subject.split(".")[0] == first
        for client in access.clients
    }


@pytest.mark.req("EV-1")
def test_only_the_producer_of_a_subject_reaches_it() -> None:
    assert reach("authority") == {"INGESTION"}
    assert reach("cut") == reach("fence") == reach("release") == {"RELEASE"}
    assert reach("index") == {"INDEXING"}
    assert reach("intake") == {EDGE}
    by_stage = {
        access.subject.rpartition(".")[2]: access.clients
        for access in CROSSING
        if access.subject.startswith("run.")
    }
    assert by_stage["requested"] == by_stage["cancelled"] == ("GATEWAY",)
    assert by_stage["admitted"] == by_stage["expired"] == ("RELEASE",)


@pytest.mark.req("EV-1")
def test_only_the_gateway_asks_and_commands_and_only_the_operator_touches_what_is_parked() -> None:
    asked = [each for each in CROSSING if each.subject.startswith(("command.", "query."))]

    assert len(asked) == len(topology.REQUESTS)
    assert {each.clients for each in asked if "parked" in each.subject} == {(LOG,)}
    assert {each.clients for each in asked if "parked" not in each.subject} == {("GATEWAY",)}
    assert all(each.owner == account_of(item.server) for each, item in zip(
        sorted(asked, key=lambda each: each.subject),
        sorted(topology.REQUESTS, key=lambda item: item.subject),
        strict=True,
    ))  # fmt: skip


@pytest.mark.req("EV-1")
@pytest.mark.parametrize(
    "access", [each for each in CROSSING if each.subject.startswith("$JS")], ids=str
)
def test_what_crosses_of_jetstream_makes_and_destroys_nothing(access: Access) -> None:
    told = access.kind == "stream" and ".ADVISORY." in access.subject

    assert told or READ_ONLY.match(access.subject)
    assert access.owner == LOG
    if ".API." in access.subject:
        assert access.alias == access.subject.replace("$JS.API", SERVICE_API_PREFIX)


def test_each_consumer_is_reached_by_its_own_service_alone() -> None:
    for consumer in topology.CONSUMERS:
        path = f"{consumer.stream}.{consumer.name}"
        touching = [each for each in CROSSING if f".{path}" in f"{each.subject}."]

        assert {each.clients for each in touching} == {(account_of(consumer.service),)}
        resets = [each for each in touching if "RESET" in each.subject]
        assert bool(resets) is consumer.reader


def test_a_producer_may_publish_below_its_own_prefix_only() -> None:
    text = render_accounts(from_environment, [create_producer("t1", "desk")])
    line = next(line for line in text.splitlines() if '"t1.desk"' in line)

    assert '"intake.t1.desk.>"' in line
    assert 'subscribe: ["_INBOX.t1.desk.>", "intake-outcome.t1.desk.*"]' in line
    assert '.DIRECT.GET.OUTCOMES.intake-outcome.t1.desk.*"]' in line
    assert "$CHANCERY_NATS_PASSWORD_T1_DESK" in line
    assert line.count("publish: [") == line.count("subscribe: [") == 1


@pytest.mark.parametrize(("tenant", "principal"), [("a.b", "c"), ("t", ">"), ("t", "*"), ("", "p")])
def test_a_producer_with_a_wildcard_or_a_dot_is_refused(tenant: str, principal: str) -> None:
    with pytest.raises(Rejected):
        create_producer(tenant, principal)


def test_a_password_stays_one_word() -> None:
    text = render_accounts(lambda user: quoted(f'{user} "quoted" ]'))

    assert r'password: "chancery \"quoted\" ]"' in text
    assert text.count("password: ") == len(topology.SERVICES) + 1
    assert text.count(f'user: "{ADMIN}"') == 1
