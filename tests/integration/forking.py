"""A service as `python -m chancery.<service>` runs it, forked from a process that has loaded it."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

LOADED: Final = ("indexing", "ingestion", "retrieval")

_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([*(f"chancery.{each}.__main__" for each in LOADED), __name__])


def fork(service: str, environment: Mapping[str, str], log: Path) -> ForkServerProcess:
    """Start it with this environment and no other; the caller ends it."""
    process = _FORKS.Process(target=_run, args=(service, dict(environment), log))
    process.start()
    return process


def _run(service: str, environment: Mapping[str, str], log: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    with log.open("ab") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    runpy.run_module(f"chancery.{service}", run_name="__main__", alter_sys=True)
