"""Ingestion as `python -m chancery.ingestion` runs it, forked from a process that has loaded it."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MODULE: Final = "chancery.ingestion"
ENDS_WITHIN_S: Final = 10

_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([f"{MODULE}.__main__", __name__])


@contextmanager
def forked(environment: Mapping[str, str], log: Path) -> Generator[None]:
    """Run it with this environment and no other until the end of the block; then kill it."""
    process = _FORKS.Process(target=_run, args=(dict(environment), log))
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join(ENDS_WITHIN_S)
        process.close()


def _run(environment: Mapping[str, str], log: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    with log.open("w") as file:
        os.dup2(file.fileno(), sys.stderr.fileno())
    runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
