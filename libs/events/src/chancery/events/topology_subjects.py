"""The subjects of what is one thing's own: an aggregate, a run, a release, a parked message."""

from __future__ import annotations

from typing import Final

from chancery.events.topology_rows import Service
from chancery.kernel.ids import derived_id


def authority_subject(tenant: str, kind: str, aggregate_id: str) -> str:
    """Return the literal subject of one aggregate."""
    return f"authority.{tenant}.{kind}.{aggregate_id}"


def cut_subject(tenant: str) -> str:
    """Return the subject of a tenant's cuts."""
    return f"cut.{tenant}"


def index_subject(tenant: str, kind: str, key: str) -> str:
    """Return the literal subject of one resource's index events."""
    return f"index.{tenant}.{kind}.{key}"


def run_subject(tenant: str, run_id: str, event: str) -> str:
    """Return the subject of one stage's event, for example `requested`."""
    return f"run.{tenant}.{run_id}.{event}"


def release_subject(tenant: str, run_id: str, event: str) -> str:
    """Return the subject of `sealed` or `refused`."""
    return f"release.{tenant}.{run_id}.{event}"


LAST_NUDGE: Final = b"end"
"""What the nudge of a run's end carries, so that nobody waits for more; others carry nothing."""


def nudge_subject(tenant: str, run_id: str) -> str:
    """Return the core NATS subject that says: there is something new of this run."""
    return f"nudge.{tenant}.{run_id}"


ABANDONED: Final = "abandoned.*.*"
"""Every `abandoned_subject`."""


def abandoned_subject(tenant: str, principal: str, idempotency_key: str) -> str:
    """Return the core NATS subject that says: nobody waits for the answer to this request now."""
    return f"abandoned.{tenant}.{derived_id('abandoned', principal, idempotency_key)}"


def parked_subject(service: Service, tenant: str, parked_id: str) -> str:
    """Return the literal subject of what is said about one parked message."""
    return f"parked.{service}.{tenant}.{parked_id}"


def intake_subject(tenant: str, principal: str, event_type: str) -> str:
    """Return the subject on which `principal` submits events of a type, which may hold dots."""
    return f"intake.{tenant}.{principal}.{event_type}"


def outcome_subject(tenant: str, principal: str, event_id: str) -> str:
    """Return the subject that tells its sender alone what became of a submitted event.

    Who may ask for every last token may ask for `>` too, so the sender stands before the id.
    """
    return f"intake-outcome.{tenant}.{principal}.{event_id}"
