"""Every test may ask for the testkit's fixtures; those of a real server start it when asked."""

import gc

from hypothesis import HealthCheck, settings

pytest_plugins = ["chancery.testkit.plugin"]

# A machine that is busy with other tests makes examples slowly; that says nothing of the code.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# Thousands of collected tests live to the end: looking through them at each collection of garbage
# takes a fifth of the time in which they are collected, and some of every test's.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, without what is there already."""
    gc.enable()
    gc.collect()
    gc.freeze()
