"""Sizes, docstrings, names, and code that only promises."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from tests.tidy.tree import Finding, dotted, parsed, walk, walk_if_any

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
LINE_COLUMNS_MAX = 100
FORBIDDEN_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "manager", "base"})

Function = ast.FunctionDef | ast.AsyncFunctionDef

_PROMISE = re.compile(r"\b(TODO|FIXME|XXX|HACK|STUB)\b|\bnot yet implemented\b", re.IGNORECASE)
_UNFINISHED = "NotImplementedError"
_IGNORED_TYPE = re.compile(r"\b(type|pyright|mypy): ?ignore")


def module_length(text: str) -> Iterator[Finding]:
    """Find a module of more than 400 lines."""
    count = len(text.splitlines())
    if count > MODULE_LINES_MAX:
        yield Finding(0, f"{count} lines: split it below {MODULE_LINES_MAX}")


def function_length(text: str) -> Iterator[Finding]:
    """Find functions of more than 50 lines."""
    for node in walk(text):
        if isinstance(node, Function):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > FUNCTION_LINES_MAX:
                yield Finding(node.lineno, f"{node.name} has {count} lines")


def line_length(text: str) -> Iterator[Finding]:
    """Find lines of more than 100 columns."""
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > LINE_COLUMNS_MAX:
            yield Finding(number, f"{len(line)} columns")


def module_docstring(text: str) -> Iterator[Finding]:
    """Find a module without a docstring."""
    if ast.get_docstring(parsed(text)) is None:
        yield Finding(0, "the module says nothing about itself")


def public_docstrings(text: str) -> Iterator[Finding]:
    """Find public classes and functions without a docstring; nested functions need none."""
    yield from _undocumented(parsed(text).body)


def _undocumented(body: list[ast.stmt]) -> Iterator[Finding]:
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            if ast.get_docstring(node) is None and not _is_overload(node):
                yield Finding(node.lineno, f"{node.name} has no docstring")
            if isinstance(node, ast.ClassDef):
                yield from _undocumented(node.body)


def module_name(path: str) -> Iterator[Finding]:
    """Find a path in which a folder or module has a name that says nothing."""
    for part in path.split("/"):
        if part.removesuffix(".py") in FORBIDDEN_NAMES:
            yield Finding(0, f"{part} names no noun: say what it holds")


def promises(text: str) -> Iterator[Finding]:
    """Find marks of unfinished work in comments and text, and errors that stand for it."""
    for found in _PROMISE.finditer(text):
        yield Finding(text.count("\n", 0, found.start()) + 1, "promises instead of doing")
    for node in walk_if_any(text, _UNFINISHED):
        if isinstance(node, ast.Name) and node.id == _UNFINISHED:
            yield Finding(node.lineno, "stands for code that is missing")


def empty_functions(text: str) -> Iterator[Finding]:
    """Find functions without a body, outside protocols and overloads."""
    tree = parsed(text)
    declared = {
        id(item)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any("Protocol" in dotted(_origin(b)) for b in node.bases)
        for item in node.body
    }
    for node in ast.walk(tree):
        if not isinstance(node, Function) or id(node) in declared or _is_overload(node):
            continue
        if all(_is_nothing(item) for item in node.body):
            yield Finding(node.lineno, f"{node.name} does nothing")


def silenced_types(text: str) -> Iterator[Finding]:
    """Find comments that switch the type checker off, and casts that do the same."""
    # Most modules have no such word at all, and need not be read closely.
    if _IGNORED_TYPE.search(text):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and _IGNORED_TYPE.search(token.string):
                yield Finding(token.start[0], "silences the type checker")
    for node in walk_if_any(text, "cast"):
        if isinstance(node, ast.Call) and dotted(node.func) in {"cast", "typing.cast"}:
            yield Finding(node.lineno, "casts: parse at the edge instead")


def _origin(base: ast.expr) -> ast.expr:
    return base.value if isinstance(base, ast.Subscript) else base


def _is_overload(node: Function | ast.ClassDef) -> bool:
    return any(dotted(item).endswith("overload") for item in node.decorator_list)


def _is_nothing(item: ast.stmt) -> bool:
    return isinstance(item, ast.Pass) or (
        isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
    )
