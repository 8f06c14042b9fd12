"""Only the topology spells a subject of the bus."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tidy.tree import Finding, docstrings, parsed

HOME = "libs/events/src/chancery/events/topology"
"""The module, or package, that may."""

_ROOTS = "authority|cut|run|intake|intake-outcome|index|release"
_SUBJECT = re.compile(
    rf"({_ROOTS})\.(?=.*[*>\0]|[\w-]+\.[\w-])[\w.*>\0-]*|(query|command)\.[\w*>\0-]+\.[\w.*>\0-]+"
)
_HOLE = "\0"


def spelled_subjects(text: str) -> Iterator[Finding]:
    """Find literals and f-strings that have the form of a subject or of its pattern."""
    tree = parsed(text)
    skipped = docstrings(tree) | _inside_formats(tree)
    for node in ast.walk(tree):
        if id(node) not in skipped and _SUBJECT.fullmatch(_template(node)):
            line = getattr(node, "lineno", 0)
            yield Finding(line, "spells a subject: take it from chancery.events.topology")


def _inside_formats(tree: ast.AST) -> set[int]:
    return {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }


def _template(node: ast.AST) -> str:
    """Return the text of a literal, with a NUL for each computed part."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part) or _HOLE for part in node.values)
    return ""
