"""Every test may ask for the testkit's fixtures; those of a real server start it when asked."""

import gc
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

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


class TwoEndsScheduling(LoadFileScheduling):
    """Sends whole files, those of one folder together, to half of the workers from the end.

    The end to end tests, at one end, keep more than a processor busy; those of the integration, at
    the other, wait a third of their time. Side by side they leave no processor idle, and a system
    and servers that a worker starts once are started by fewer workers.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        if self.nodes.index(node) % 2 == 1:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER if PurePosixPath(file).is_relative_to(TOGETHER) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> TwoEndsScheduling | None:
    """Return what distributes the tests when whole files are to be sent."""
    return TwoEndsScheduling(config, log) if config.getoption("dist") == "loadfile" else None
