"""Every test may ask for the testkit's fixtures; those of a real server start it when asked."""

pytest_plugins = ["chancery.testkit.plugin"]
