"""Garbage is collected while a command or a service works, whatever its start has switched off."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

from chancery.client.command.output import speaking
from chancery.runtime.process import DONE, run


@pytest.fixture(autouse=True)
def switched_off(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Begin as a process that is still loading; what is alive in a test need not stay for good."""
    monkeypatch.setattr(gc, "freeze", lambda: None)
    thresholds = gc.get_threshold()
    gc.disable()
    yield
    gc.enable()
    gc.set_threshold(*thresholds)


@pytest.fixture(autouse=True)
def nothing_more_is_kept() -> Generator[None]:
    """See that no test of these keeps for good what is alive in it."""
    before = gc.get_freeze_count()
    yield
    assert gc.get_freeze_count() <= before


def test_a_command_collects_garbage_while_it_works() -> None:
    with speaking(as_json=False):
        assert gc.isenabled()


def test_a_service_collects_garbage_while_it_works() -> None:
    found: list[bool] = []

    async def application() -> None:
        found.append(gc.isenabled())

    assert run(application) == DONE
    assert found == [True]
