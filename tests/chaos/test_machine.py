"""The state machine for some minutes, each time along other ways."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from chancery.testkit.nats import NatsAccess
from chancery.testkit.postgres import Database
from tests.integration.release.machine import Servers, machine_on

WITHIN_S = 240
LONG = settings(
    max_examples=4,
    stateful_step_count=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.chaos
@pytest.mark.req("KO-13", "CL-12", "EV-5", "EV-6", "XB-1")
def test_the_service_follows_the_model_for_long(
    nats_server: NatsAccess, postgres_server: str, template_database: Database
) -> None:
    servers = Servers(nats_server.url, postgres_server, template_database)
    ends_at, played = time.monotonic() + WITHIN_S, 0

    while time.monotonic() < ends_at:
        run_state_machine_as_test(machine_on(servers), settings=LONG)
        played += 1

    assert played > 0
