"""Whether a value fits a JSON Schema of 2020-12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker


def mistakes(schema: Mapping[str, Any], value: Any) -> list[str]:
    """Return what `schema` does not allow in `value`; empty when it fits."""
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    found = validator.iter_errors(value)  # pyright: ignore[reportUnknownMemberType]
    return [f"{error.json_path}: {error.validator}" for error in found]
