"""The supervisor with small children: restarts, where patience ends, how stopping goes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chancery.embedded.errors import KeepsDying, StartFailed
from chancery.embedded.process import ProcessSpec
from chancery.embedded.supervisor import Child, Limits, Supervisor
from chancery.testkit.waiting import WITHIN_S, eventually

pytestmark = pytest.mark.integration

QUICK = Limits(
    ready_within_s=60, stop_within_s=30, poll_s=0.01, backoff_first_s=0.02, backoff_last_s=0.05
)
STEADY = """
import pathlib, signal, sys
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
# It waits for a signal that may have come already.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
(folder / (name + ".up")).touch()
signal.sigwait({signal.SIGTERM})
with (folder / "stopped").open("a") as file: file.write(name + "\\n")
"""
DEAF = """
import pathlib, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
(pathlib.Path(sys.argv[1]) / (sys.argv[2] + ".up")).touch()
while True: signal.pause()
"""
DIES = "import sys; sys.exit(7)"


def _child(
    folder: Path, name: str, code: str = STEADY, ready: Callable[[], bool] | None = None
) -> Child:
    mark = folder / f"{name}.up"
    spec = ProcessSpec(
        name=name,
        argv=(sys.executable, "-I", "-S", "-c", code, str(folder), name),
        environment={},
        log_path=folder / f"{name}.log",
        pid_path=folder / f"{name}.pid",
        stale=(mark,),
    )
    return Child(spec, mark.exists if ready is None else ready)


def _pid(folder: Path, name: str) -> int:
    try:
        text = (folder / f"{name}.pid").read_text()
    except FileNotFoundError:
        return 0
    return int(text.split()[0]) if text else 0


def _open_to_others(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.stat().st_mode & 0o077}


async def test_stages_stop_in_reverse_order(tmp_path: Path) -> None:
    async with Supervisor(print, QUICK) as supervisor:
        await supervisor.start([_child(tmp_path, "first")])
        await supervisor.start([_child(tmp_path, "second")])
        await supervisor.start([_child(tmp_path, "third")])

    assert (tmp_path / "stopped").read_text().split() == ["third", "second", "first"]


async def test_a_child_that_dies_after_it_was_ready_is_started_again(tmp_path: Path) -> None:
    said: list[str] = []
    async with Supervisor(said.append, QUICK) as supervisor:
        await supervisor.start([_child(tmp_path, "child")])
        for _ in range(QUICK.deaths_max + 2):
            before = _pid(tmp_path, "child")
            os.kill(before, signal.SIGKILL)
            await eventually(lambda old=before: _pid(tmp_path, "child") not in {0, old})
            # The supervisor has to see it ready, or the deaths would count.
            await eventually(lambda: supervisor.is_ready("child"))

    assert said == ["child ended (signal 9); starting it again."] * (QUICK.deaths_max + 2)


async def test_five_deaths_without_being_ready_end_it_and_the_others_stop(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.RaisesGroup(KeepsDying) as caught:
        async with Supervisor(said.append, QUICK) as supervisor:
            await supervisor.start([_child(tmp_path, "steady")])
            await supervisor.start([_child(tmp_path, "dies", DIES)])

    assert said == ["dies ended (exit code 7); starting it again."] * 4
    end = f"without getting ready (last: exit code 7); {tmp_path}/dies.log says why."
    assert caught.value.exceptions[0].args == (f"dies ended 5 times {end}",)
    assert (tmp_path / "stopped").read_text().split() == ["steady"]


async def test_a_child_that_dies_now_and_then_is_not_given_up(tmp_path: Path) -> None:
    rare = Limits(
        poll_s=0.01,
        backoff_first_s=0.15,
        backoff_last_s=0.15,
        deaths_window_s=0.2,
        deaths_max=3,
    )
    said: list[str] = []

    async with Supervisor(said.append, rare) as supervisor, asyncio.TaskGroup() as group:
        starting = group.create_task(supervisor.start([_child(tmp_path, "dies", DIES)]))
        assert await eventually(lambda: len(said) > rare.deaths_max)
        starting.cancel()


async def test_a_child_that_is_not_ready_in_time_is_named_and_stopped(tmp_path: Path) -> None:
    hasty = Limits(ready_within_s=1.4, poll_s=0.01)
    said: list[str] = []
    with pytest.RaisesGroup(
        pytest.RaisesExc(StartFailed, match=r"Not ready within 1 s: slow; see")
    ):
        async with Supervisor(said.append, hasty) as supervisor:
            await supervisor.start(
                [
                    _child(tmp_path, "quick", ready=lambda: True),
                    _child(tmp_path, "slow", ready=lambda: False),
                ]
            )

    assert _pid(tmp_path, "quick") == _pid(tmp_path, "slow") == 0


async def test_a_child_that_does_not_listen_is_killed_within_the_bound(tmp_path: Path) -> None:
    said: list[str] = []
    async with asyncio.timeout(WITHIN_S):
        async with Supervisor(said.append, Limits(stop_within_s=2, poll_s=0.01)) as supervisor:
            await supervisor.start([_child(tmp_path, "deaf", DEAF), _child(tmp_path, "steady")])

    assert said == ["deaf did not stop in time; killing it."]
    assert (tmp_path / "stopped").read_text().split() == ["steady"]


async def test_a_program_that_does_not_exist_is_said_so(tmp_path: Path) -> None:
    child = _child(tmp_path, "absent")
    spec = ProcessSpec(
        name="absent",
        argv=(str(tmp_path / "no-such-program"),),
        environment={},
        log_path=child.spec.log_path,
        pid_path=child.spec.pid_path,
    )
    with pytest.RaisesGroup(pytest.RaisesExc(StartFailed, match="No such file or directory")):
        async with Supervisor(print, QUICK) as supervisor:
            await supervisor.start([Child(spec, lambda: True)])


async def test_what_a_child_prints_is_in_its_log(tmp_path: Path) -> None:
    code = "print('hello', flush=True)\n" + STEADY
    async with Supervisor(print, QUICK) as supervisor:
        await supervisor.start([_child(tmp_path, "child", code)])

    assert (tmp_path / "child.log").read_text() == "hello\n"


async def test_a_long_log_is_set_aside(tmp_path: Path) -> None:
    with (tmp_path / "child.log").open("wb") as file:
        file.truncate(17 * 1024 * 1024)

    async with Supervisor(print, QUICK) as supervisor:
        await supervisor.start([_child(tmp_path, "child")])

    assert (tmp_path / "child.log").stat().st_size == 0
    assert (tmp_path / "child.log.1").stat().st_size == 17 * 1024 * 1024


async def test_what_a_child_writes_is_nobody_elses_to_read(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    log.touch()
    log.chmod(0o644)

    async with Supervisor(print, QUICK) as supervisor:
        await supervisor.start([_child(tmp_path, "child")])
        open_to_others = _open_to_others(tmp_path)

    assert open_to_others == set()
