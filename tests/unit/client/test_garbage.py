"""Garbage is collected while a command or a service works, whatever its start has switched off."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

from chancery.client.command.output import speaking
from chancery.runtime.process import DONE, run


@pytest.fixture(autouse=True)
def switched_off() -> Generator[None]:
    """Begin as a process that is still loading."""
    thresholds = gc.get_threshold()
    gc.disable()
    yield
    gc.enable()
    gc.set_threshold(*thresholds)


def test_a_command_collects_garbage_while_it_works() -> None:
    with speaking(as_json=False):
        assert gc.isenabled()


def test_a_service_collects_garbage_while_it_works() -> None:
    found: list[bool] = []

    async def application() -> None:
        found.append(gc.isenabled())

    assert run(application) == DONE
    assert found == [True]
