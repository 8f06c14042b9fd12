"""The commands that look for something without asking a question."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from chancery.client.command.options import AsJson, WorkspaceName
from chancery.client.command.output import speaking
from chancery.events.search import HITS_MAX


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command()(search)


def search(
    query: Annotated[list[str], typer.Argument(help="Words to look for.")],
    *,
    workspace: WorkspaceName,
    k: Annotated[int, typer.Option("-k", min=1, max=HITS_MAX, help="How many passages.")] = 10,
    source: Annotated[
        list[str] | None, typer.Option(help="Search this source only (repeatable).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search what you may read, and print the best passages.

    Calls CHANCERY_URL as CHANCERY_TOKEN; without them this machine, as its operator.
    """
    from chancery.client.command.search import run_search

    with speaking(as_json=as_json):
        searching = run_search(
            " ".join(query), workspace, k=k, sources=source or (), as_json=as_json
        )
        asyncio.run(searching)
