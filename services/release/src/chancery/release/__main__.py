"""Starts release: `python -m chancery.release`, or with `projections VERB NAME` works on those."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import ChanceryError
from chancery.release.app import operate, serve
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


def main(arguments: list[str]) -> int:
    """Run what the arguments ask for and return the exit code."""
    match arguments:
        case []:
            return start("release", ReleaseSettings, serve)
        case ["projections", verb, name] if verb in VERBS and name in NAMES:
            return _operate(VERBS[verb], NAMES[name])
        case _:
            sys.stderr.write("usage: chancery.release [projections VERB all|authority|index]\n")
            return USAGE


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
