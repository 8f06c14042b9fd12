"""A caller who hangs up: the statement that ran for it ends, long before its own deadline."""

from __future__ import annotations

import asyncio
import time

import psutil
import pytest

from chancery.client.http import Chancery
from chancery.client.workspace import Table
from chancery.kernel.ids import random_id
from chancery.testkit.waiting import eventually
from tests.e2e.running import System
from tests.e2e.world import make_world, send

CSV = b"id\n" + b"".join(b"%d\n" % n for n in range(3_000))
SLOW = "SELECT count(*) FROM many a, many b, many c, many d WHERE a.id + b.id < c.id * d.id"
GONE_WITHIN_S = 6.0
"""A statement may run for ten seconds; busy machines take a while to notice."""


@pytest.mark.req("KO-3")
async def test_hanging_up_ends_the_statement(system: System, operator: Chancery) -> None:
    world = await make_world(operator, f"left-{random_id()[:8]}")
    await world.desk.declare_dataset("many", Table(title="Many"))
    await world.desk.publish_snapshot("many", CSV)
    path = f"/v1/workspaces/{world.id}/query"
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(send(world.reader, "POST", path, json={"sql": SLOW}, timeout=60))
        busy = await eventually(lambda: _busy(system), 30)
        assert busy is not None
        began = time.monotonic()
        asked.cancel()
    await eventually(lambda: not busy.is_running(), GONE_WITHIN_S)
    took_s = time.monotonic() - began

    assert took_s < GONE_WITHIN_S


def _busy(system: System) -> psutil.Process | None:
    """Return a worker of execution that runs a statement for a while."""
    execution = system.child("execution")
    assert execution is not None
    for each in execution.children(recursive=True):
        if _niceness(each) > execution.nice():
            return each
    return None


def _niceness(process: psutil.Process) -> int:
    try:
        return process.nice()
    except psutil.Error:
        return -100
