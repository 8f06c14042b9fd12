"""Calls that have one right place: tasks, sleeps and reads of the environment."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.tree import Finding, dotted, walk_if_any

_LOOP_TASKS = ("loop.create_task", "loop().create_task", "asyncio.create_task")
_SLEEPS = frozenset({"time.sleep", "asyncio.sleep", "anyio.sleep", "trio.sleep", "sleep"})
_ENVIRONMENT = frozenset({"os.environ", "os.environb", "os.getenv", "os.getenvb"})


def bare_tasks(text: str) -> Iterator[Finding]:
    """Find tasks that nobody awaits: made by the loop or by asyncio instead of a TaskGroup."""
    for node in walk_if_any(text, "create_task", "ensure_future"):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name.endswith((*_LOOP_TASKS, "ensure_future")) or name == "create_task":
                yield Finding(node.lineno, "makes a task without an owner: use a TaskGroup")


def sleeps(text: str) -> Iterator[Finding]:
    """Find sleeps; a test waits for a condition with a deadline."""
    for node in walk_if_any(text, "sleep"):
        if isinstance(node, ast.Call) and dotted(node.func) in _SLEEPS:
            yield Finding(node.lineno, "sleeps: wait for a condition with a deadline")


def environment_reads(text: str) -> Iterator[Finding]:
    """Find reads of the environment, and imports that would hide them."""
    for node in walk_if_any(text, "environ", "getenv"):
        if isinstance(node, ast.Attribute) and dotted(node) in _ENVIRONMENT:
            yield Finding(node.lineno, "reads the environment: take settings")
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            names = {f"os.{alias.name}" for alias in node.names}
            yield from (Finding(node.lineno, f"imports {name}") for name in names & _ENVIRONMENT)
