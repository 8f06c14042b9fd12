"""Starts release: `python -m chancery.release`; with `projections VERB NAME` works on those.

With `fsck PENDING_S [deep]` it examines the installation, with `fsck run RUN` one run of it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from typing import Final

gc.disable()  # nothing of what is loaded is garbage; `start` enables it again

from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import ChanceryError
from chancery.release.app import Depth, examine, operate, serve
from chancery.release.handlers.projections import Verb
from chancery.release.ports.table_sets import ProjectionName
from chancery.release.settings import ReleaseSettings
from chancery.runtime.process import USAGE, start

VERBS: Final[Mapping[str, Verb]] = {"status": "status", "rebuild": "rebuild", "switch": "switch"}
NAMES: Final[Mapping[str, tuple[ProjectionName, ...]]] = {
    "all": ("authority", "index"),
    "authority": ("authority",),
    "index": ("index",),
}

USES: Final = "[projections VERB all|authority|index] | [fsck PENDING_S [deep]] | [fsck run RUN]"


def main(arguments: list[str]) -> int:
    """Run what the arguments ask for and return the exit code."""
    match arguments:
        case []:
            return start("release", ReleaseSettings, serve)
        case ["projections", verb, name] if verb in VERBS and name in NAMES:
            return _operate(VERBS[verb], NAMES[name])
        case ["fsck", "run", run_id]:
            return _examine(Depth(run_id=run_id))
        case ["fsck", pending_s, *deep] if pending_s.isdecimal() and deep in ([], ["deep"]):
            return _examine(Depth(deep=bool(deep), pending_s=float(pending_s)))
        case _:
            sys.stderr.write(f"usage: chancery.release {USES}\n")
            return USAGE


def _examine(depth: Depth) -> int:
    async def work(settings: ReleaseSettings) -> None:
        try:
            await examine(settings, depth, _say)
        except ChanceryError as error:
            _say({"event": "failed", "code": error.code, "detail": error.detail})
            raise

    return start("release", ReleaseSettings, work)


def _operate(verb: Verb, names: tuple[ProjectionName, ...]) -> int:
    async def work(settings: ReleaseSettings) -> None:
        try:
            await operate(settings, verb, names, _say)
        except ChanceryError as error:
            _say({"event": "failed", "code": error.code, "detail": error.detail})
            raise

    return start("release", ReleaseSettings, work)


def _say(line: Mapping[str, Json]) -> None:
    sys.stdout.write(f"{canonical_bytes(line).decode()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
