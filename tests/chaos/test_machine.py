"""The state machine at length."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from chancery.testkit.nats import NatsAccess
from chancery.testkit.postgres import Database
from tests.integration.release.machine import Servers, machine_on

LONG = settings(
    max_examples=40,
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

    outcome = run_state_machine_as_test(machine_on(servers), settings=LONG)

    assert outcome is None
