"""Lists each requirement with the tests that prove it, and the gaps.

`tests/requirements.txt` names the requirements; `@pytest.mark.req("KO-7")` on a test, its class or
its module (`pytestmark`) claims one. Markers are read from the text, so nothing is imported or run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LIST = Path("tests/requirements.txt")
TESTS = Path("tests")

_ENTRY = re.compile(r"(?P<id>[A-Z]{2}-\d+)\s+(?P<text>\S.*)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A test says that it proves a requirement."""

    requirement: str
    test: str


def read_requirements(text: str) -> dict[str, str]:
    """Return the line of each requirement by its id, in the order of the file.

    Raises:
        ValueError: for a line of another form, or an id that stands there twice.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        entry = _ENTRY.fullmatch(line)
        if entry is None or entry["id"] in found:
            message = f"line {number} is no new requirement: an id such as KO-1, then what it says"
            raise ValueError(message)
        found[entry["id"]] = entry["text"]
    return found


def claims(path: str, text: str) -> Iterator[Claim]:
    """Return what the test module `text` claims; `path` only names it."""
    tree = ast.parse(text)
    yield from _inside(path, tree.body, inherited=_module_marks(tree))


def report(requirements: Mapping[str, str], found: Sequence[Claim]) -> str:
    """Return the list for people: each requirement, its tests, and the gaps at the end."""
    tests: dict[str, list[str]] = {}
    for claim in found:
        tests.setdefault(claim.requirement, []).append(claim.test)
    lines: list[str] = []
    for requirement, text in requirements.items():
        lines.append(f"{requirement:<6} {text}")
        lines.extend(f"       {test}" for test in sorted(set(tests.get(requirement, []))))
    gaps = [requirement for requirement in requirements if requirement not in tests]
    covered = len(requirements) - len(gaps)
    lines.append(f"\n{covered} of {len(requirements)} requirements have tests.")
    if gaps:
        lines.append(f"Gaps: {' '.join(gaps)}")
    return "\n".join(lines)


def unknown(requirements: Mapping[str, str], found: Iterable[Claim]) -> list[str]:
    """Return one sentence for each claim of a requirement that does not exist."""
    return [
        f"{claim.test} claims {claim.requirement}, which {LIST} does not name"
        for claim in found
        if claim.requirement not in requirements
    ]


def main() -> int:
    """Print the list for the repository in the current folder; 1 for a claim of an unknown id."""
    requirements = read_requirements(LIST.read_text(encoding="utf-8"))
    found = [
        claim
        for path in sorted(TESTS.rglob("test_*.py"))
        for claim in claims(path.as_posix(), path.read_text(encoding="utf-8"))
    ]
    print(report(requirements, found))
    mistakes = unknown(requirements, found)
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    return 1 if mistakes else 0


def _inside(path: str, body: Sequence[ast.stmt], *, inherited: Sequence[str]) -> Iterator[Claim]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name.startswith("test_"):
                    marks = (*inherited, *_marks(node.decorator_list))
                    yield from (Claim(mark, f"{path}::{name}") for mark in marks)
            case ast.ClassDef(name=name):
                marks = (*inherited, *_marks(node.decorator_list))
                yield from _inside(f"{path}::{name}", node.body, inherited=marks)
            case _:
                pass


def _module_marks(tree: ast.Module) -> list[str]:
    return [
        mark
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(
            isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
        )
        for mark in _marks([node.value])
    ]


def _marks(expressions: Sequence[ast.expr]) -> list[str]:
    """Return the ids in every call of `...mark.req` inside `expressions`."""
    return [
        argument.value
        for expression in expressions
        for node in ast.walk(expression)
        if isinstance(node, ast.Call) and _is_requirement(node.func)
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def _is_requirement(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "req"


if __name__ == "__main__":
    sys.exit(main())
