"""Reads what a page shows, so that a test can compare it with what happens."""

from __future__ import annotations

import re


def block(page: str, language: str) -> str:
    """Return the first code block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


def blocks(page: str, language: str) -> list[str]:
    """Return every code block of a language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def shape(line: str) -> str:
    """Return a line with its numbers and ids levelled: they differ from run to run."""
    levelled = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<id>", line.rstrip())
    return re.sub(r"\d[\d,]*(?= ms| bytes| of the log)", "<n>", levelled)
