"""Every test may ask for the testkit's fixtures; those of a real server start it when asked."""

import gc
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

pytest_plugins = ["chancery.testkit.plugin"]

# A machine that is busy with other tests makes examples slowly; that says nothing of the code.
BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples each time, so that a verdict is of what changed and not of what was drawn.
settings.register_profile("same", BUSY, derandomize=True)
# Others each time: `pytest --hypothesis-profile exploring` looks for what the same ones miss.
settings.register_profile("exploring", BUSY, max_examples=500, print_blob=True)
settings.load_profile("same")

TOGETHER = "tests/e2e/leaks"
"""A folder whose files share what takes longest to build: two workers would build it twice."""

# Thousands of collected tests live to the end: looking through them at each collection of garbage
# takes a fifth of the time in which they are collected, and some of every test's.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, without what is there already."""
    gc.enable()
    gc.collect()
    gc.freeze()


class LoadFolderScheduling(LoadFileScheduling):
    """Sends the files of one folder to one worker, and every other file by itself."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER if PurePosixPath(file).is_relative_to(TOGETHER) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> LoadFolderScheduling | None:
    """Return what distributes the tests when whole files are to be sent."""
    return LoadFolderScheduling(config, log) if config.getoption("dist") == "loadfile" else None
