"""`python -m chancery.testkit.contracts` writes contracts/; with `--check` it only compares.

Run it from the root of the repository. The exit code of `--check` is 1 when something differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from chancery.kernel.canonical import Json
from chancery.testkit.contracts import asyncapi, examples, files, landed, schemas, surface, table

FOLDER = Path("contracts")


def generate() -> files.Files:
    """Return every generated file but the examples, by path below contracts/."""
    documents: dict[str, Json] = {
        **schemas.event_schemas(),
        **schemas.receipt_schemas(),
        **asyncapi.documents(),
        surface.PATH: surface.openapi(),
        table.PATH: table.topology(),
    }
    return {name: files.render(document) for name, document in documents.items()}


def check(folder: Path, wanted: files.Files, made: files.Files) -> Iterator[str]:
    """Return one sentence for each thing in `folder` that does not fit the code or what landed.

    `wanted` is what the code generates, `made` the examples that it makes.
    """
    there = examples.read(folder)
    yield from files.differences(files.read(folder), wanted)
    yield from examples.problems(there, made)
    base = landed.last_landed(folder.resolve().parent)
    if base is None:
        print("No landed contracts to compare with: this is the first version.")
    else:
        print(f"Compared with the contracts of commit {base.commit[:12]}.")
        yield from landed.problems(base, wanted, there)


def main(arguments: Sequence[str]) -> int:
    """Write contracts/, or say where it differs; return the exit code."""
    parser = argparse.ArgumentParser(prog="contracts", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; 1 when it differs")
    if not parser.parse_args(arguments).check:
        files.write(FOLDER, generate())
        examples.add(FOLDER, examples.examples())
        return 0
    found = list(check(FOLDER, generate(), examples.examples()))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
