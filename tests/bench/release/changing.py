"""What else happens on the log meanwhile: `python -m tests.bench.release.changing`.

`members` are memberships of principals that nobody asks about, in the tenant that is measured;
`sources` are grants on the four sources of another tenant, each changed again and again. They come
at a fixed rate, each acknowledged; it ends when its input does and tells how many there were. No
more are on their way than are due in one tick: what a slow log holds up is not sent in a burst
afterwards, which the log would store, one sync after the other, before anything else.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Final

from pydantic import BaseModel

from chancery.authority.names import AggregateRef, principal_ref, source_ref
from chancery.bus.connection import Connection, connect
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.authority import (
    MemberAdded,
    MemberRemoved,
    SourceDeclared,
    SourceGranted,
    SourceGrantRevoked,
)
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event, EventData
from chancery.kernel.clock import SystemClock
from chancery.kernel.ids import random_id
from chancery.runtime.process import run
from tests.bench.release.bare import NATS_VARIABLE

TICK_S: Final = 0.02
PRINCIPALS: Final = 100
SOURCES: Final = 4
PLACE: Final = "elsewhere"

_Change = tuple[AggregateRef, EventData]


class Changed(BaseModel):
    """How many events there were in how many seconds."""

    events: int
    seconds: float


def members() -> Iterator[_Change]:
    """Yield memberships that come and go, one principal after the other."""
    for turn in count():
        data = MemberRemoved(workspace_id=PLACE) if turn % 2 else None
        for number in range(PRINCIPALS):
            added = data or MemberAdded(workspace_id=PLACE, role="reader")
            yield principal_ref(f"other-{number}"), added


def sources() -> Iterator[_Change]:
    """Yield the declarations of a tenant's sources, then grants that come and go."""
    refs = [source_ref(PLACE, f"s{number}") for number in range(SOURCES)]
    for number, ref in enumerate(refs):
        yield (
            ref,
            SourceDeclared(
                workspace_id=PLACE,
                source_id=f"s{number}",
                title="Changing",
                visibility="restricted",
                declarer="anna",
            ),
        )
    for turn in count():
        for ref in refs:
            yield ref, (SourceGrantRevoked if turn % 2 else SourceGranted)(grantee="anna")


CHANGES: Final[dict[str, Callable[[], Iterator[_Change]]]] = {
    "members": members,
    "sources": sources,
}


async def change(kind: str, tenant: str, per_s: float) -> None:
    """Publish until the input ends, then print what was published."""
    changes, published = CHANGES[kind](), 0
    done = asyncio.Event()
    async with (
        connect(os.environ[NATS_VARIABLE], name="bench-changing") as bus,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(_input_ended(done))
        print("ready", flush=True)
        begun, at_once = time.perf_counter(), math.ceil(per_s * TICK_S)
        while not done.is_set():
            due = min(at_once, int((time.perf_counter() - begun + TICK_S) * per_s) - published)
            # One connection: what is sent first to a subject is stored first.
            await asyncio.gather(*(_append(bus, tenant, next(changes)) for _ in range(due)))
            published += due
            await _wait(done, published / per_s + begun - time.perf_counter())
        seconds = time.perf_counter() - begun
    print(Changed(events=published, seconds=seconds).model_dump_json(), flush=True)


async def _append(bus: Connection, tenant: str, changed: _Change) -> None:
    ref, data = changed
    envelope = Envelope(
        id=random_id(),
        source="bench",
        type=data.TYPE,
        subject=ref.id,
        time=SystemClock().now(),
        tenant=tenant,
    )
    event = Event(envelope=envelope, data=data)
    outgoing = Outgoing(subject=ref.subject(tenant), payload=encode(event), message_id=event.id)
    await publish_message(bus, outgoing)


async def _wait(done: asyncio.Event, seconds: float) -> None:
    """Wait for the end, at most so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(max(0.0, seconds)):
            await done.wait()


async def _input_ended(done: asyncio.Event) -> None:
    await asyncio.to_thread(sys.stdin.buffer.read)
    done.set()


if __name__ == "__main__":
    sys.exit(run(lambda: change(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
