"""A test asserts something that can fail, and runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.shape import Function
from tests.tidy.tree import Finding, dotted, walk

_EXPECTATIONS = ("pytest.raises", "pytest.warns", "pytest.fail", "pytest.RaisesGroup")
_ESCAPES = ("skip", "xfail", "importorskip")


def tests_without_assertion(text: str) -> Iterator[Finding]:
    """Find test functions that can only fail by accident."""
    functions = [node for node in walk(text) if isinstance(node, Function)]
    for node in functions:
        if node.name.startswith("test_") and not any(map(_asserts, ast.walk(node))):
            yield Finding(node.lineno, f"{node.name} asserts nothing")


def escapes(text: str) -> Iterator[Finding]:
    """Find tests that are skipped or expected to fail; `skipif` needs its reason."""
    for node in walk(text):
        if isinstance(node, ast.Attribute):
            prefix, _, name = dotted(node).rpartition(".")
            if name in _ESCAPES and prefix in {"pytest", "pytest.mark"}:
                yield Finding(node.lineno, f"{name}: mend the test or delete it")
        if isinstance(node, ast.Call) and dotted(node.func).endswith("mark.skipif"):
            stated = {item.arg for item in node.keywords}
            yield from () if "reason" in stated else (Finding(node.lineno, "gives no reason"),)


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func)
    return name in _EXPECTATIONS or name.rpartition(".")[2].startswith("assert_")
