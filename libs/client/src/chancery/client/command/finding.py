"""The commands that look for something without asking a question."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from chancery.client.command.options import AsJson, WorkspaceName, whole
from chancery.client.command.output import speaking


def _hits(written: str | int) -> int:
    # The messages behind this bound are a quarter of what a command would load otherwise.
    from chancery.events.search import HITS_MAX

    return whole(1, HITS_MAX)(written)


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command()(search)


def search(
    query: Annotated[list[str], typer.Argument(help="Words to look for.")],
    *,
    workspace: WorkspaceName,
    k: Annotated[
        int,
        typer.Option("-k", parser=_hits, metavar="INTEGER", help="How many passages."),
    ] = 10,
    source: Annotated[
        list[str] | None, typer.Option(help="Search only this source (repeatable).")
    ] = None,
    item: Annotated[
        list[str] | None, typer.Option(help="Search only this curated item (repeatable).")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="Search only this private file (repeatable).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search what you may read, and print the best passages.

    What is selected is searched and nothing else; a private file only when it is selected.
    Calls CHANCERY_URL as CHANCERY_TOKEN; without them this machine, as its operator.
    """
    from chancery.client.command.search import Selected, run_search

    selected = Selected(source or (), item or (), file or ())
    with speaking(as_json=as_json):
        asyncio.run(run_search(" ".join(query), workspace, selected, k=k, as_json=as_json))
