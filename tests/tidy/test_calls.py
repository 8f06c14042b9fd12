"""Tasks have owners, tests do not sleep, only settings read the environment."""

from __future__ import annotations

import pytest

from tests.tidy import calls
from tests.tidy.tree import Check, findings, packages, production, suite

READS_ENVIRONMENT = ("libs/runtime/src/chancery/runtime/settings",)

PLANTED: tuple[tuple[Check, str, str], ...] = (
    (calls.bare_tasks, "asyncio.create_task(f())\n", "group.create_task(f())\n"),
    (calls.bare_tasks, "asyncio.get_running_loop().create_task(f())\n", "loop.run_in_executor()\n"),
    (calls.bare_tasks, "self._loop.create_task(f())\n", "self._tasks.create_task(f())\n"),
    (calls.bare_tasks, "create_task(f())\n", "creates_task(f())\n"),
    (calls.bare_tasks, "asyncio.ensure_future(f())\n", "asyncio.wait_for(f(), 1)\n"),
    (calls.sleeps, "time.sleep(1)\n", "deadline.sleep\n"),
    (calls.sleeps, "async def f():\n    await asyncio.sleep(0)\n", "time.monotonic()\n"),
    (calls.sleeps, "from time import sleep\nsleep(1)\n", "asleep(1)\n"),
    (calls.environment_reads, "x = os.environ['A']\n", "x = os.fspath(y)\n"),
    (calls.environment_reads, "x = os.getenv('A')\n", "x = os.getpid()\n"),
    (calls.environment_reads, "from os import environ\n", "from os import fspath\n"),
)


@pytest.mark.parametrize(("check", "bad", "good"), PLANTED)
def test_check_finds_the_planted_call_and_only_that(check: Check, bad: str, good: str) -> None:
    found = list(check(bad))
    spared = list(check(good))

    assert len(found) == 1
    assert spared == []


def test_every_task_has_an_owner() -> None:
    found = findings((*packages(), *suite()), calls.bare_tasks)

    assert found == []


def test_tests_wait_for_conditions_and_never_sleep() -> None:
    found = findings(suite(), calls.sleeps)

    assert found == []


def test_only_settings_read_the_environment() -> None:
    others = [source for source in production() if not source.path.startswith(READS_ENVIRONMENT)]

    found = findings(others, calls.environment_reads)

    assert found == []
