"""The contracts as they last landed, read from git; without git there is nothing to compare."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chancery.events.intake import SUBMISSIONS
from chancery.kernel.canonical import Json, parse_json
from chancery.testkit.contracts.compatibility import Break, breaks
from chancery.testkit.contracts.files import Files

BASE: Final = "origin/main"
NAMED: Final = "contracts/landed"
"""Holds the commit whose contracts landed last; a clone's branch may already hold newer ones."""

EVENTS: Final = "contracts/events"
EXAMPLES: Final = "contracts/examples"
_TIMEOUT_S: Final = 30

_SUBMITTED: Final = frozenset(model.TYPE for model in SUBMISSIONS)
_NEVER_DEMANDED: Final = frozenset(
    Break(name, "field became optional") for name in ("subject", "time", "tenant")
)
"""What schemas once demanded of submissions, though every release took events without it."""


@dataclass(frozen=True, slots=True)
class Landed:
    """What a commit holds: schemas and examples by their path below contracts/."""

    commit: str
    schemas: Files
    examples: Files


def last_landed(root: Path) -> Landed | None:
    """Return the contracts of the base, or None when git knows of none.

    The base is the commit that `contracts/landed` names; without it, or where git does not know it,
    the newest commit of `origin/main`; without such a branch the last commit that touched
    contracts/events before what the working tree shows.
    """
    commit = _base(root)
    if commit is None:
        return None
    schemas, examples = (_folder(root, commit, folder) for folder in (EVENTS, EXAMPLES))
    return Landed(commit, schemas, examples) if schemas else None


def problems(landed: Landed, schemas: Files, examples: Files) -> Iterator[str]:
    """Return one sentence for each change that what landed does not allow."""
    for name, content in sorted(landed.schemas.items()):
        if name not in schemas:
            yield f"{name}: schema removed; its events are on the log for ever"
        else:
            yield from _breaks(name, content, schemas[name])
    for name, content in sorted(landed.examples.items()):
        if examples.get(name) != content:
            yield f"{name}: an example that landed was edited or removed; add another one instead"


def _breaks(name: str, old: bytes, new: bytes) -> Iterator[str]:
    before, after = _document(old), _document(new)
    type_name = before.get("title", name)
    for item in breaks(before, after):
        if type_name in _SUBMITTED and item in _NEVER_DEMANDED:
            continue
        yield f"{type_name}: {item.place or 'the event'}: {item.rule}; this needs a new version"


def _document(content: bytes) -> Mapping[str, Json]:
    document = parse_json(content)
    assert isinstance(document, Mapping)
    return document


def _base(root: Path) -> str | None:
    for name in (_named(root), f"refs/remotes/{BASE}"):
        known = _git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if known is not None:
            return known.decode().strip()
    touching = (_git(root, "log", "-2", "--format=%H", "--", EVENTS) or b"").decode().split()
    changed = _git(root, "status", "--porcelain", "--", EVENTS)
    before = touching if changed else touching[1:]
    return before[0] if before else None


def _named(root: Path) -> str:
    path = root / NAMED
    return path.read_text().strip() if path.is_file() else "none"


def _folder(root: Path, commit: str, folder: str) -> Files:
    """Return the files of a folder as a commit has them, read in one go: there are hundreds."""
    packed = _git(root, "archive", "--format=tar", commit, "--", folder)
    if packed is None:
        return {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        found = {each.name: archive.extractfile(each) for each in archive if each.isfile()}
        return {
            name.removeprefix("contracts/"): content.read()
            for name, content in found.items()
            if content is not None
        }


def _git(root: Path, *arguments: str) -> bytes | None:
    """Return what git says, None when it is missing, fails, or takes too long."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            check=True,
            capture_output=True,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
