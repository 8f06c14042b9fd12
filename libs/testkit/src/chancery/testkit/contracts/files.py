"""The generated files of contracts/: how they are written, and where they differ from the code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import TypeAdapter

from chancery.kernel.canonical import Json

Files: TypeAlias = Mapping[str, bytes]
"""The content of files by their path below contracts/."""

GENERATED = ("events", "http", "receipts", "asyncapi", "topology.json")
"""What is written anew each time; examples are only ever added, the rest is written by hand."""

_ANY: Final = TypeAdapter(object)


def render(document: Json) -> bytes:
    """Return `document` as people read it: two spaces, one final line break."""
    return _ANY.dump_json(document, indent=2) + b"\n"


def read(folder: Path) -> Files:
    """Return the generated files that are there."""
    found = (path for name in GENERATED for path in _below(folder / name))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def write(folder: Path, files: Files) -> None:
    """Make the generated files of `folder` equal to `files`; what no code makes any more goes."""
    for name in read(folder).keys() - files.keys():
        (folder / name).unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def differences(there: Files, wanted: Files) -> Iterator[str]:
    """Return one sentence for each file that is missing, stale or different."""
    for name in sorted(there.keys() | wanted.keys()):
        if name not in there:
            yield f"{name} is missing: run `make contracts`"
        elif name not in wanted:
            yield f"{name} is made by no code any more: run `make contracts`"
        elif there[name] != wanted[name]:
            yield f"{name} differs from the code: run `make contracts`"


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from sorted(entry for entry in path.rglob("*") if entry.is_file())
