"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
DataDir = Annotated[
    Path | None, typer.Option(help="The data folder (default: CHANCERY_DATA_DIR or .chancery).")
]
WorkspaceName = Annotated[
    str, typer.Option("--workspace", "-w", envvar="CHANCERY_WORKSPACE", help="The workspace.")
]


def whole(lowest: int, highest: int | None = None) -> Callable[[str | int], int]:
    """Return what reads a whole number of an option and refuses any other in a sentence."""
    bounds = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"

    def read(written: str | int) -> int:
        try:
            number = int(written)
        except ValueError:
            number = lowest - 1
        if number < lowest or (highest is not None and number > highest):
            message = f"{written} is no whole number {bounds}"
            raise typer.BadParameter(message)
        return number

    return read
