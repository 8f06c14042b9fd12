"""The commands: for each, which aggregates it reads, how it is decided, what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from chancery.authority.names import AggregateRef, Change
from chancery.events.requests import Message
from chancery.ingestion.domain.intents import Intent
from chancery.ingestion.domain.views import Settled, View

B = TypeVar("B", bound=Message)
R = TypeVar("R", bound=Message)


def callers_tenant(intent: Intent[B]) -> str:
    """Return the tenant of the caller: where nearly every command works."""
    return intent.tenant


def nothing_further(_view: View, _intent: Intent[B]) -> tuple[AggregateRef, ...]:
    """Return that a command reads no more than it names: nearly every one."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Generic[B, R]):
    """One command of the topology.

    `reads` names the aggregates it needs, the one it writes first, and `further` those that only
    the state of these tells; `decide` returns the changes, none when all is as asked; `report`
    makes the reply. All are of the tenant that `tenant` names.
    """

    subject: str
    body: type[B]
    reads: Callable[[Intent[B]], tuple[AggregateRef, ...]]
    decide: Callable[[View, Intent[B]], tuple[Change, ...]]
    report: Callable[[Settled, Intent[B]], R]
    tenant: Callable[[Intent[B]], str] = callers_tenant
    further: Callable[[View, Intent[B]], tuple[AggregateRef, ...]] = nothing_further
