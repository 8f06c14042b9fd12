"""Sizes, docstrings, names and promises, over every file; each check bites on a planted one."""

from __future__ import annotations

import pytest

from tests.tidy import shape
from tests.tidy.tree import Check, findings, packages, production, suite

EVERYWHERE = (
    shape.module_length,
    shape.function_length,
    shape.line_length,
    shape.module_docstring,
    shape.promises,
    shape.empty_functions,
)
HERE = "tests/tidy/"

LONG_FUNCTION = "def f() -> None:\n" + "    x = 1\n" * 50
PLANTED: tuple[tuple[Check, str, str], ...] = (
    (shape.module_length, "x = 1\n" * 401, "x = 1\n" * 400),
    (shape.function_length, LONG_FUNCTION, LONG_FUNCTION.removesuffix("    x = 1\n")),
    (shape.function_length, f"async {LONG_FUNCTION}", "x = 1\n" * 60),
    (shape.line_length, "#" * 101, "#" * 100),
    (shape.module_docstring, "x = 1\n", '"""Says something."""\n'),
    (shape.public_docstrings, "def f(): x = 1\n", "def _f(): x = 1\n"),
    (shape.public_docstrings, "class A:\n    x = 1\n", 'class A:\n    """An A."""\n'),
    (
        shape.public_docstrings,
        'class A:\n    """An A."""\n    def f(self): return 1\n',
        'class A:\n    """An A."""\n    def f(self):\n        """Return 1."""\n        return 1\n',
    ),
    (shape.module_name, "libs/bus/src/chancery/bus/utils.py", "libs/bus/src/chancery/bus/load.py"),
    (shape.module_name, "libs/bus/src/chancery/common/x.py", "libs/store/uncommon.py"),
    (shape.promises, "x = 1  # TODO: more\n", "x = 1  # The methodology is total.\n"),
    (shape.promises, "# fixme\n", "# fixed\n"),
    (shape.promises, "raise NotImplementedError\n", "raise KeyError\n"),
    (shape.promises, '"""This is not yet implemented."""\n', '"""This is implemented."""\n'),
    (shape.empty_functions, "def f():\n    pass\n", "def f():\n    return 1\n"),
    (
        shape.empty_functions,
        'class A:\n    def f(self):\n        """Return."""\n        ...\n',
        'class A(Protocol):\n    def f(self):\n        """Return."""\n        ...\n',
    ),
    (shape.silenced_types, "x = f()  # type: ignore[misc]\n", "x = f()  # a type we ignore\n"),
    (shape.silenced_types, "x = f()  # pyright: ignore\n", "x = f()  # noqa: S608\n"),
    (shape.silenced_types, "x = cast(int, y)\n", "x = broadcast(y)\n"),
)


@pytest.mark.parametrize(("check", "bad", "good"), PLANTED)
def test_check_finds_the_planted_violation_and_only_that(check: Check, bad: str, good: str) -> None:
    found = list(check(bad))
    spared = list(check(good))

    assert len(found) == 1
    assert spared == []


@pytest.mark.parametrize("check", EVERYWHERE)
def test_every_module_keeps_the_shape(check: Check) -> None:
    others = [source for source in suite() if not source.path.startswith(HERE)]

    found = findings((*packages(), *others), check)

    assert found == []


@pytest.mark.parametrize("check", [shape.module_length, shape.function_length, shape.line_length])
def test_the_tidy_checks_keep_their_own_shape(check: Check) -> None:
    own = [source for source in suite() if source.path.startswith(HERE)]

    found = findings(own, check)

    assert own
    assert found == []


def test_public_names_of_packages_say_what_they_are() -> None:
    found = findings(packages(), shape.public_docstrings)

    assert found == []


def test_production_never_silences_the_type_checker() -> None:
    found = findings(production(), shape.silenced_types)

    assert found == []


def test_modules_and_folders_are_named_after_what_they_hold() -> None:
    paths = [source.path for source in (*packages(), *suite())]

    found = [(path, item.message) for path in paths for item in shape.module_name(path)]

    assert found == []
