"""What stands where: the top level, the rooms of a service, decisions, and foreign addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tests.tidy.tree import Finding

REQUIRED = frozenset(
    {
        "services",
        "libs",
        "deploy",
        "contracts",
        "tests",
        "docker-compose.yml",
        "Makefile",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
    }
)
BUILD_METADATA = frozenset({"pyproject.toml", "requirements.in", "requirements.lock"})
OPTIONAL = frozenset({"docs"})

ROOMS = frozenset(
    {
        "__main__",
        "app",
        "settings",
        "handlers",
        "adapters",
        "ports",
        "domain",
        "errors",
    }
)
FURNITURE = frozenset({"__init__.py", "py.typed", "sql"})
DECISION_LINES_MAX = 60

_FOREIGN = re.compile(
    r"p[y]pi\.(org|io)|pythonh[o]sted|npmj[s]\.|[d]ebian\.org|index-ur[l]"
    r"|(?<![\w.~-])/(home|[r]oot|Users|[w]ork|mnt|op[t]/p)/"
)


def top_level(names: Iterable[str]) -> Iterator[Finding]:
    """Find what is missing at the top level, and what does not belong there."""
    present = {name for name in names if not name.startswith(".")}
    for name in sorted(REQUIRED - present):
        yield Finding(0, f"{name} is missing")
    for name in sorted(present - REQUIRED - BUILD_METADATA - OPTIONAL):
        yield Finding(0, f"{name} does not belong at the top level")


def rooms(names: Iterable[str]) -> Iterator[Finding]:
    """Find rooms that a service lacks, and entries that are none."""
    entries = set(names) - FURNITURE
    present = {name.removesuffix(".py") for name in entries}
    for name in sorted(ROOMS - present):
        yield Finding(0, f"the room {name} is missing")
    for name in sorted(present - ROOMS):
        yield Finding(0, f"{name} is no room of a service")


def decision(text: str) -> Iterator[Finding]:
    """Find a decision record that is too long to be read, or that decides nothing."""
    lines = text.splitlines()
    if len(lines) > DECISION_LINES_MAX:
        yield Finding(0, f"{len(lines)} lines: say it in {DECISION_LINES_MAX}")
    if not lines or not lines[0].startswith("# "):
        yield Finding(1, "the title states the decision")


def foreign_addresses(text: str) -> Iterator[Finding]:
    """Find hosts of package registries and paths of somebody's machine."""
    for number, line in enumerate(text.splitlines(), start=1):
        if _FOREIGN.search(line):
            yield Finding(number, "names a registry or a path of one machine")
