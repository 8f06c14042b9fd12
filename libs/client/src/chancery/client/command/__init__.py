"""The `chancery` command: `main` is its entry."""

from __future__ import annotations

from chancery.client.command.app import main

__all__ = ["main"]
