"""Whatever happens in whatever order, the service says what the model says."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from chancery.authority.release import Allow
from chancery.release.handlers import disclosing
from chancery.testkit.nats import NatsAccess
from chancery.testkit.postgres import Database
from tests.integration.release.machine import Servers, machine_on

pytestmark = pytest.mark.integration

SHORT = settings(
    max_examples=3,
    stateful_step_count=14,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.req("KO-13", "CL-12", "EV-5", "EV-6", "XB-1")
def test_the_service_follows_the_model(
    nats_server: NatsAccess, postgres_server: str, template_database: Database
) -> None:
    servers = Servers(nats_server.url, postgres_server, template_database)

    outcome = run_state_machine_as_test(machine_on(servers), settings=SHORT)

    assert outcome is None


def test_the_model_catches_a_service_that_discloses_to_everybody(
    nats_server: NatsAccess,
    postgres_server: str,
    template_database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def allow(*_: object) -> Allow:
        return Allow(None)

    machine = machine_on(Servers(nats_server.url, postgres_server, template_database))()
    try:
        machine.publish_next("alpha")
        machine.toggle_grant("alpha")
        machine.compare_ask("alpha")
        run = machine.model.runs[0]
        machine.compare_seal(run)
        machine.compare_disclosure(run)
        machine.toggle_grant("alpha")
        machine.compare_disclosure(run)
        machine.toggle_grant("alpha")
        machine.compare_ask("alpha")
        machine.compare_crash(machine.model.runs[1])
        machine.toggle_grant("alpha")
        monkeypatch.setattr(disclosing, "decide_disclosure", allow)

        with pytest.raises(AssertionError, match="sealed, not withheld"):
            machine.compare_disclosure(run)
    finally:
        machine.teardown()
