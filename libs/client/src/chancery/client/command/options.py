"""Options that several commands share."""

from __future__ import annotations

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
