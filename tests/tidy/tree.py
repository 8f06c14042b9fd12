"""What there is to check: the sources of this repository, and how a finding is reported."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder of the repository."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule at a line (1-based; 0 when the file as a whole breaks it)."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file: its path below the root with forward slashes, and its text."""

    path: str
    text: str


Check = Callable[[str], Iterable[Finding]]


@cache
def production() -> tuple[Source, ...]:
    """Return the Python files that a running system imports: all packages but the testkit."""
    found = (*_read("libs", "*.py"), *_read("services", "*.py"))
    return tuple(source for source in found if not source.path.startswith("libs/testkit/"))


@cache
def packages() -> tuple[Source, ...]:
    """Return the Python files of every package, the testkit too."""
    return (*_read("libs", "*.py"), *_read("services", "*.py"))


@cache
def suite() -> tuple[Source, ...]:
    """Return the Python files below tests/."""
    return tuple(_read("tests", "*.py"))


@cache
def statements() -> tuple[Source, ...]:
    """Return the SQL files of every package."""
    return (*_read("libs", "*.sql"), *_read("services", "*.sql"))


def findings(sources: Iterable[Source], check: Check) -> list[str]:
    """Return what `check` finds in `sources`, one `path:line: message` each."""
    return [
        f"{source.path}:{found.line}: {found.message}"
        for source in sources
        for found in check(source.text)
    ]


@cache
def parsed(text: str) -> ast.Module:
    """Return the tree of the module `text`, parsed once for all checks."""
    return ast.parse(text)


def walk(text: str) -> Iterator[ast.AST]:
    """Return every node of the module `text`."""
    return ast.walk(parsed(text))


def walk_if_any(text: str, *names: str) -> Iterator[ast.AST]:
    """Return every node when one of `names` stands in `text`: most modules need not be parsed."""
    return walk(text) if any(name in text for name in names) else iter(())


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of names, and the chain's end after a call: `().c`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{dotted(value)}.{attribute}"
        case ast.Call(func=function):
            return f"{dotted(function)}()"
        case _:
            return ""


def docstrings(tree: ast.AST) -> set[int]:
    """Return the identities of the constants that are docstrings of `tree`."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, owners):
            found.update(id(item.value) for item in node.body if isinstance(item, ast.Expr))
    return found


def _read(folder: str, pattern: str) -> Iterator[Source]:
    for path in sorted((ROOT / folder).rglob(pattern)):
        relative = path.relative_to(ROOT)
        if not any(part.startswith((".", "__pycache__")) for part in relative.parts):
            yield Source(relative.as_posix(), path.read_text(encoding="utf-8"))
