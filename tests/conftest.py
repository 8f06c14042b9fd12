"""Every test may ask for the testkit's fixtures; those of a real server start it when asked."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["chancery.testkit.plugin"]

# A machine that is busy with other tests makes examples slowly; that says nothing of the code.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
